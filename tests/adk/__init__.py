"""Everything that needs google-adk: `python -m pytest -m adk`."""

import pytest

MARKS = [
    pytest.mark.adk,
    # what google-adk has against its own classes, and against how it calls them, is not ours to mend
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings(r"ignore:\[EXPERIMENTAL\]:UserWarning"),
]
