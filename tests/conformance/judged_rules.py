"""Oracles for judged metrics: as in rules.py, ADK's answer -> the answer by a rule of DIFFERENCES.md.

They read answers by regular expressions of their own.
"""

from __future__ import annotations

import re
import statistics
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

Item = dict[str, Any]

LOST = "lost"
"""A sample that never came."""


def tolerant_judge(item: Item) -> Item:
    """Verdicts in any case and dress; a sample that fails leaves the others to decide if they can."""
    if item["kind"] != "answers" or "error" in item["expected"]:
        return item
    rubrics = "rubrics" in item
    turns = [
        _rubric_turn(item, place, answers) if rubrics else _turn(answers)
        for place, answers in enumerate(item["answers"])
    ]
    scores = [score["score"] for turn in turns for score in (turn["rubric_scores"] if rubrics else [turn])]
    there = [score for score in scores if score is not None]
    mean = statistics.mean(there) if there else None
    ruled = {
        "per_invocation": [_judged(turn, item["threshold"]) for turn in turns],
        "overall": _judged(
            {"score": mean, "rubric_scores": _summary(turns) if rubrics else None}, item["threshold"]
        ),
    }
    return item if _same(ruled, item["expected"]) else {**item, "expected": ruled}


def no_silent_pass(item: Item) -> Item:
    """A run does not pass by the turns that were judged where another one could not be."""
    expected = item.get("expected", {})
    statuses = [row["status"] for row in expected.get("per_invocation", [])]
    if "NOT_EVALUATED" not in statuses or expected["overall"]["status"] != "PASSED":
        return item
    overall = {**expected["overall"], "score": None, "status": "NOT_EVALUATED"}
    return {**item, "expected": {**expected, "overall": overall}}


def asked_for(item: Item) -> set[str]:
    """The rubrics that the answers are about; all of them if they are about none."""
    every = [rubric for scope in (item["rubrics"], *(item["turn_rubrics"] or ())) for rubric in scope or ()]
    texts = [_text(answer) or "" for answers in item["answers"] for answer in answers]
    named = {rubric_id for text in texts for rubric_id, *_ in _blocks(text, every)}
    return named or {rubric["rubric_id"] for rubric in every}


_VERDICT = re.compile(
    r"""["']is_the_agent_response_(?P<inverted>in)?valid["']\s*:\s*(?P<value>\[[^\]]*\]+|[^,}\n]*)"""
)


def _turn(answers: Sequence[Any]) -> Item:
    votes = [LOST if isinstance(answer, dict) else _verdict(_text(answer) or "") for answer in answers]
    return {"score": _majority(votes), "rubric_scores": None}


def _verdict(text: str) -> float | None:
    found = list(_VERDICT.finditer(text))
    if not found:
        return None
    value = found[-1]["value"].split("//")[0]
    words = [word.strip(" .\"'[]").lower() for word in value.split(",")]
    meanings = {_meaning(word, bool(found[-1]["inverted"])) for word in words if word}
    return meanings.pop() if len(meanings) == 1 else None


def _meaning(word: str, inverted: bool) -> float | None:
    if word in ("true", "yes", "false", "no"):
        return float((word in ("true", "yes")) is not inverted)
    if word == "valid":
        return 1.0
    return 0.0 if word in ("invalid", "almost") or word.startswith("partially") else None


def _majority(votes: Iterable[Any]) -> float | None:
    votes = list(votes)
    yes, no, lost = votes.count(1.0), votes.count(0.0), votes.count(LOST)
    if yes > no + lost:
        return 1.0
    return 0.0 if no and no >= yes + lost else None


_LABEL = re.compile(r"^[\s>*#\d.-]*(?P<label>id|property|rationale|verdict)[\s*]*:[\s*]*(?P<said>.*)$", re.I)


