"""Whether what a cause says is so: looked up in the records again, by other means than the rules use."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from agent_eval.metrics.base import EvalMetric
from agent_eval.metrics.response_match import rouge_1, words
from agent_eval.metrics.trajectory import TrajectoryEvaluator
from agent_eval.schema.config import TrajectoryCriterion
from agent_eval.schema.result import Cause, ExpectedTurn, MetricResult, RunRecord
from agent_eval.schema.trace import Content, EvalStatus, FunctionCall, Invocation
from tests.diagnose.player import Played


class Seen:
    """One cause, and a run that it is said of."""

    def __init__(self, cause: Cause, record: RunRecord, metric: str, criterion: dict[str, Any]) -> None:
        self.cause = cause
        self.record = record
        self.criterion = criterion
        self.metric: MetricResult | None = record.metric(metric)
        self.error = (self.metric.error if self.metric else None) or record.error
        named = re.match(r"turn (\d+): ", cause.seen)
        self.number = int(named[1]) if named else None
        self.text = cause.seen.replace("\\\\", "\\")

    def turns(self) -> Iterator[tuple[Invocation, ExpectedTurn]]:
        """The turn that the cause names, or every one."""
        expected = self.record.expected or [ExpectedTurn() for _ in self.record.invocations]
        pairs = list(zip(self.record.invocations, expected, strict=False))
        yield from pairs[self.number - 1 : self.number] if self.number else pairs

    def any_turn(self, holds: Callable[[Invocation, ExpectedTurn], bool]) -> bool:
        return any(holds(actual, expected) for actual, expected in self.turns())

    @property
    def output(self) -> str:
        """All that tools returned, as JSON."""
        given = [response.response for turn in self.record.invocations for response in responses_of(turn)]
        return json.dumps(given, ensure_ascii=False)

    @property
    def said_before(self) -> str:
        """All that the agent was told."""
        told = [text(turn.user_content) for turn in self.record.invocations]
        args = [call.args for turn in self.record.invocations for call in calls_of(turn)]
        state = self.record.session.state if self.record.session else {}
        return json.dumps([told, args, state], ensure_ascii=False)

    def quoted(self) -> list[str]:
        return re.findall(r'"([^"]*)"', self.cause.seen)

    def ticked(self) -> list[str]:
        return re.findall(r"`([^`]*)`", self.cause.seen)


def text(content: Content | None) -> str:
    return content.text if content else ""


def calls_of(turn: Invocation | ExpectedTurn) -> list[FunctionCall]:
    return turn.intermediate_data.tool_uses if turn.intermediate_data else []


def responses_of(turn: Invocation) -> list[Any]:
    return list(turn.intermediate_data.tool_responses) if turn.intermediate_data else []


def names(turn: Invocation | ExpectedTurn) -> list[str]:
    return [call.name or "" for call in calls_of(turn)]


def exactly(turn: Invocation | ExpectedTurn) -> list[str]:
    return [json.dumps([call.name, call.args or {}], sort_keys=True) for call in calls_of(turn)]


def matches(actual: Invocation, expected: ExpectedTurn, match_type: str, ignored: Any = False) -> bool:
    """The metric's own word on a turn under a match type."""
    criterion = TrajectoryCriterion.model_validate(
        {"threshold": 1.0, "match_type": match_type, "ignore_args": ignored}
    )
    metric = EvalMetric(metric_name="m", threshold=1.0, criterion=criterion)
    wanted = Invocation(user_content=actual.user_content, intermediate_data=expected.intermediate_data)
    return TrajectoryEvaluator(metric).evaluate_invocations([actual], [wanted]).overall_score == 1.0


def more(left: list[str], right: list[str]) -> bool:
    """Whether something is more often on the left."""
    return any(left.count(one) > right.count(one) for one in left)


def has_token(token: str, where: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(token)}(?![\w]|\.\d)", where, re.IGNORECASE) is not None


def extra_calls(s: Seen) -> bool:
    def holds(actual: Invocation, expected: ExpectedTurn) -> bool:
        allowed = re.search(r"`(IN_ORDER|ANY_ORDER)`", s.cause.change)
        fits = not allowed or matches(actual, expected, allowed[1], s.criterion.get("ignore_args", False))
        return fits and more(exactly(actual), exactly(expected)) and len(calls_of(actual)) > 0

    return s.any_turn(holds)


def other_order(s: Seen) -> bool:
    ignored = s.criterion.get("ignore_args", False)
    return s.any_turn(
        lambda a, e: matches(a, e, "ANY_ORDER", ignored) and not matches(a, e, "IN_ORDER", ignored)
    )


