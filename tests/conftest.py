"""What all tests share: property tests draw the same examples every time, however slow the machine."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("exact", derandomize=True, deadline=None, database=None)
settings.load_profile("exact")
