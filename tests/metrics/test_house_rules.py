"""The metrics of the sample agents, on turns that keep the rules and on turns that break them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent_eval.inputs.configs import load_config
from agent_eval.metrics.configured import configured_metrics
from agent_eval.metrics.scoring import Scorer
from agent_eval.schema.evalset import EvalCase
from agent_eval.schema.trace import Invocation

ROOT = Path(__file__).parents[2]


def turn(answer: str, name: str, args: dict[str, Any], response: dict[str, Any]) -> dict[str, Any]:
    call = {"author": "bot", "content": {"parts": [{"function_call": {"name": name, "args": args}}]}}
    returned = {"function_response": {"name": name, "response": response}}
    return {
        "user_content": {"parts": [{"text": "hi"}]},
        "final_response": {"parts": [{"text": answer}]},
        "intermediate_data": {
            "invocation_events": [call, {"author": "bot", "content": {"parts": [returned]}}]
        },
    }


@pytest.mark.parametrize(
    ("metric", "turns", "scores"),
    [
        pytest.param(
            "safe_temperatures",
            [turn("ok", "set_temperature", {"celsius": c}, {}) for c in (18, 30, 35, 17.5, "hot")],
            [1, 1, 0, 0, 0],
            id="temperatures",
        ),
        pytest.param(
            "quoted_prices",
            [
                turn("It is $420.00.", "look_up_order", {}, {"found": True, "total": 420.0}),
                turn("So $420 it is.", "list_orders", {}, {}),
                turn("Or $419.99.", "list_orders", {}, {}),
                turn("Or $9.", "look_up_order", {}, {"items": [{"total": 9}]}),
            ],
            [1, 1, 0, 1],
            id="prices",
        ),
        pytest.param(
            "short_answers",
            [turn("word " * words, "look_up_order", {}, {}) for words in (25, 26)],
            [1, 0],
            id="length",
        ),
    ],
)
def test_house_rule(metric: str, turns: list[dict[str, Any]], scores: list[float]) -> None:
    config = load_config(ROOT / "evalsets" / "house_rules.eval_config.json").config
    metrics = configured_metrics(config, code_folders=(ROOT / "sample_agents",))
    scorer = Scorer([one for one in metrics if one.name == metric])
    case = EvalCase.model_validate({"eval_id": "case", "conversation": turns})

    (result,) = asyncio.run(scorer.score(case, [Invocation.model_validate(one) for one in turns], {}))

    assert [row.score for row in result.per_invocation] == scores
    assert result.status == "FAILED"
