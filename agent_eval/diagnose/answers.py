"""Rules about answers that are not the expected ones (AE201 to AE213, AE218)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from agent_eval.diagnose.base import Clue, Kind, Level, Rule
from agent_eval.diagnose.evidence import Evidence, Run, Turn
from agent_eval.diagnose.grounds import Grounds, follows_from, grounds_of, lacking, shared, tool_grounds_of
from agent_eval.diagnose.wording import cut, listed, quoted
from agent_eval.diagnose.words import language, negations, overlap, without_form, words
from agent_eval.schema.trace import INTERRUPTED, EvalStatus

MEANING_METRIC = "final_response_match_v2"

_MUCH = 0.9
"""A share of words that is nearly all."""
_LONGER = 1.3
"""How many times as long a text is that says more."""


@lru_cache(maxsize=2)
def _grounds(run: Run) -> Grounds:
    return grounds_of(run)


@lru_cache(maxsize=2)
def _tool_grounds(run: Run) -> Grounds:
    return tool_grounds_of(run)


def _comparable(evidence: Evidence) -> Iterator[Turn]:
    """The failed turns that have both an answer and an expected one."""
    return (turn for turn in evidence.failed_turns if turn.answer.strip() and turn.expected_answer.strip())


def no_reference(evidence: Evidence) -> Iterator[Clue]:
    """A turn that expects no text."""
    for turn in evidence.failed_turns:
        if turn.expected is not None and not turn.expected_answer.strip() and turn.answer.strip():
            yield Clue(
                f"the case has no `final_response` to compare with, and the agent answered "
                f"{quoted(turn.answer, 80)}",
                f"write the expected answer into the turn's `final_response`, or take `{evidence.name}` out "
                "of the criteria of this eval set",
                Level.WHOLE,
                turn.number,
            )


def no_answer(evidence: Evidence) -> Iterator[Clue]:
    """A turn without a final text."""
    for turn in evidence.failed_turns:
        if turn.answer.strip():
            continue
        called = [one.name or "" for one in turn.calls]
        after = f"; its last step was the call of `{called[-1]}`" if called else ""
        yield Clue(
            f"the agent gave no final text{after}",
            "let the agent sum up what its tools returned (no `skip_summarization`), and see the turn's "
            "events for an empty answer of the model",
            Level.WHOLE,
            turn.number,
        )


def incident(evidence: Evidence) -> Iterator[Clue]:
    """A turn that had an error on the way, or whose answer was cut off."""
    for turn in evidence.failed_turns:
        found = turn.actual.incidents
        if not found:
            continue
        others = f", and {len(found) - 1} more" if len(found) > 1 else ""
        last = found[-1]
        answer = f"the answer is {quoted(turn.answer, 60)}" if turn.answer.strip() else "there is no answer"
        cut_answer = evidence.kind in TEXTS and last.step >= len(turn.steps) - 1
        yield Clue(
            f"`{cut(last.author, 60)}` reported {cut(last.told, 120)}{others}, and {answer}",
            _REMEDIES.get(last.code, "see the turn's steps in `--print_detailed_results` or the page"),
            Level.WHOLE if cut_answer else Level.PART,
            turn.number,
        )


_REMEDIES = {
    "MAX_TOKENS": "raise `max_output_tokens`, which thinking uses up as well, or ask for shorter answers",
    "SAFETY": "see the model's `safety_settings`, and whether the case should expect a refusal",
    INTERRUPTED: "the answer was broken off: expect only what was said, or do not interrupt it",
}


def only_form(evidence: Evidence) -> Iterator[Clue]:
    """Texts that are the same but for their form."""
    for turn in _comparable(evidence):
        given, wanted = turn.answer, turn.expected_answer
        if given == wanted or without_form(given) != without_form(wanted):
            continue
        yield Clue(
            f"the answer {quoted(given, 60)} differs from {quoted(wanted, 60)} only in case, punctuation, "
            "spaces or markup",
            "write the expected answer in the form that the agent uses, or say in the instruction which form "
            "it has to use (no Markdown, say)",
            Level.WHOLE,
            turn.number,
        )


def other_language(evidence: Evidence) -> Iterator[Clue]:
    """An answer in another language."""
    for turn in _comparable(evidence):
        given, wanted = language(turn.answer), language(turn.expected_answer)
        if not given or not wanted or given == wanted:
            continue
        yield Clue(
            f"the answer is in {given} and the expected one in {wanted}: {quoted(turn.answer, 60)}",
            "say in the instruction which language to answer in (that of the user, say), or write the "
            "expected answer in the other one",
            Level.WHOLE,
            turn.number,
        )


_END = 300
"""So many characters at the end of an answer are looked at for a question."""
_QUESTION = re.compile(r"[?？؟]\s*[\"”’)*_]*\s*$")
_OFFER = re.compile(
    r"\b(anything else|further|help you|assist|let me know|is there)\b[^?]*\?\s*$", re.IGNORECASE
)


def asks_back(evidence: Evidence) -> Iterator[Clue]:
    """An answer that is a question, where none is expected."""
    for turn in _comparable(evidence):
        given, wanted = (text.strip()[-_END:] for text in (turn.answer, turn.expected_answer))
        if not _QUESTION.search(given) or _QUESTION.search(wanted) or _OFFER.search(given):
            continue
        if 2 * overlap(turn.answer, turn.expected_answer) >= len(words(turn.expected_answer)):
            continue  # it answered, and then asked
        question = re.split(r"(?<=[.!。])\s+", given)[-1]
        yield Clue(
            f"the agent asked back instead of answering: {quoted(question, 100)}",
            "give the agent what it asks for, in the user's message or in `session_input.state`; or say in "
            "the instruction what to assume",
            Level.PART,
            turn.number,
        )


_DECLINE = re.compile(
    r"\b(?:I(?:'m| am|’m) (?:sorry|unable|not able)|unfortunately,? I|apologi[sz]e"
    r"|I (?:can(?:not|'t|’t)|could(?: not|n't|n’t))"
    r"|I do(?: not|n't|n’t) (?:know|have (?:access|information|the ability|a tool))"
    r"|unable to (?:help|assist|find|access|process)|leider kann ich|lo siento|je ne peux pas)\b",
    re.IGNORECASE,
)


def declines(evidence: Evidence) -> Iterator[Clue]:
    """An answer that says that the agent cannot help, where one is expected that helps."""
    for turn in _comparable(evidence):
        said = _DECLINE.search(turn.answer)
        if not said or _DECLINE.search(turn.expected_answer):
            continue
        yield Clue(
            f"the agent declined: {quoted(turn.answer[said.start() :], 100)}",
            "see whether the agent has the tool and the instruction that the question needs; a refusal of "
            "the model's own may come from its safety settings",
            Level.PART,
            turn.number,
        )


def ungrounded(evidence: Evidence) -> Iterator[Clue]:
    """Numbers and names in an answer that come from nowhere."""
    if not evidence.run.tool_output:
        return
    grounds = _grounds(evidence.run)
    for turn in evidence.failed_turns:
        invented = [
            fact
            for fact in lacking(turn.answer, turn.expected_answer)
            if not _is_grounded(fact, grounds) and not follows_from(fact, f"{turn.asked}\n{turn.answer}")
        ]
        if not invented:
            continue
        yield Clue(
            f"the answer says {listed([quoted(fact) for fact in invented])}, which no tool returned and "
            "nobody said",
            "tell the agent to say only what its tools return; `hallucinations_v1` among the criteria checks "
            "each sentence for that",
            Level.PART,
            turn.number,
        )


def _is_grounded(fact: str, grounds: Grounds) -> bool:
    is_number = not any(char.isalpha() for char in fact)
    return grounds.has_name(fact) or (is_number and grounds.has_number(fact))


def stale_reference(evidence: Evidence) -> Iterator[Clue]:
    """An expected value that no tool returns any more, where the answer has what they do return."""
    if not evidence.run.tool_output:
        return
    grounds = _tool_grounds(evidence.run)
    for turn in _comparable(evidence):
        gone, said = _differing(turn)
        if not _is_stale(gone, said, grounds):
            continue
        yield Clue(
            f"the answer says {listed([quoted(fact) for fact in said])} as the tools do, and the expected "
            f"one {listed([quoted(fact) for fact in gone])}, which no tool returned",
            "renew the expected answer; where the data changes from day to day, let `tool_mocks` answer in "
            "the tool's place",
            Level.PART,
            turn.number,
        )


def _differing(turn: Turn) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The numbers and names that only the expected answer has, and those that only the answer has."""
    return lacking(turn.expected_answer, turn.answer), lacking(turn.answer, turn.expected_answer)


