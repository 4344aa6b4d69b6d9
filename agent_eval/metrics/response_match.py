"""`response_match_score`: ROUGE-1 between the final response and the expected one."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import NamedTuple

from agent_eval.metrics.base import EvaluationResult, Evaluator, mean_over_turns, paired_turns
from agent_eval.metrics.porter import stem
from agent_eval.schema.evalset import ConversationScenario
from agent_eval.schema.trace import Content, Invocation


class Rouge(NamedTuple):
    """Overlap of words: share of the candidate's, share of the reference's, their harmonic mean."""

    precision: float
    recall: float
    fmeasure: float


class ResponseMatchEvaluator(Evaluator):
    """Mean ROUGE-1 F-measure of the turns, from 0 (no common word) to 1 (the same words).

    Words are stemmed and compared without case or order; punctuation does not count, thoughts
    are not read. Scripts written without spaces are compared character by character.
    """

    def evaluate_invocations(
        self,
        actual_invocations: list[Invocation],
        expected_invocations: list[Invocation] | None = None,
        conversation_scenario: ConversationScenario | None = None,
    ) -> EvaluationResult:
        """Scores each turn's final text."""
        scores = [
            rouge_1(_text(actual.final_response), _text(expected.final_response)).fmeasure
            for actual, expected in paired_turns(actual_invocations, expected_invocations)
        ]
        return mean_over_turns(scores, self.threshold)


def _text(content: Content | None) -> str:
    return content.text if content else ""


def rouge_1(candidate: str, reference: str) -> Rouge:
    """ROUGE-1 as `rouge_score` computes it (Lin 2004), over Unicode-aware, stemmed words.

    Identical texts score 1 even when they hold no word (two equal emoji).
    """
    found = words(candidate)
    wanted = found if candidate == reference else words(reference)
    if not found and not wanted:
        same = float(bool(candidate.strip()) and candidate == reference)
        return Rouge(same, same, same)
    common = len(found) if found == wanted else _common(found, wanted)
    precision = common / max(len(found), 1)
    recall = common / max(len(wanted), 1)
    both = precision + recall
    return Rouge(precision, recall, 2 * precision * recall / both if both else 0.0)


def _common(found: list[str], wanted: list[str]) -> int:
    """How many words there are in both, each as often as in the one that has it less often."""
    left = Counter(wanted)
    common = 0
    for word in found:
        if left.get(word):
            left[word] -= 1
            common += 1
    return common


_ASCII_WORD = re.compile(r"[a-z0-9]+")
_MIN_STEMMED = 4
"""Shorter words are left as they are."""


def words(text: str) -> list[str]:
    """The words of a text: NFKC, lower case, ASCII ones stemmed.

    Chinese, Japanese and Korean characters are words of their own; Thai, Lao, Khmer and Myanmar
    are split into base characters with their marks. Combining marks alone are no word.
    """
    if text.isascii():
        found = _ASCII_WORD.findall(text.lower())
    else:
        spaced = unicodedata.normalize("NFKC", text).lower().translate(_SPACING)
        found = [word for word in spaced.split() if word.isascii() or not all(map(_is_mark, word))]
    return list(map(_stemmed, found))


@lru_cache(maxsize=65536)
def _stemmed(word: str) -> str:
    return stem(word) if len(word) >= _MIN_STEMMED and word.isascii() else word


def _is_mark(char: str) -> bool:
    return unicodedata.category(char).startswith("M")


class _Spacing(dict[int, str]):
    """A `str.translate` table that sets words apart by spaces, filled as characters are met."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        mark = _is_mark(char)
        if 0x4E00 <= code <= 0x9FFF or 0x3040 <= code <= 0x30FF or 0xAC00 <= code <= 0xD7AF:
            spaced = f" {char} "  # Han, Hiragana, Katakana, Hangul
        elif 0x0E00 <= code <= 0x0EFF or 0x1780 <= code <= 0x17FF or 0x1000 <= code <= 0x109F:
            spaced = char if mark else f" {char}"  # Thai, Lao, Khmer, Myanmar
        else:
            spaced = char if mark or char.isalnum() else " "
        self[code] = spaced
        return spaced


_SPACING = _Spacing()
