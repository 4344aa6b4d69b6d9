"""Oracles: ADK's answer -> the answer by one of the rules in DIFFERENCES.md.

`differences.json` spells most answers out. A few it states in words, and a few random items fall
under a rule without being named; for these the answer is worked out here from the item alone,
on JSON, and without agent-eval's code. Each oracle leaves an item alone that its rule does not concern.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conformance import custom_rules, judged_rules

Item = dict[str, Any]
Oracle = Callable[[Item], Item]

METADATA = ("grounding_metadata", "usage_metadata", "model_version")
KEPT = ("author", "content", *METADATA)
"""What a step keeps of its event."""


def same_text_rouge(item: Item) -> Item:
    """Identical texts score 1, if not blank; ADK gives 0 where they hold no word."""
    same = item["candidate"] == item["reference"] and item["candidate"].strip()
    if not same or item["fmeasure"] != 0:
        return item
    return {**item, "precision": 1.0, "recall": 1.0, "fmeasure": 1.0}


def same_text_response(item: Item) -> Item:
    """The same, for the turns of a whole metric."""
    scores = item.get("score_per_invocation")
    if not scores:
        return item
    pairs = zip(scores, item["actual"], item["expected"], strict=True)
    ruled = [1.0 if score == 0 and _same_text(one, other) else score for score, one, other in pairs]
    if ruled == scores:
        return item
    criterion = item["criterion"]
    threshold = criterion["threshold"] if isinstance(criterion, dict) else criterion
    mean = sum(ruled) / len(ruled)
    return {
        **item,
        "score_per_invocation": ruled,
        "status_per_invocation": [_status(score, threshold) for score in ruled],
        "overall_score": mean,
        "overall_status": _status(mean, threshold),
    }


def user_content_stays(item: Item) -> Item:
    """The question is the last thing that the user sent other than tool responses."""
    return _each_turn(item, _asked)


def thoughts(item: Item) -> Item:
    """The final response is the last final content that is more than thoughts; ADK's may be a thought."""
    return _each_turn(item, _answered)


def usage_kept(item: Item) -> Item:
    """Each event of an agent that reports token usage is a step; ADK drops those that show nothing."""
    return _each_turn(item, _counted)


ORACLES: dict[str, dict[str, Oracle]] = {
    "rouge.json": {"same-text": same_text_rouge},
    "response_match.json": {"same-text": same_text_response},
    "events_to_invocations.json": {
        "user-content-stays": user_content_stays,
        "thoughts": thoughts,
        "usage-kept": usage_kept,
    },
    "custom_metric.json": {
        "before-anything-runs": custom_rules.before_anything_runs,
        "bare-number": custom_rules.bare_number,
        "whole-conversation": custom_rules.whole_conversation,
        "contained": custom_rules.contained,
        "finite-score": custom_rules.finite_score,
        "isolated": custom_rules.isolated,
    },
    **{
        name: {
            "tolerant-judge": judged_rules.tolerant_judge,
            "no-silent-pass": judged_rules.no_silent_pass,
        }
        for name in ("judge_vote.json", "rubric_aggregation.json")
    },
}
"""File -> rule -> oracle, in the order in which they are applied."""


def _same_text(one: Item | None, other: Item | None) -> bool:
    return _text(one) == _text(other) and bool(_text(one).strip())


def _text(content: Item | None) -> str:
    """The answer's text. A thought is none."""
    parts = (content or {}).get("parts") or []
    return "\n".join(part["text"] for part in parts if part.get("text") and not part.get("thought"))


def _status(score: float, threshold: float) -> str:
    return "PASSED" if score >= threshold else "FAILED"


def _each_turn(item: Item, rule: Callable[[Item, list[Item]], Item]) -> Item:
    """Applies a rule to each turn, given its answer and its events (speech turned into text)."""
    turns = []
    for turn in item["invocations"]:
        events = [event for event in item["events"] if event["invocation_id"] == turn["invocation_id"]]
        turns.append(rule(turn, [_spoken(event) for event in events] if item["live"] else events))
    return {**item, "invocations": turns}


def _asked(turn: Item, events: list[Item]) -> Item:
    sent = [event for event in events if _by_user(event) and event.get("content") is not None]
    asked = [e for e in sent if not (_parts(e) and all(part.get("function_response") for part in _parts(e)))]
    if len(asked) == len(sent):
        return turn
    content, timestamp = (asked[-1]["content"], asked[-1]["timestamp"]) if asked else ({"parts": []}, 0.0)
    return {**turn, "user_content": _without_nulls(content), "creation_timestamp": timestamp}