def _is_stale(gone: Sequence[str], said: Sequence[str], grounds: Grounds) -> bool:
    """Whether tools return what is said, and nothing of what is expected in its place."""
    if not gone or not said or any(grounds.states(fact) for fact in gone):
        return False
    return all(_is_grounded(fact, grounds) for fact in said)


def says_less(evidence: Evidence) -> Iterator[Clue]:
    """An answer that is a part of the expected one."""
    for turn in _comparable(evidence):
        given, wanted, common = _sizes(turn)
        if common < _MUCH * given or wanted < _LONGER * given:
            continue
        gone = lacking(turn.expected_answer, turn.answer)
        without = f", without {listed([quoted(fact) for fact in gone])}" if gone else ""
        yield Clue(
            f"the answer has {common} of the {wanted} expected words and hardly any other{without}: "
            f"{quoted(turn.answer, 60)}",
            "say in the instruction what an answer has to contain; or leave out of the expected answer what "
            "is not needed",
            Level.PART,
            turn.number,
        )


def other_facts(evidence: Evidence) -> Iterator[Clue]:
    """An answer without the numbers and names of the expected one."""
    grounds = _tool_grounds(evidence.run)
    for turn in _comparable(evidence):
        gone, said = _differing(turn)
        if not gone or (evidence.run.tool_output and _is_stale(gone, said, grounds)):
            continue
        instead = f", and says {listed([quoted(fact) for fact in said])} instead" if said else ""
        returned = [fact for fact in gone if _is_grounded(fact, grounds)]
        change = "correct what the agent does with the question, or the expected answer"
        if returned:
            change = (
                f"a tool did return {listed([quoted(fact) for fact in returned])}: say in the instruction "
                "what of it the answer has to contain"
            )
        yield Clue(
            f"the answer lacks {listed([quoted(fact) for fact in gone])}, which the expected one "
            f"has{instead}",
            change,
            Level.PART,
            turn.number,
        )


