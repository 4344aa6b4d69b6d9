"""The checks of judged metrics: votes, means, and whole evaluators with a judge that has a script."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from agent_eval.judge.base import Failure, ModelError, Reply, Request
from agent_eval.judge.judge import Judge
from agent_eval.judge.python import PythonModel
from agent_eval.judge.vote import Vote, majority
from agent_eval.metrics.base import EvalMetric, EvaluationResult
from agent_eval.metrics.judged.base import JudgedEvaluator, Row
from agent_eval.metrics.judged.rubrics import FinalResponseQuality, exact_mean, means_of_rubrics
from agent_eval.metrics.judged.verdicts import FinalResponseMatch
from agent_eval.schema.config import JudgeCriterion, JudgeModelOptions, RubricsCriterion
from agent_eval.schema.result import RubricScore
from agent_eval.schema.trace import Content, EvalStatus, Invocation, Rubric
from tests.conformance.compare import differences
from tests.conformance.judged_rules import asked_for

Item = dict[str, Any]


def judge_vote(item: Item, header: Item) -> list[str]:
    """`final_response_match_v2`: one turn's samples, a run's turns, or the judge's answers."""
    if item["kind"] == "vote":
        votes = [
            [("", _vote(sample["score"], no=0.0), place)] for place, sample in enumerate(item["samples"])
        ]
        chosen = majority(votes)[""]
        return differences({"chosen_sample": chosen, **item["samples"][chosen]}, item["expected"])
    criterion = JudgeCriterion(threshold=item["threshold"], judge_model_options=_options(item))
    if item["kind"] == "answers":
        result = _evaluated(FinalResponseMatch, criterion, item["answers"])
        return _differences(result, item["expected"])
    rows = [Row(turn["score"] if turn["status"] != "NOT_EVALUATED" else None) for turn in item["turns"]]
    result = _evaluator(FinalResponseMatch, criterion, []).result(rows)
    return differences(_value(result.overall_score, result.overall_eval_status), item["expected"])


def rubric_aggregation(item: Item, header: Item) -> list[str]:
    """A rubric metric: one turn's samples, a run's turns, or the judge's answers."""
    if item["kind"] == "answers":
        return _rubric_answers(item)
    lists = [
        [RubricScore.model_validate(score) for score in scores or ()]
        for scores in item["samples" if item["kind"] == "vote" else "turns"]
    ]
    if item["kind"] == "vote":
        found = majority([[(score.rubric_id, _vote(score.score), score) for score in one] for one in lists])
        scores, mean = list(found.values()), exact_mean(found.values())
    else:
        scores, mean = means_of_rubrics(lists), exact_mean(score for one in lists for score in one)
    criterion = RubricsCriterion(threshold=item["threshold"])
    status = _evaluator(FinalResponseQuality, criterion, []).status(mean)
    got = {**_value(mean, status), "rubric_scores": _dumped(scores)}
    if item["kind"] == "summary":
        return differences(_known(got, summary=True), _known(item["expected"], summary=True))
    return differences(got, item["expected"])


def _rubric_answers(item: Item) -> list[str]:
    """The evaluator, asked for what the answers are about; asked for more, it must miss that."""
    asked = asked_for(item)
    every = {
        rubric["rubric_id"]
        for scope in (item["rubrics"], *(item["turn_rubrics"] or ()))
        for rubric in scope or ()
    }
    if "error" in item["expected"]:
        try:
            _evaluated_rubrics(item, every)
        except ValueError:
            return []
        return [f"evaluate: got a result, expected {item['expected']['error']['type']}"]
    found = _differences(_evaluated_rubrics(item, asked), item["expected"])
    missing = {rubric["rubric_id"] for rubric in item["rubrics"]} - asked
    if missing:
        whole = _evaluated_rubrics(item, every)
        named = whole.reason or ""
        unread = any(not isinstance(answer, str | list) for answers in item["answers"] for answer in answers)
        if whole.overall_eval_status is not EvalStatus.NOT_EVALUATED:
            found.append(f"every rubric: got {whole.overall_eval_status}, expected NOT_EVALUATED")
        elif not unread and not any(f"`{rubric_id}`" in named for rubric_id in missing):
            found.append(f"every rubric: the reason names none of {missing}: {named}")
    return found