def _answered(turn: Item, events: list[Item]) -> Item:
    finals = [index for index, event in enumerate(events) if _is_final(event)]
    spoken = [index for index in finals if not all(part.get("thought") for part in _parts(events[index]))]
    before, after = _last(events, finals, _says), _last(events, spoken, _says_aloud)
    if before == after:
        return turn
    ruled = {key: value for key, value in turn.items() if key != "final_response"}
    if after is not None:
        ruled["final_response"] = _without_nulls(events[after]["content"])
    steps = list(turn["intermediate_data"]["invocation_events"])
    for step, place in enumerate(_places(turn, events)):
        if place == before:
            steps[step] = {**steps[step], "content": turn["final_response"]}
        elif place == after and not any(part.get("function_call") for part in _parts(events[place])):
            steps[step] = {key: value for key, value in steps[step].items() if key != "content"}
    return {**ruled, "intermediate_data": {"invocation_events": steps}}


def _last(events: list[Item], among: list[int], says: Callable[[Item], bool]) -> int | None:
    """ADK's choice: the last one, but one that says something is not replaced by one that does not."""
    chosen = None
    for index in among:
        if chosen is None or says(events[index]) or not says(events[chosen]):
            chosen = index
    return chosen


def _counted(turn: Item, events: list[Item]) -> Item:
    steps = dict(zip(_places(turn, events), turn["intermediate_data"]["invocation_events"], strict=True))
    finals = [place for place, event in enumerate(events) if _is_final_response(event, turn)]
    for place, event in enumerate(events):
        streamed = event.get("partial") and _is_given_whole(event, events[place + 1 :])
        if event.get("usage_metadata") is not None and not _by_user(event) and not streamed:
            kept = [key for key in KEPT if key in event and not (key == "content" and place in finals[-1:])]
            steps.setdefault(place, _without_nulls({key: event[key] for key in kept}))
    return {**turn, "intermediate_data": {"invocation_events": [steps[place] for place in sorted(steps)]}}


def _places(turn: Item, events: list[Item]) -> list[int]:
    """The event behind each step. Looked for from the end: a streamed piece stands before its whole.

    Raises:
        LookupError: a step that no event can be behind.
    """
    places: list[int] = []
    end = len(events)
    for step in reversed(turn["intermediate_data"]["invocation_events"]):
        end = max((index for index in range(end) if _is_step_of(step, events[index], turn)), default=-1)
        if end < 0:
            raise LookupError(f"no event is behind the step {step}")
        places.insert(0, end)
    return places


def _is_step_of(step: Item, event: Item, turn: Item) -> bool:
    event = _without_nulls(event)
    if _by_user(event) or any(step.get(key) != event.get(key) for key in ("author", *METADATA)):
        return False
    if "content" in step:
        return bool(step["content"] == event.get("content"))
    kept_without_content = event.keys() & {"grounding_metadata", "usage_metadata"}
    return _is_final_response(event, turn) or ("content" not in event and bool(kept_without_content))


def _is_final_response(event: Item, turn: Item) -> bool:
    return _is_final(event) and _without_nulls(event["content"]) == turn.get("final_response")


def _is_given_whole(piece: Item, later: list[Item]) -> bool:
    whole = [event for event in later if not event.get("partial") and _parts(event)]
    return any(event.get("author") == piece.get("author") for event in whole)


def _is_final(event: Item) -> bool:
    """ADK's `Event.is_final_response`, for an agent's event with content."""
    parts = _parts(event)
    if _by_user(event) or not parts:
        return False
    if (event.get("actions") or {}).get("skip_summarization") or event.get("long_running_tool_ids"):
        return True
    if event.get("partial") or any(part.get("function_call") for part in parts):
        return False
    answers_tool = any(part.get("function_response") for part in parts)
    return bool(event.get("error_code")) or not (answers_tool or parts[-1].get("code_execution_result"))


def _says(event: Item) -> bool:
    return any(part.get("text") for part in _parts(event))


def _says_aloud(event: Item) -> bool:
    return any(part.get("text") and not part.get("thought") for part in _parts(event))


def _by_user(event: Item) -> bool:
    return (event.get("author") or "agent").lower() == "user"


def _parts(event: Item) -> list[Item]:
    return (event.get("content") or {}).get("parts") or []


def _spoken(event: Item) -> Item:
    """A live event with its finished transcription as content."""
    if event.get("content") is None and not event.get("partial"):
        for key, role in (("input_transcription", "user"), ("output_transcription", "model")):
            text = (event.get(key) or {}).get("text")
            if text:
                return {**event, "content": {"parts": [{"text": text}], "role": role}}
    return event


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
