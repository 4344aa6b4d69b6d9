"""Garbage collection for commands that go through many runs."""

from __future__ import annotations

import gc


def collect_less_garbage() -> None:
    """What is there when the runs begin stays to the end, and so do their outcomes.

    Looking through all of it again and again, half a million objects with google-adk, would hold up
    every run for up to a tenth of a second each time.
    """
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)