def _evaluated_rubrics(item: Item, asked: set[str]) -> EvaluationResult:
    def among(rubrics: list[Item] | None) -> list[Item]:
        return [rubric for rubric in rubrics or () if rubric["rubric_id"] in asked]

    criterion = RubricsCriterion.model_validate(
        {
            "threshold": item["threshold"],
            "rubrics": among(item["rubrics"]),
            "judge_model_options": _options(item),
        }
    )
    turns = [among(rubrics) for rubrics in item["turn_rubrics"] or [None] * len(item["answers"])]
    return _evaluated(FinalResponseQuality, criterion, item["answers"], turns)


def _vote(score: float | None, no: float | None = None) -> Vote:
    """A score as a vote; `no` is what says no, None if everything does that is no yes."""
    if score is None or (no is not None and score not in (no, 1.0)):
        return Vote.NEITHER
    return Vote.YES if score == 1.0 else Vote.NO


def _options(item: Item) -> JudgeModelOptions:
    return JudgeModelOptions(num_samples=max(map(len, item.get("answers", [[0]])), default=1))


class Script:
    """Gives each turn's answers in order, and the same one again when asked to mend it."""

    def __init__(self, answers: Sequence[Sequence[Any]]) -> None:
        self._answers = answers
        self._asked = [-1] * len(answers)

    async def reply(self, request: Request) -> Reply:
        text = "".join(part.text or "" for content in request.contents for part in content.parts or ())
        turn = max(number for number in range(len(self._answers)) if f"question {number}" in text)
        if "Your answer cannot be used" not in text:
            self._asked[turn] += 1
        answer = self._answers[turn][self._asked[turn]]
        if isinstance(answer, str):
            return Reply(answer)
        if isinstance(answer, list):
            return Reply(Content.model_validate({"parts": answer}).text)
        failure = Failure.QUOTA if answer and "raise" in answer else Failure.EMPTY
        raise ModelError(failure, failure.value)


def _evaluator(
    kind: type[JudgedEvaluator], criterion: JudgeCriterion, answers: Sequence[Sequence[Any]]
) -> JudgedEvaluator:
    model = PythonModel("python/conformance:script", Script(answers).reply)
    judge = Judge(model, criterion.judge_model_options)
    return kind(EvalMetric(metric_name="judged", criterion=criterion), judge)


def _evaluated(
    kind: type[JudgedEvaluator],
    criterion: JudgeCriterion,
    answers: Sequence[Sequence[Any]],
    rubrics: Sequence[list[Item]] | None = None,
) -> EvaluationResult:
    expected = [_turn(f"question {number}") for number in range(len(answers))]
    actual = [
        turn.model_copy(update={"rubrics": [Rubric.model_validate(rubric) for rubric in own]})
        for turn, own in zip(expected, rubrics or [[]] * len(expected), strict=True)
    ]
    return asyncio.run(_evaluator(kind, criterion, answers).evaluate_invocations(actual, expected))


def _turn(question: str) -> Invocation:
    said = {"role": "model", "parts": [{"text": "an answer"}]}
    asked = {"role": "user", "parts": [{"text": question}]}
    return Invocation.model_validate({"user_content": asked, "final_response": said})


def _differences(result: EvaluationResult, expected: Item) -> list[str]:
    rows = [
        {**_value(row.score, row.eval_status), "rubric_scores": _dumped(row.rubric_scores)}
        for row in result.per_invocation_results
    ]
    overall = {
        **_value(result.overall_score, result.overall_eval_status),
        "rubric_scores": _dumped(result.overall_rubric_scores),
    }
    return differences(
        {"per_invocation": [_known(row) for row in rows], "overall": _known(overall, summary=True)},
        {
            "per_invocation": [_known(row) for row in expected["per_invocation"]],
            "overall": _known(expected["overall"], summary=True),
        },
    )


def _value(score: float | None, status: EvalStatus) -> Item:
    return {"score": score, "status": status.value}


def _dumped(scores: Sequence[RubricScore] | None) -> list[Item] | None:
    return None if scores is None else [score.model_dump() for score in scores]


def _known(value: Item, *, summary: bool = False) -> Item:
    """A value in the form in which both sides have it.

    An unscored rubric, which is in the reason here, has an entry in ADK, and where there are no
    rubric scores it has an empty list or null. Of a rationale ADK keeps the first line, and it puts
    a fixed sentence in the place of those of a summary.
    """
    scores = [
        {
            "rubric_id": score["rubric_id"],
            "score": score["score"],
            "rationale": None if summary else (score["rationale"] or "").partition("\n")[0],
        }
        for score in value["rubric_scores"] or ()
        if score["score"] is not None
    ]
    return {**value, "rubric_scores": scores}
