"""Documents that have the right keys at the right places, and anything as values."""

from __future__ import annotations

import contextlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_eval.errors import AgentEvalError
from tests.fuzz import hostile
from tests.fuzz.mutations import Sample
from tests.fuzz.readers import READERS, Reader

JSON_READERS = [
    pytest.param(reader, id=reader.name)
    for reader in READERS
    if reader.file.endswith(".json") and not reader.name.startswith("lint")
]

_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(hostile.TEXTS[:-1])
    | st.sampled_from([value for value in hostile.VALUES if not isinstance(value, list | dict)])
)
VALUES = st.recursive(
    _LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)


@cache
def _like(reader: Reader) -> st.SearchStrategy[Any]:
    """Documents shaped as the reader's samples."""
    samples: list[Sample] = [one for one in reader.samples() if one.places]
    return st.sampled_from(samples).flatmap(lambda sample: _shaped(sample.document))


def _shaped(document: Any) -> st.SearchStrategy[Any]:
    """The document with any of its values something else, or left out."""
    if isinstance(document, dict) and document:
        kept = {key: _shaped(item) for key, item in document.items()}
        return st.fixed_dictionaries({}, optional=kept) | st.fixed_dictionaries(kept) | VALUES
    if isinstance(document, list) and document:
        return st.lists(st.sampled_from(document[:3]).flatmap(_shaped), max_size=3) | VALUES
    return st.just(document) | VALUES


@pytest.mark.slow
@pytest.mark.parametrize("reader", JSON_READERS)
def test_right_keys_with_any_values_are_accepted_or_refused(reader: Reader, tmp_path: Path) -> None:
    path = tmp_path / reader.file

    @settings(max_examples=200, suppress_health_check=list(HealthCheck))
    @given(_like(reader))
    def check(document: Any) -> None:
        path.write_text(json.dumps(document))
        with contextlib.suppress(AgentEvalError):
            reader.read(path)

    check()