def altered(s: Seen) -> bool:
    return s.any_turn(
        lambda a, e: any(
            call.name == wanted.name
            and (call.args or {}) != (wanted.args or {})
            and f"`{call.name}`" in s.text
            for call in calls_of(a)
            for wanted in calls_of(e)
        )
    )


def type_only(s: Seen) -> bool:
    def alike(one: Any, other: Any) -> bool:
        def spelled(value: Any) -> str:
            said = value if isinstance(value, str) else json.dumps(value)
            return re.sub(r"[\s\"\[\]]", "", said).casefold()

        return type(one) is not type(other) and spelled(one) == spelled(other)

    return s.any_turn(
        lambda a, e: any(
            call.name == wanted.name
            and any(alike(value, (call.args or {}).get(key)) for key, value in (wanted.args or {}).items())
            for call in calls_of(a)
            for wanted in calls_of(e)
        )
    )


def missing_calls(s: Seen) -> bool:
    return s.any_turn(
        lambda a, e: more(exactly(e), exactly(a)) and any(f"{name}(" in s.text for name in names(e))
    )


def moved(s: Seen) -> bool:
    made = [(number, one) for number, turn in enumerate(s.record.invocations) for one in exactly(turn)]
    wanted = [(number, one) for number, turn in enumerate(s.record.expected or []) for one in exactly(turn)]
    return any(one == other and here != there for here, one in made for there, other in wanted)


def failed_tool(s: Seen) -> bool:
    return bool(re.search(r'"(error\w*|exception|isError)"|"status": "(error|failed|failure)"', s.output))


def only_form(s: Seen) -> bool:
    def letters(said: str) -> str:
        return "".join(filter(str.isalnum, re.sub(r"\(https?://[^)]*\)", "", said))).casefold()

    return s.any_turn(lambda a, e: letters(text(a.final_response)) == letters(text(e.final_response)))


def ungrounded(s: Seen) -> bool:
    facts = re.findall(r'"([^"]*)"', s.cause.seen.split(", which no tool")[0])
    around = s.output + s.said_before
    return bool(facts) and all(
        s.any_turn(lambda a, e, f=fact: f in text(a.final_response)) and not has_token(fact, around)
        for fact in facts
    )


def stale(s: Seen) -> bool:
    said, expected = (re.findall(r'"([^"]*)"', part) for part in s.cause.seen.split("and the expected one"))
    return bool(said and expected) and not any(has_token(fact, s.output) for fact in expected)


def lacks(s: Seen) -> bool:
    gone = re.findall(r'"([^"]*)"', s.cause.seen.split(", which the expected")[0])
    return bool(gone) and s.any_turn(
        lambda a, e: all(
            fact in text(e.final_response) and not has_token(fact, text(a.final_response)) for fact in gone
        )
    )


def shares(s: Seen) -> bool:
    if "finds that it means the same" in s.text:
        judged = s.record.metric("final_response_match_v2")
        return judged is not None and judged.status is EvalStatus.PASSED

    def plain(said: str) -> str:
        return re.sub("[.,]", "", said)

    facts = [plain(fact) for fact in re.findall(r'"([^"]*)"', s.cause.seen)]

    def has_all(content: Content | None) -> bool:
        return all(fact in plain(text(content)) for fact in facts)

    return s.any_turn(lambda a, e: has_all(a.final_response) and has_all(e.final_response))


def length_ratio(a: Invocation, e: ExpectedTurn) -> float:
    return len(words(text(a.final_response))) / max(len(words(text(e.final_response))), 1)


def quotes_rationale(s: Seen) -> bool:
    """What is said to be the judge's word is the judge's word."""
    rows = s.metric.per_invocation if s.metric else []
    said = [row.rationale or "" for row in rows] + [
        score.rationale or "" for row in rows for score in row.rubric_scores or ()
    ]
    told = re.search(r'(?:holds?|found|support|scenario with "[^"]*"): "(.*)"', s.text)
    return not told or any(told[1].rstrip("…") in " ".join(one.split()) for one in said)


def failed_rubric(s: Seen) -> bool:
    named = s.ticked()[0]
    rows = s.metric.per_invocation if s.metric else []
    scores = [score for row in rows for score in row.rubric_scores or ()]
    return any(score.rubric_id == named and score.score == 0 for score in scores) and quotes_rationale(s)


