"""`hallucinations_v1`: which sentences of the agent's answers does its context support?"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence

from agent_eval.judge.answers import SUPPORT, read_labels
from agent_eval.judge.prompts import Exhibit, labels_form, request
from agent_eval.judge.vote import Finding, Ruling
from agent_eval.metrics.base import RunContext
from agent_eval.metrics.judged import evidence
from agent_eval.metrics.judged.base import JudgedEvaluator, Question, Row, Turn, expected_if_any
from agent_eval.metrics.judged.sentences import sentences_of
from agent_eval.schema.config import HallucinationsCriterion
from agent_eval.schema.trace import Invocation, InvocationEvents

INSTRUCTIONS = """\
You check an AI agent's words against what the agent had to go by. You see its context - instructions, \
tools, what the user said, tool calls and what they returned, sources - and then the sentences of what \
the agent said, numbered and in order. Label every sentence:

- `supported`: the context says it, or it follows from the context without anything added.
- `unsupported`: it claims something that the context does not show.
- `contradictory`: the context shows the contrary.
- `disputed`: the context has something for it and something against it.
- `not_applicable`: it claims nothing that could be checked - a greeting, a question, an offer, an \
opinion, a plan, a disclaimer, a mere heading.

Be strict: `supported`, `contradictory` and `disputed` need a passage of the context that shows it; name \
the passage in the rationale. Your own knowledge is no part of the context, unless it is trivial. What a \
tool returned counts only if the call was a sensible one and did not fail. What the agent itself said \
before supports nothing. A sentence that is a list, a table or code is supported only as a whole. Read \
each sentence in the light of those before it."""


class Hallucinations(JudgedEvaluator):
    """Share of sentences that are supported or claim nothing, the mean over turns.

    The sentences are cut by rules; each one's label is voted on, where more than one sample is
    asked for, and a tie is a no. With `evaluate_intermediate_nl_responses` what the agent said
    between its steps is checked as well, against what it knew then; a turn then has the mean over
    its texts. Turns in which nothing is said are left out.
    """

    criterion_type = HallucinationsCriterion
    nothing = "there is no sentence to check"

    def turns(self, run: RunContext) -> list[Turn]:
        """One question for each text with sentences in it."""
        pairs = expected_if_any(run)
        return [Turn(tuple(self._questions(run, number))) for number in range(len(pairs))]

    def _questions(self, run: RunContext, number: int) -> Iterator[Question]:
        turn = run.invocations[number]
        known = [
            *evidence.background([turn]),
            *evidence.conversation([*run.context, *run.invocations[:number]]),
            evidence.message("The user says", turn.user_content),
        ]
        criterion = self._criterion
        final = self.response(turn).text
        if isinstance(criterion, HallucinationsCriterion) and criterion.evaluate_intermediate_nl_responses:
            yield from self._on_the_way(turn, known)
            final = evidence.response(turn).text
        yield from self._question([*known, *evidence.steps(turn)], final)

    def _on_the_way(self, turn: Invocation, known: Sequence[Exhibit]) -> Iterator[Question]:
        """Each event's texts, against the events before it and the sources that came with it."""
        data = turn.intermediate_data
        events = data.invocation_events if isinstance(data, InvocationEvents) else []
        for index, event in enumerate(events):
            if event.content and event.content.text and event.content != turn.final_response:
                own = event.model_copy(update={"content": None})
                before = InvocationEvents(invocation_events=[*events[:index], own])
                steps = evidence.steps(turn.model_copy(update={"intermediate_data": before}))
                yield from self._question([*known, *steps], event.content.text)

    def _question(self, context: Sequence[Exhibit], text: str) -> Iterator[Question]:
        sentences = {str(number): said for number, said in enumerate(sentences_of(text), 1)}
        if sentences:
            numbered = [Exhibit(f"Sentence {number}", said) for number, said in sentences.items()]
            yield Question(
                request(INSTRUCTIONS, [*context, *numbered], labels_form(SUPPORT)),
                sentences,
                lambda answer: read_labels(answer, sentences, SUPPORT),
            )

    def row(self, turn: Turn, rulings: Sequence[Ruling]) -> Row:
        """The mean over the turn's texts, and how many sentences have each label."""
        reason = next((ruling.reason for ruling in rulings if ruling.reason), None)
        if reason is not None:
            return Row(unjudged=reason)
        findings = [finding for ruling in rulings for finding in ruling.findings.values()]
        counts = Counter(finding.label or "" for finding in findings)
        return Row(
            statistics.mean(_share(list(ruling.findings.values())) for ruling in rulings),
            rationale="\n".join(_complaints(turn, rulings)) or None,
            details={"sentences": float(len(findings)), **{label: float(n) for label, n in counts.items()}},
        )


def _share(findings: Sequence[Finding]) -> float:
    return statistics.mean(float(bool(finding.holds)) for finding in findings)


def _complaints(turn: Turn, rulings: Sequence[Ruling]) -> Iterator[str]:
    """The sentences that do not hold, and why."""
    for question, ruling in zip(turn.questions, rulings, strict=True):
        for name, sentence in question.asked.items():
            finding = ruling.findings[name]
            if not finding.holds:
                yield f'"{sentence}" is {finding.label}: {finding.rationale or "no reason given"}'
