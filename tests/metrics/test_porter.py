from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer

from agent_eval.metrics.porter import stem

ROOT = Path(__file__).parents[2]
REFERENCE = PorterStemmer()

SUFFIXES = re.findall(
    r"\w+",
    """
    s es ies sses ss ed ied eed ing edly ingly y e ll le
    ational tional enci anci izer bli alli entli eli ousli ization ation ator alism iveness fulness ousness
    aliti iviti biliti fulli logi icate ative alize iciti ical ful ness
    al ance ence er ic able ible ant ement ment ent ion sion tion ou ism ate iti ous ive ize
    """,
)


def words_of_this_repository() -> list[str]:
    files = [path for folder in ("agent_eval", "tests") for path in (ROOT / folder).rglob("*.py")]
    texts = (path.read_text(encoding="utf-8").lower() for path in [*files, *ROOT.glob("*.md")])
    return sorted({word for text in texts for word in re.findall(r"[a-z0-9]+", text)})


def test_stems_of_the_words_of_this_repository_are_nltks() -> None:
    words = words_of_this_repository()
    assert len(words) > 1000
    assert {word: stem(word) for word in words} == {word: REFERENCE.stem(word) for word in words}


@given(st.text("abdeilnorstuwxyz0", max_size=6), st.lists(st.sampled_from(SUFFIXES), max_size=3))
def test_stems_of_any_word_are_nltks(root: str, suffixes: list[str]) -> None:
    word = root + "".join(suffixes)
    assert stem(word) == REFERENCE.stem(word)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        pytest.param("skies", "sky", id="irregular"),
        pytest.param("dies", "die", id="ies on four letters"),
        pytest.param("tries", "tri", id="ies on more"),
        pytest.param("enjoy", "enjoy", id="final y after a vowel"),
        pytest.param("hopping", "hop", id="double consonant"),
        pytest.param("falling", "fall", id="double l stays"),
        pytest.param("relational", "relat", id="two steps"),
        pytest.param("as", "as", id="two letters"),
    ],
)
def test_stems_of_chosen_words(word: str, expected: str) -> None:
    assert stem(word) == expected == REFERENCE.stem(word)