def says_more(evidence: Evidence) -> Iterator[Clue]:
    """An answer that has the expected words, and many others."""
    for turn in _comparable(evidence):
        given, wanted, common = _sizes(turn)
        if common < _MUCH * wanted or given < _LONGER * wanted:
            continue
        yield Clue(
            f"the answer has {common} of the {wanted} expected words, but {given} words in all",
            "ask for short answers in the instruction; or check what has to be there with "
            f"`response_contains_v1`, or the meaning with `{MEANING_METRIC}`, for which length does not "
            "count",
            Level.PART,
            turn.number,
        )


def other_words(evidence: Evidence) -> Iterator[Clue]:
    """The same said in other words, as far as can be told."""
    judged = evidence.run.record.metric(MEANING_METRIC)
    if judged and judged.status is EvalStatus.FAILED:
        return
    agreed = judged is not None and judged.status is EvalStatus.PASSED
    for turn in _comparable(evidence):
        _, wanted, common = _sizes(turn)
        same = shared(turn.expected_answer, turn.answer)
        gone = lacking(turn.expected_answer, turn.answer)
        turned = (negations(turn.answer) > 0) != (negations(turn.expected_answer) > 0)
        if not agreed and (gone or turned or not same):
            continue
        why = (
            f"`{MEANING_METRIC}` finds that it means the same"
            if agreed
            else f"{listed([quoted(fact) for fact in same])} {'is' if len(same) == 1 else 'are'} in both"
        )
        yield Clue(
            f"only {common} of the {wanted} expected words are in the answer, though {why}",
            f"compare meanings instead of words: `{MEANING_METRIC}`; or lower the threshold, or check with "
            "`response_contains_v1` what has to be there",
            Level.PART,
            turn.number,
        )


def other_text(evidence: Evidence) -> Iterator[Clue]:
    """Another answer, of which nothing else can be said."""
    for turn in _comparable(evidence):
        given, wanted, common = _sizes(turn)
        yield Clue(
            f"{common} of the {wanted} expected words are among the {given} of the answer "
            f"{quoted(turn.answer, 80)}",
            "see whether the answer is right: if it is, compare meanings with "
            f"`{MEANING_METRIC}` or correct the expected answer; if not, begin with the agent's instruction",
            Level.REST,
            turn.number,
        )


def _sizes(turn: Turn) -> tuple[int, int, int]:
    """Words of the answer, of the expected one, and those that both have."""
    given, wanted = turn.answer, turn.expected_answer
    return len(words(given)), len(words(wanted)), overlap(given, wanted)


WORDS = frozenset({Kind.WORDS})
ANSWERS = WORDS | {Kind.MEANING}
TEXTS = ANSWERS | {Kind.TEXT_CHECK}

RULES = (
    Rule("AE201", ANSWERS, no_reference),
    Rule("AE218", TEXTS | {Kind.JUDGED, Kind.CALLS, Kind.TOOL_CHECK}, incident),
    Rule("AE202", TEXTS | {Kind.JUDGED}, no_answer),
    Rule("AE203", TEXTS | {Kind.OTHER}, only_form),
    Rule("AE204", TEXTS, other_language),
    Rule("AE205", ANSWERS, asks_back),
    Rule("AE206", TEXTS, declines),
    Rule("AE207", ANSWERS | {Kind.JUDGED}, ungrounded),
    Rule("AE208", ANSWERS, stale_reference),
    Rule("AE209", WORDS, says_less),
    Rule("AE210", ANSWERS, other_facts),
    Rule("AE211", WORDS, says_more),
    Rule("AE212", WORDS, other_words),
    Rule("AE213", WORDS, other_text),
)