def state_has(s: Seen) -> bool:
    key = s.ticked()[0]
    state = s.record.session.state if s.record.session else {}
    return key in state and json.dumps(state[key], ensure_ascii=False, separators=(",", ":")) in s.text


def said(pattern: str) -> Callable[[Seen], bool]:
    """The error or the reason speaks of it."""

    def check(s: Seen) -> bool:
        told = f"{s.error.type}: {s.error.message}" if s.error else ""
        told += f"\n{s.metric.reason}" if s.metric and s.metric.reason else ""
        return re.search(pattern, told, re.IGNORECASE) is not None

    return check


def judged_text(s: Seen) -> str:
    return "\n".join(text(turn.final_response) for turn in s.record.invocations)


CHECKS: dict[str, Callable[[Seen], bool]] = {
    "AE101": extra_calls,
    "AE102": other_order,
    "AE103": altered,
    "AE104": type_only,
    "AE105": missing_calls,
    "AE106": lambda s: s.any_turn(lambda a, e: not calls_of(a) and bool(calls_of(e))),
    "AE107": lambda s: s.any_turn(lambda a, e: bool(calls_of(a)) and not calls_of(e)),
    "AE108": lambda s: s.any_turn(lambda a, e: s.ticked()[0] in names(e) and s.ticked()[0] not in names(a)),
    "AE109": lambda s: s.any_turn(
        lambda a, e: names(a).count("transfer_to_agent") != names(e).count("transfer_to_agent")
    ),
    "AE110": lambda s: s.any_turn(
        lambda a, e: (
            any(n in names(a) and n not in names(e) for n in s.ticked())
            and any(n in names(e) and n not in names(a) for n in s.ticked())
        )
    ),
    "AE111": moved,
    "AE112": failed_tool,
    "AE113": lambda s: s.ticked()[0] not in [n for turn in s.record.invocations for n in names(turn)],
    "AE114": lambda s: s.any_turn(lambda a, e: any(n in s.criterion["tools"] for n in names(a))),
    "AE115": lambda s: s.any_turn(lambda a, e: s.ticked()[0] in names(a)),
    "AE116": lambda s: bool(s.metric and (s.metric.score or 0) > (s.metric.threshold or 0)),
    "AE117": lambda s: s.metric is not None and s.metric.score == 0.0,
    "AE201": lambda s: s.any_turn(lambda a, e: not text(e.final_response).strip()),
    "AE202": lambda s: s.any_turn(lambda a, e: not text(a.final_response).strip()),
    "AE218": lambda s: s.any_turn(
        lambda a, e: any(f"`{one.author}` reported {one.code}" in s.text for one in a.incidents or ())
    ),
    "AE203": only_form,
    "AE204": lambda s: s.any_turn(
        lambda a, e: rouge_1(text(a.final_response), text(e.final_response)).fmeasure < 0.35
    ),
    "AE205": lambda s: s.any_turn(
        lambda a, e: (
            text(a.final_response).strip().endswith("?") and not text(e.final_response).strip().endswith("?")
        )
    ),
    "AE206": lambda s: bool(
        re.search("sorry|apolog|can.?t|cannot|unable|not have|unfortunately", judged_text(s), re.I)
    ),
    "AE207": ungrounded,
    "AE208": stale,
    "AE209": lambda s: s.any_turn(lambda a, e: length_ratio(a, e) < 0.8),
    "AE210": lacks,
    "AE211": lambda s: s.any_turn(lambda a, e: length_ratio(a, e) > 1.2),
    "AE212": shares,
    "AE213": lambda s: s.any_turn(
        lambda a, e: rouge_1(text(a.final_response), text(e.final_response)).fmeasure < 1
    ),
    "AE214": lambda s: s.any_turn(
        lambda a, e: (
            any(t.casefold() in s.text.casefold() for t in s.criterion["texts"])
            and not all(t in text(a.final_response) for t in s.criterion["texts"])
        )
    ),
    "AE215": lambda s: s.any_turn(lambda a, e: not re.search(s.criterion["pattern"], text(a.final_response))),
    "AE216": lambda s: s.metric is not None and s.metric.status is EvalStatus.FAILED,
    "AE217": lambda s: s.any_turn(
        lambda a, e: any(
            n not in re.findall(r"\d+", text(a.final_response))
            for n in re.findall(r"\d+", text(e.final_response))
        )
    ),
    "AE301": failed_rubric,
    "AE303": lambda s: bool(s.metric and any("not shown" in warning for warning in s.metric.warnings)),
    "AE304": quotes_rationale,
    "AE305": quotes_rationale,
    "AE306": quotes_rationale,
    "AE307": lambda s: s.record.stopped_by in ("turn_limit", "no_turn_fits"),
    "AE401": lambda s: s.ticked()[0] not in (s.record.session.state if s.record.session else {}),
    "AE402": state_has,
    "AE403": said("session|root_agent"),
    "AE404": said("429|quota|rate"),
    "AE405": lambda s: s.error is not None and s.error.type == "RunTimeoutError",
    "AE406": lambda s: s.error is not None and s.error.type == "MockedToolError",
    "AE407": said("confirmation"),
    "AE408": said("not found|is not found"),
    "AE409": said("key|403|401|credential"),
    "AE410": said("not found|does not exist"),
    "AE411": said("connect|50[0-9]|name or service"),
    "AE412": lambda s: s.ticked()[0] in [n for turn in s.record.invocations for n in names(turn)],
    "AE413": lambda s: s.error is not None and s.error.type in s.text,
    "AE414": lambda s: s.error is not None and s.error.type == "SimulatedUserError",
    "AE415": said("killed by|exit code"),
    "AE501": lambda s: s.error is not None and s.error.type in s.text,
    "AE502": said("NoneType"),
    "AE503": said("took longer"),
    "AE504": said("returned"),
    "AE505": lambda s: s.metric is not None and s.metric.error is None,
    "AE506": lambda s: s.record.expected is None,
    "AE507": lambda s: s.record.expected is not None and len(s.record.expected) != len(s.record.invocations),
    "AE508": lambda s: not judged_text(s).strip(),
    "AE509": said("429|quota|too many"),
    "AE510": said("not set|404|refused|no answer|does not exist"),
    "AE511": said("cannot be used|neither|no verdict"),
    "AE512": said("blocked"),
    "AE513": said("max_judge_calls"),
    "AE514": said("no rubrics"),
    "AE515": said("tokens|timed"),
    "AE516": lambda s: s.metric is not None and s.metric.status is EvalStatus.FAILED,
}
"""Of the causes that one run shows."""


