"""Rules about what judges found (AE301 to AE306)."""

from __future__ import annotations

from collections.abc import Iterator

from agent_eval.diagnose.base import Clue, Kind, Level, Rule
from agent_eval.diagnose.evidence import Evidence
from agent_eval.diagnose.wording import count, quoted
from agent_eval.schema.result import RubricScore, StoppedBy

UNSEEN = "the judge was not shown: "
"""How a warning begins that names media which the judge could not be shown."""


def failed_rubrics(evidence: Evidence) -> list[tuple[int | None, RubricScore]]:
    """The rubrics that a judge said no to, with the turn if there is one."""
    found: list[tuple[int | None, RubricScore]] = [
        (number, score)
        for number, row in evidence.failed_rows
        for score in row.rubric_scores or ()
        if score.score is not None and score.score < 1
    ]
    whole = (evidence.metric.rubric_scores if evidence.metric else None) or []
    return found or [(None, score) for score in whole if score.score is not None and score.score < 1]


def unseen_media(evidence: Evidence) -> Iterator[Clue]:
    """Images and files that the judge could not be shown."""
    for warning in evidence.metric.warnings if evidence.metric else ():
        if warning.startswith(UNSEEN):
            yield Clue(
                f"the judge was not shown {warning.removeprefix(UNSEEN)}, which is part of the conversation",
                "name a judge that takes such media (`judge_model_options.judge_model`), such as a Gemini "
                "model",
                Level.WHOLE,
            )


def rubric(evidence: Evidence) -> Iterator[Clue]:
    """Rubrics that do not hold."""
    texts = _rubric_texts(evidence)
    for number, score in failed_rubrics(evidence):
        text = texts.get(score.rubric_id)
        what = f"rubric `{score.rubric_id}`" + (f" ({quoted(text, 80)})" if text else "")
        why = f": {quoted(score.rationale)}" if score.rationale else ""
        yield Clue(
            f"{what} does not hold{why}",
            "if the judge is right, say in the instruction what the rubric asks for; if it is not, word the "
            "rubric so that it can be answered with yes or no from what the judge sees",
            Level.PART,
            number,
            subject=score.rubric_id,
        )


def _rubric_texts(evidence: Evidence) -> dict[str, str]:
    """What the rubrics ask for, by their ids: those of the criterion and of the turns."""
    listed = evidence.criterion.get("rubrics") or []
    texts = {
        str(one.get("rubric_id")): str((one.get("rubric_content") or {}).get("text_property") or "")
        for one in listed
        if isinstance(one, dict)
    }
    for turn in evidence.run.record.expected or ():
        for given in turn.rubrics or ():
            texts[given.rubric_id] = given.rubric_content.text_property or ""
    return texts


def unsupported(evidence: Evidence) -> Iterator[Clue]:
    """Sentences that nothing in the context supports."""
    if evidence.name != "hallucinations_v1":
        return
    for number, row in evidence.failed_rows:
        if row.rationale:
            yield Clue(
                f"the judge found sentences without support: {quoted(row.rationale)}",
                "tell the agent to say only what its tools and instructions have; if the judge missed "
                "something, see in the journal whether it was in the context",
                Level.PART,
                number,
            )


def off_script(evidence: Evidence) -> Iterator[Clue]:
    """Turns of a simulated user that do not keep to the scenario."""
    if evidence.name != "per_turn_user_simulator_quality_v1":
        return
    for number, row in evidence.failed_rows:
        said = evidence.run.turns[number - 1].asked if number <= len(evidence.run.turns) else ""
        why = f": {quoted(row.rationale)}" if row.rationale else ""
        yield Clue(
            f"the simulated user did not keep to the scenario with {quoted(said, 60)}{why}",
            "this is no fault of the agent: write the plan in more detail, or take a stronger model in "
            "`user_simulator_config`",
            Level.WHOLE,
            number,
        )


def judged_wrong(evidence: Evidence) -> Iterator[Clue]:
    """What the judge said, where nothing else is known."""
    told = False
    for number, row in evidence.failed_rows:
        if row.rationale and not row.rubric_scores:
            told = True
            yield Clue(
                f"the judge found: {quoted(row.rationale)}",
                "see whether the judge is right; if it is not, its model, more samples (`num_samples`) or "
                "the expected answer may be",
                Level.ASIDE,
                number,
            )
    metric = evidence.metric
    if told or metric is None or failed_rubrics(evidence):
        return
    yield Clue(
        f"the judge gave {metric.score}, and {metric.threshold} is needed; it did not say why",
        "see the turns with `--print_detailed_results`, and ask the same judge again with more samples "
        "(`num_samples`)",
        Level.REST,
    )


_ENDS = {
    StoppedBy.TURN_LIMIT: (
        "the conversation was ended by `max_allowed_invocations` after {turns}, before the simulated user "
        "said that it was over",
        "raise `max_allowed_invocations` in `user_simulator_config`, or see why the agent needs so many "
        "turns",
    ),
    StoppedBy.NO_TURN_FITS: (
        "the scripted user had nothing to say to the agent's last answer after {turns}",
        "give the script a turn that fits what the agent said, or one without a condition",
    ),
}


def ended_early(evidence: Evidence) -> Iterator[Clue]:
    """A conversation with a simulated user that did not come to its end."""
    end = evidence.run.record.stopped_by
    if end in _ENDS:
        seen, change = _ENDS[end]
        yield Clue(seen.format(turns=count(len(evidence.run.turns), "turn")), change)


JUDGED = frozenset({Kind.MEANING, Kind.JUDGED})

RULES = (
    Rule("AE301", JUDGED | {Kind.OTHER}, rubric),
    Rule("AE303", JUDGED | {Kind.UNSCORED}, unseen_media),
    Rule("AE304", JUDGED, unsupported),
    Rule("AE305", JUDGED, off_script),
    Rule("AE306", JUDGED, judged_wrong),
    Rule("AE307", JUDGED | {Kind.OTHER, Kind.TOOL_CHECK, Kind.STATE}, ended_early),
)
