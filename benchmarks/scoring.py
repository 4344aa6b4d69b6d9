"""How fast stored invocations are scored: cases per second, against ADK's evaluators on the same data.

Each side scores in a process of its own and times only the scoring: the invocations are read before.
`agent-eval grade` is timed as a whole process, from a journal to a new journal and summary.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from timeit import default_timer
from typing import Any

from measure import Command, Samples, adk_python, arguments, interleaved, print_table, print_target, script

METRICS = ("tool_trajectory_avg_score", "response_match_score")
ROOTS = ("order", "ship", "refund", "cancel", "deliver", "track", "return", "book", "plan", "warm", "travel")
STARTS = ("", "re", "un", "pre", "over", "out", "under", "inter", "mis", "sub", "super", "trans")
ENDINGS = ("", "s", "ed", "ing", "er", "ers", "able", "ation", "ational", "ful", "fulness", "ment", "ize")
ACCENTED = ("café", "crème", "déjà", "fiancée", "naïve", "über", "señor", "touché")
"""So that one text in ten is not ASCII."""
VOCABULARY = [start + root + ending for root in ROOTS for start in STARTS for ending in ENDINGS] + [*ACCENTED]

Document = dict[str, Any]
Score = Callable[[Any, Any], float | None]


def pairs(count: int, seed: int = 7) -> list[tuple[Document, Document]]:
    """Actual and expected turns as JSON; about half differ in text, and about half in tool calls."""
    draw = random.Random(seed)
    made = []
    for _ in range(count):
        wanted = _words(draw, draw.randint(5, 60))
        said = _changed(draw, wanted) if draw.random() < 0.5 else wanted
        calls = [_call(draw) for _ in range(draw.randint(1, 3))]
        called = [_call(draw), *calls[1:]] if draw.random() < 0.5 else calls
        events = [
            {"author": "agent", "content": {"role": "model", "parts": [{"function_call": c}]}} for c in called
        ]
        made.append(
            (_turn(said, {"invocation_events": events}), _turn(wanted, {"tool_uses": calls})),
        )
    return made


def _words(draw: random.Random, count: int) -> list[str]:
    return draw.choices(VOCABULARY, k=count)


def _changed(draw: random.Random, words: list[str]) -> list[str]:
    """Some words replaced, the rest in another order."""
    kept = draw.sample(words, draw.randint(0, len(words)))
    return kept + _words(draw, draw.randint(1, 10))


def _call(draw: random.Random) -> Document:
    args = {"order_id": draw.randint(1, 9), "options": {"fast": draw.random() < 0.5, "note": _words(draw, 2)}}
    return {"name": draw.choice(["look_up", "refund", "cancel"]), "args": args}


def _turn(words: list[str], steps: Document) -> Document:
    text = f"{' '.join(words).capitalize()}."
    return {
        "invocation_id": "turn",
        "user_content": {"role": "user", "parts": [{"text": "What about my order?"}]},
        "final_response": {"role": "model", "parts": [{"text": text}]},
        "intermediate_data": steps,
    }


def ours() -> tuple[Any, dict[str, Score]]:
    """The invocation model and the evaluators of agent-eval."""
    from agent_eval.metrics.base import EvalMetric
    from agent_eval.metrics.response_match import ResponseMatchEvaluator
    from agent_eval.metrics.trajectory import TrajectoryEvaluator
    from agent_eval.schema.trace import Invocation

    trajectory, response = (EvalMetric(metric_name=name, threshold=0.5) for name in METRICS)
    evaluators = [TrajectoryEvaluator(trajectory), ResponseMatchEvaluator(response)]
    return Invocation, dict(zip(METRICS, map(_scored_by, evaluators), strict=True))


def adks() -> tuple[Any, dict[str, Score]]:
    """Those of ADK."""
    from google.adk.evaluation.eval_case import Invocation
    from google.adk.evaluation.eval_metrics import EvalMetric
    from google.adk.evaluation.final_response_match_v1 import RougeEvaluator
    from google.adk.evaluation.trajectory_evaluator import TrajectoryEvaluator

    trajectory, response = (EvalMetric(metric_name=name, threshold=0.5) for name in METRICS)
    evaluators = [TrajectoryEvaluator(eval_metric=trajectory), RougeEvaluator(response)]
    return Invocation, dict(zip(METRICS, map(_scored_by, evaluators), strict=True))


def _scored_by(evaluator: Any) -> Score:
    return lambda actual, expected: evaluator.evaluate_invocations([actual], [expected]).overall_score


WORKERS = {"agent-eval": ours, "adk": adks}


def work(side: str, file: Path) -> None:
    """Scores the pairs in a file; prints seconds and scores of each metric."""
    invocation, metrics = WORKERS[side]()
    turns = [tuple(map(invocation.model_validate, pair)) for pair in json.loads(file.read_bytes())]
    found = {}
    for name, score in metrics.items():
        started = default_timer()
        scores = [score(actual, expected) for actual, expected in turns]
        found[name] = {"seconds": default_timer() - started, "scores": scores}
    print(json.dumps(found))


def compare(pythons: dict[str, str], file: Path, rounds: int) -> dict[str, list[Document]]:
    """What the workers found, round by round, in turn."""
    found: dict[str, list[Document]] = {side: [] for side in pythons}
    for _ in range(rounds):
        for side, python in pythons.items():
            argv = [python, __file__, "--worker", side, "--file", str(file)]
            done = subprocess.run(argv, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"the {side} worker exited {done.returncode}\n{done.stderr}")
            found[side].append(json.loads(done.stdout))
    return found


def stored_result(made: list[tuple[Document, Document]], folder: Path) -> Path:
    """The pairs as a result: each is the one run of a case."""
    from agent_eval.recompute import result_of_records
    from agent_eval.schema.result import RunRecord
    from agent_eval.store.journal import SUFFIX, Journal
    from agent_eval.store.summary import write_summary

    records = [
        RunRecord.model_validate(
            {
                "eval_set_id": "pairs",
                "eval_id": f"case_{number}",
                "run_index": 0,
                "seed": 0,
                "started": "2026-01-31T09:30:00.000Z",
                "seconds": 1.0,
                "invocations": [actual],
                "expected": [{key: wanted[key] for key in ("final_response", "intermediate_data")}],
            }
        )
        for number, (actual, wanted) in enumerate(made)
    ]
    with Journal(folder / f"stored{SUFFIX}") as journal:
        for record in records:
            journal.append(record)
    result = result_of_records(records, "stored")
    assert result is not None
    path = folder / "stored.json"
    write_summary(result.model_copy(update={"stopped": None}), path)
    return path


def graded(count: int, folder: Path, rounds: int) -> Samples:
    """What `agent-eval grade` of so many stored runs takes."""
    result = stored_result(pairs(count), folder)
    config = folder / "config.json"
    config.write_text(json.dumps({"criteria": dict.fromkeys(METRICS, 0.0)}))
    argv = [script(sys.executable, "agent-eval"), "grade", str(result), "--config", str(config), "--quiet"]
    return interleaved([Command("grade", argv, folder)], rounds)["grade"]


def seconds(rounds: list[Document], *metrics: str) -> float:
    """The median round's seconds in these metrics."""
    return float(median(sum(found[metric]["seconds"] for metric in metrics) for found in rounds))