def _blocks(text: str, rubrics: Sequence[Item]) -> list[tuple[str, float | None, str]]:
    """(rubric id, score, first line of the rationale), for each rubric that a text is about."""
    by_id = {rubric["rubric_id"] for rubric in rubrics}
    by_text = {_plain(rubric["rubric_content"]["text_property"]): rubric["rubric_id"] for rubric in rubrics}
    if text.startswith("{"):
        pairs = re.findall(r'"(\w+)": "(\w+)"', text)
        return [(key, _yes_or_no(value), "") for key, value in pairs if key in by_id]
    found: list[list[Any]] = []
    pending = None
    for line in text.splitlines():
        match = _LABEL.match(line)
        if match is None:
            continue
        label, said = match["label"].lower(), match["said"].strip()
        if label == "id":
            pending = said
        elif label == "property":
            rubric_id = pending if pending in by_id else by_text.get(_plain(said))
            found.append([rubric_id, None, ""])
            pending = None
        elif found and label == "rationale":
            found[-1][2] = said
        elif found and label == "verdict":
            found[-1][1] = _yes_or_no(said)
    return [(rubric_id, score, rationale) for rubric_id, score, rationale in found if rubric_id]


def _yes_or_no(said: str) -> float | None:
    words = re.findall(r"[a-z]+", said.lower())
    if not words or words[1:3] == ["and", "no"]:
        return None
    return {"yes": 1.0, "no": 0.0}.get(words[0])


def _rubric_turn(item: Item, place: int, answers: Sequence[Any]) -> Item:
    """A turn by its own rubrics; an answer counts if it has a verdict on each that was asked for."""
    own = (item["turn_rubrics"] or [None] * len(item["answers"]))[place] or ()
    rubrics = [
        *item["rubrics"],
        *(rubric for rubric in own if rubric.get("type") == "FINAL_RESPONSE_QUALITY"),
    ]
    asked = asked_for(item) & {rubric["rubric_id"] for rubric in rubrics}
    lost = sum(isinstance(answer, dict) for answer in answers)
    votes: dict[str, list[tuple[float, str]]] = {}
    for answer in answers:
        said = {block[0]: block[1:] for block in _blocks(_text(answer) or "", rubrics)}
        if set(said) >= asked and all(score is not None for score, _ in said.values()):
            for rubric_id, vote in said.items():
                votes.setdefault(rubric_id, []).append(vote)
    scores = []
    for rubric_id, cast in votes.items():
        score = _majority([*(vote for vote, _ in cast), *[LOST] * lost])
        rationale = next((told for vote, told in cast if vote == score), None)
        scores.append({"rubric_id": rubric_id, "score": score, "rationale": rationale})
    whole = scores and all(score["score"] is not None for score in scores)
    mean = statistics.mean(score["score"] for score in scores) if whole else None
    return {"score": mean, "rubric_scores": scores if whole else []}


def _summary(turns: Sequence[Item]) -> list[Item]:
    by_id: dict[str, list[float]] = {}
    for score in (score for turn in turns for score in turn["rubric_scores"]):
        by_id.setdefault(score["rubric_id"], []).append(score["score"])
    return [
        {"rubric_id": rubric_id, "score": statistics.mean(scores), "rationale": None}
        for rubric_id, scores in by_id.items()
    ]


def _judged(value: Item, threshold: float) -> Item:
    score = value["score"]
    status = "NOT_EVALUATED" if score is None else "PASSED" if score >= threshold else "FAILED"
    return {"score": score, "status": status, "rubric_scores": value["rubric_scores"]}


def _same(ruled: Item, expected: Item) -> bool:
    """Whether a rule changes any score or status."""

    def essence(value: Item) -> list[Any]:
        return [(row["score"], row["status"]) for row in (*value["per_invocation"], value["overall"])]

    return essence(ruled) == essence(expected)


def _text(answer: Any) -> str | None:
    """An answer's text. A thought is none."""
    if isinstance(answer, list):
        return "\n".join(part["text"] for part in answer if not part.get("thought"))
    return answer if isinstance(answer, str) else None


def _plain(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).replace("“", '"').replace("”", '"')
    return " ".join(text.split()).strip(' *"').lower()
