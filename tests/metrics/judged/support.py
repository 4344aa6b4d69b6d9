"""Runs told in short, judged by a model that follows a script."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_eval.judge.base import ModelError, Reply, Request
from agent_eval.judge.judge import Judge
from agent_eval.judge.python import PythonModel
from agent_eval.metrics.configured import configured_metrics
from agent_eval.metrics.judged.base import JudgedEvaluator
from agent_eval.metrics.scoring import Scorer
from agent_eval.schema.config import EvalConfig, JudgeModelOptions
from agent_eval.schema.evalset import EvalCase
from agent_eval.schema.result import MetricResult
from agent_eval.schema.trace import Invocation

Turn = dict[str, Any]
Said = str | Reply | ModelError
Script = Said | Sequence[Said] | Callable[[Request], Said]
"""The same answer always, one after the other (the last is repeated), or by what is asked."""

VALID = '{"reasoning": "same", "verdict": "valid"}'
INVALID = '{"reasoning": "other", "verdict": "invalid"}'
UNREADABLE = "I cannot judge this."


def turn(user: str | list[Any] = "hi", answer: str | list[Any] | None = None, **fields: Any) -> Turn:
    """A turn by its messages (a text, or parts) and the other fields of an invocation."""
    return {
        "user_content": message("user", user),
        "final_response": None if answer is None else message("model", answer),
        **fields,
    }


def message(role: str, said: str | list[Any]) -> dict[str, Any]:
    return {"role": role, "parts": [{"text": said}] if isinstance(said, str) else said}


def events(*contents: list[Any] | str, author: str = "bot") -> dict[str, Any]:
    """Steps, each by its parts."""
    return {
        "invocation_events": [
            {"author": author, "content": message("model", content)} for content in contents
        ]
    }


def call(name: str, **args: Any) -> Turn:
    return {"function_call": {"id": f"id of {name}", "name": name, "args": args}}


def returned(name: str, response: Any) -> Turn:
    return {"function_response": {"id": f"id of {name}", "name": name, "response": response}}


def image(mime_type: str = "image/png") -> Turn:
    return {"inline_data": {"mime_type": mime_type, "data": "cG5n"}}


def rubric(rubric_id: str, text: str = "It is so.", kind: str | None = None) -> dict[str, Any]:
    return {"rubric_id": rubric_id, "rubric_content": {"text_property": text}, "type": kind}


def verdicts(**said: str) -> str:
    """An answer with a verdict on each rubric."""
    return json.dumps(
        {"verdicts": {name: {"rationale": f"about {name}", "verdict": word} for name, word in said.items()}}
    )


@dataclass
class Judged:
    """What came of a run, and what the judge was asked."""

    result: MetricResult
    requests: list[Request]

    @property
    def asked(self) -> int:
        """How often."""
        return len(self.requests)

    @property
    def rows(self) -> list[float | None]:
        """Each turn's score."""
        return [row.score for row in self.result.per_invocation]


@dataclass
class ScriptedJudges:
    """Judges that follow a script, and keep what they are asked."""

    script: Script
    requests: list[Request] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0

    def judge(self, options: JudgeModelOptions) -> Judge:
        return Judge(PythonModel("python/tests:scripted", self.reply), options)

    async def reply(self, request: Request) -> Reply:
        self.requests.append(request)
        said = self._said(request, len(self.requests) - 1)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        if isinstance(said, ModelError):
            raise said
        return said if isinstance(said, Reply) else Reply(said)

    def _said(self, request: Request, number: int) -> Said:
        if callable(self.script):
            return self.script(request)
        if isinstance(self.script, str | Reply | ModelError):
            return self.script
        return self.script[min(number, len(self.script) - 1)]


def judged(
    name: str,
    turns: Sequence[Turn],
    script: Script = VALID,
    *,
    expected: Sequence[Turn] | None = None,
    scenario: dict[str, Any] | None = None,
    threshold: float = 0.5,
    samples: int = 1,
    parallelism: int = 1,
    rubrics: Sequence[dict[str, Any]] | None = None,
    case_rubrics: Sequence[dict[str, Any]] | None = None,
    **criterion: Any,
) -> Judged:
    """Scores a run as the pipeline does, by a metric as configured."""
    judges = ScriptedJudges(script)
    scorer = Scorer([metric_of(name, judges, threshold, samples, parallelism, rubrics, **criterion)])
    case = case_of(turns if expected is None else expected, scenario, case_rubrics)
    (result,) = asyncio.run(scorer.score(case, invocations(turns), {}))
    return Judged(result, judges.requests)


def metric_of(
    name: str,
    judges: ScriptedJudges | None,
    threshold: float = 0.5,
    samples: int = 1,
    parallelism: int = 1,
    rubrics: Sequence[dict[str, Any]] | None = None,
    **criterion: Any,
) -> Any:
    given = {
        "threshold": threshold,
        "judge_model_options": {"num_samples": samples, "parallelism_limit": parallelism},
        **({"rubrics": list(rubrics)} if rubrics is not None else {}),
        **criterion,
    }
    config = EvalConfig.model_validate({"criteria": {name: given}})
    return next(metric for metric in configured_metrics(config, judges=judges) if metric.gates)


def evaluator_of(name: str, **options: Any) -> JudgedEvaluator:
    """The evaluator of a metric as configured."""
    evaluator = metric_of(name, ScriptedJudges(VALID), **options).build()
    assert isinstance(evaluator, JudgedEvaluator)
    return evaluator


def case_of(
    turns: Sequence[Turn] | None,
    scenario: dict[str, Any] | None = None,
    rubrics: Sequence[dict[str, Any]] | None = None,
) -> EvalCase:
    played = {"conversation_scenario": scenario} if scenario else {"conversation": list(turns or [])}
    return EvalCase.model_validate({"eval_id": "case", "rubrics": rubrics, **played})


def invocations(turns: Sequence[Turn]) -> list[Invocation]:
    return [Invocation.model_validate(one) for one in turns]


def text_of(request: Request) -> str:
    """All that the judge reads besides its instructions."""
    return "\n".join(
        part.text or "" for content in request.contents for part in content.parts or () if part.text
    )


FENCED = re.compile(r"<<<(?P<code>[0-9a-f]{12})\n(?P<text>.*?)\n(?P=code)>>>", re.DOTALL)


def evidence_of(request: Request) -> list[str]:
    """What stands between the marks."""
    return [match["text"] for match in FENCED.finditer(text_of(request))]


def outside_of(request: Request) -> str:
    """All that speaks to the judge as we do: instructions, headings, closing."""
    rest = FENCED.sub("<evidence>", text_of(request))
    code = code_of(request)
    return f"{request.system}\n{rest}".replace(code, "<code>") if code else f"{request.system}\n{rest}"


def code_of(request: Request) -> str:
    found = FENCED.search(text_of(request))
    return found["code"] if found else ""