def compared(left: Document, right: Document) -> int:
    """How many scores were compared; all of them are equal."""
    count = 0
    for metric in METRICS:
        both = zip(left[metric]["scores"], right[metric]["scores"], strict=True)
        for number, (ours, theirs) in enumerate(both):
            assert abs(ours - theirs) < 1e-9, f"{metric} of pair {number}: {ours} here, {theirs} in ADK"
            count += 1
    return count


def main() -> None:
    parser = arguments(__doc__, rounds=5)
    parser.add_argument("--pairs", type=int, default=10_000, help="(default: %(default)s)")
    parser.add_argument("--worker", choices=WORKERS, help="score --file and print what came out")
    parser.add_argument("--file", type=Path)
    options = parser.parse_args()
    if options.worker:
        work(options.worker, options.file)
        return
    adk = adk_python(options.adk)
    pythons = {"agent-eval": sys.executable} | ({"adk": adk} if adk else {})
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "pairs.json"
        file.write_text(json.dumps(pairs(options.pairs)))
        found = compare(pythons, file, options.rounds)
        whole = graded(options.pairs, Path(name), options.rounds)
    rows = [
        [", ".join(metrics), *(f"{options.pairs / seconds(found[side], *metrics):.0f}" for side in pythons)]
        for metrics in ((METRICS[0],), (METRICS[1],), METRICS)
    ]
    rows.append(["agent-eval grade, the whole process", f"{options.pairs / whole.median:.0f}"])
    if adk:
        rows[-1].append("-")
    print_table(["cases a second", *pythons], rows)
    print(f"grade of {options.pairs} runs: {whole.median:.2f} s, peak {whole.memory:.0f} MB\n")
    if adk:
        print(f"{compared(found['agent-eval'][0], found['adk'][0])} scores compared, all equal\n")
        ratio = seconds(found["adk"], *METRICS) / seconds(found["agent-eval"], *METRICS)
        print_target("both metrics, agent-eval / ADK", ratio, 20.0, "x", at_least=True)
        ratio = seconds(found["adk"], *METRICS) / whole.median
        print_target("the whole of grade / ADK's evaluators alone", ratio, 1.0, "x", at_least=True)


if __name__ == "__main__":
    main()