def contradictions(one: Played) -> list[str]:
    """The causes of a result that say what is not so, and the values in them that are nowhere."""
    found = [f"{cause.code}: {cause.seen}" for cause in one.result.causes if not _of_all(cause, one)]
    for case in one.result.cases:
        of_case = [record for record in one.records if record.eval_id == case.eval_id]
        crashed = [record for record in of_case if record.error]
        found += _untrue(case.causes, crashed, "", {}, one)
        for metric in case.metrics:
            said = [cause for cause in metric.causes if cause not in case.causes]
            criterion = one.result.config.criteria.get(metric.metric_name, {})
            found += _untrue(said, of_case, metric.metric_name, criterion, one)
            if metric.status in (EvalStatus.FAILED, EvalStatus.NOT_EVALUATED) and not metric.causes:
                found.append(f"{metric.metric_name} of {case.eval_id} has no cause")
    return found


def _untrue(
    causes: list[Cause], records: list[RunRecord], metric: str, criterion: dict[str, Any], one: Played
) -> Iterator[str]:
    for cause in causes:
        if cause.code in ("AE302", "AE601"):
            holds = _of_case(cause, metric, records, one)
        else:
            named = [record for record in records if not cause.runs or record.run_index in cause.runs]
            looked = [Seen(cause, record, metric, criterion) for record in named]
            holds = any(CHECKS[cause.code](seen) for seen in looked)
        if not holds:
            yield f"{cause.code}: {cause.seen}"


def _of_case(cause: Cause, metric: str, records: list[RunRecord], one: Played) -> bool:
    if cause.code == "AE601":
        statuses = {result.status for record in records if (result := record.metric(metric))}
        return {EvalStatus.PASSED, EvalStatus.FAILED} <= statuses
    (named,) = re.findall(r"`([^`]*)`", cause.seen)
    scores = [
        score.score
        for record in one.records
        for result in record.metrics
        for row in result.per_invocation
        for score in row.rubric_scores or ()
        if score.rubric_id == named
    ]
    return len(scores) > 1 and not any(scores)


def _of_all(cause: Cause, one: Played) -> bool:
    """That all cases fail alike."""
    if "crashes" in cause.seen:
        return all(record.error for record in one.records)
    metric = re.findall(r"`([^`]*)`", cause.seen)[0]
    return all(
        result.status in (EvalStatus.FAILED, EvalStatus.NOT_EVALUATED)
        for case in one.result.cases
        for result in case.metrics
        if result.metric_name == metric
    )
