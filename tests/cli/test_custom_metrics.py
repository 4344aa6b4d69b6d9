"""Metrics of the user's own, by the real command: every way in which one can go wrong says so."""

from __future__ import annotations

import re
from typing import Any

import pytest

from agent_eval.schema.result import MetricResult
from tests.cli_support import ECHO, Outcome, Project, case, custom, eval_set

GATES = """\
    import asyncio
    import time

    from agent_eval import EvalStatus, EvaluationResult, Evaluator, PerInvocationResult

    PASSED = EvalStatus.PASSED


    def raises(metric, actual, expected, scenario):
        return helper(actual)


    def helper(actual):
        raise RuntimeError("quota exceeded")


    def leaves_default(metric, actual, expected, scenario):
        rows = [PerInvocationResult(score=1.0, eval_status=PASSED) for _ in actual]
        return EvaluationResult(overall_score=1.0, per_invocation_results=rows)


    def nothing(metric, actual, expected, scenario):
        return EvaluationResult()


    def wrong_count(metric, actual, expected, scenario):
        rows = [PerInvocationResult(score=1.0, eval_status=PASSED)] * 3
        return EvaluationResult(overall_score=1.0, overall_eval_status=PASSED, per_invocation_results=rows)


    def wrong_type(metric, actual, expected, scenario):
        return {"overall_score": 1.0}


    async def forgets_await(metric, actual, expected, scenario):
        return wait_for_ever()


    def not_a_number(metric, actual, expected, scenario):
        return float("nan")


    def out_of_range(metric, actual, expected, scenario):
        return 1.5


    def reads_threshold(metric, actual, expected, scenario):
        return float(1.0 >= metric.threshold)


    def exits(metric, actual, expected, scenario):
        raise SystemExit(1)


    def hangs(metric, actual, expected, scenario):
        time.sleep(600)


    async def wait_for_ever():
        await asyncio.sleep(600)


    async def waits(metric, actual, expected, scenario):
        await wait_for_ever()


    async def blocks(metric, actual, expected, scenario):
        time.sleep(600)


    async def comes_after(metric, actual, expected, scenario):
        return 1.0


    class HangingClass(Evaluator):
        def evaluate_invocations(self, actual, expected=None, scenario=None):
            time.sleep(600)


    def changes_all(metric, actual, expected, scenario):
        actual[0].final_response.parts[0].text = "changed"
        expected.clear()
        metric.criterion.threshold = 99.0
        return 1.0


    def three(metric, actual, expected):
        return 1.0


    number = 0.5
    """

CAUSES = {
    "raises": r"RuntimeError: quota exceeded",
    "leaves_default": r"returned scores, but left overall_eval_status at NOT_EVALUATED",
    "nothing": r"the metric did not evaluate the run",
    "wrong_count": r"returned 3 per-invocation results for 1 turns",
    "wrong_type": r"returned dict, not an EvaluationResult or a number",
    "forgets_await": r"returned coroutine, not an EvaluationResult or a number",
    "not_a_number": r"returned the score nan, not a finite number",
    "out_of_range": r"returned the score 1\.5, outside its range of 0\.0 to 1\.0",
    "reads_threshold": r"TypeError: .* read eval_metric\.criterion\.threshold",
    "exits": r"SystemExit: 1",
    "hangs": r"took longer than 0\.5 s \(--metric_timeout\)",
    "waits": r"took longer than 0\.5 s \(--metric_timeout\)",
    "blocks": r"took longer than 0\.5 s \(--metric_timeout\)",
    "HangingClass": r"took longer than 0\.5 s \(--metric_timeout\)",
}
"""Metric -> why it is not evaluated."""

FINE = {"changes_all": 1.0, "comes_after": 1.0, "response_match_score": 1.0}
"""Metrics of the same run that nothing disturbs."""


def config() -> dict[str, Any]:
    made = custom("changes_all", *CAUSES, "comes_after", response_match_score=0.8)
    interval = {"min_value": 0.0, "max_value": 1.0}
    made["custom_metrics"]["out_of_range"]["metric_info"] = {
        "metric_name": "out_of_range",
        "metric_value_info": {"interval": interval},
    }
    return made


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("shop"))
    project.agent()
    project.write("gates.py", GATES)
    project.write("set.json", eval_set(case("hi", "hello there")))
    project.write("config.json", config())
    return project


@pytest.fixture(scope="module")
def evaluated(shop: Project) -> Outcome:
    """One run of all metrics that go wrong while they run, with two that do not."""
    details = ("--json", "--print_detailed_results", "--metric_timeout", "0.5")
    return shop.agent_eval("run", "bot", "set.json", "--config", "config.json", *details, COLUMNS="200")


@pytest.fixture(scope="module")
def recorded(shop: Project, evaluated: Outcome) -> dict[str, MetricResult]:
    (record,) = shop.records()
    return {metric.metric_name: metric for metric in record.metrics}


def test_case_is_not_evaluated_and_the_exit_code_says_so(evaluated: Outcome) -> None:
    assert evaluated.code == evaluated.document["exit_code"] == 3
    assert evaluated.document["cases"][0]["verdict"] == "NOT_EVALUATED"


@pytest.mark.parametrize("name", CAUSES)
def test_cause_is_in_table_and_json(evaluated: Outcome, name: str) -> None:
    metrics = {metric["metric_name"]: metric for metric in evaluated.document["cases"][0]["metrics"]}

    assert metrics[name]["status"] == "NOT_EVALUATED"
    assert re.search(CAUSES[name], metrics[name]["reason"])
    assert re.search(f"{name}: .*{CAUSES[name]}", re.sub(r"\s+", " ", evaluated.stderr))


@pytest.mark.parametrize(("name", "score"), FINE.items())
def test_other_metrics_still_count(recorded: dict[str, MetricResult], name: str, score: float) -> None:
    assert recorded[name].status == "PASSED"
    assert recorded[name].score == score


def test_what_a_metric_changes_is_not_in_the_record(shop: Project, recorded: dict[str, MetricResult]) -> None:
    (record,) = shop.records()

    assert record.invocations[0].final_response
    assert record.invocations[0].final_response.text == "hello there"
    assert recorded["changes_all"].threshold == 0.5


def test_traceback_is_in_the_record_and_among_the_details(
    evaluated: Outcome, recorded: dict[str, MetricResult]
) -> None:
    error = recorded["raises"].error

    assert error
    assert error.traceback
    for text in (error.traceback, evaluated.stderr):
        assert re.search(r'gates\.py", line \d+, in helper', text)
        assert 'raise RuntimeError("quota exceeded")' in text


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        pytest.param("gates.three", "cannot be called with four arguments", id="three arguments"),
        pytest.param("gates.number", "`gates.number` is float, not a function", id="not callable"),
        pytest.param("gates.raisez", "no `raisez` (did you mean `raises`?)", id="no such name"),
        pytest.param("gate.raises", "it is looked for beside the config", id="no such module"),
        pytest.param("broken.metric", "ZeroDivisionError: division by zero", id="module that raises"),
        pytest.param("raises", "`raises` is no dotted path (write `module.function`)", id="no dot"),
        pytest.param("adk_only.metric", "install google-adk", id="a part of ADK that is not stood in for"),
        pytest.param("classes.Abstract", "the metric cannot be set up: TypeError", id="abstract class"),
        pytest.param("classes.Fragile", "the metric cannot be set up: KeyError", id="constructor raises"),
    ],
)
def test_metric_that_cannot_be_used_is_an_error_before_any_agent_runs(
    project: Project, reference: str, told: str
) -> None:
    project.agent(
        "from pathlib import Path\n\n\ndef root_agent(message, session):\n    Path('asked').touch()\n"
    )
    project.write("gates.py", GATES)
    project.write("broken.py", "1 / 0\n")
    project.write("adk_only.py", "from google.adk.no_such_part import thing\n")
    project.write(
        "classes.py",
        """\
        from agent_eval import Evaluator


        class Abstract(Evaluator):
            pass


        class Fragile(Evaluator):
            def __init__(self, eval_metric):
                {}["key"]

            def evaluate_invocations(self, actual, expected=None, scenario=None):
                return 1.0
        """,
    )
    project.write("set.json", eval_set(case("hi")))
    own = {"mine": {"code_config": {"name": reference}}}
    project.write("config.json", {"criteria": {"mine": 0.5}, "custom_metrics": own})

    done = project.agent_eval("run", "bot", "set.json", "--config", "config.json")

    assert done.code == 2
    assert re.match(r"error: config\.json(:\d+)?: (custom_metrics\.mine|criteria\.mine)", done.stderr)
    assert told in done.stderr
    assert not (project.root / "asked").exists()


LENGTH = """\
    from pathlib import Path

    from pydantic import Field

    from agent_eval import EvalStatus, EvaluationResult, Evaluator
    from agent_eval.schema.config import BaseCriterion


    class LengthCriterion(BaseCriterion):
        max_words: int = Field(ge=1)


    def note(text):
        with Path("notes").open("a") as file:
            file.write(text)


    class Length(Evaluator):
        criterion_type = LengthCriterion

        def __init__(self, eval_metric):
            super().__init__(eval_metric)
            self.criterion = eval_metric.criterion
            note("built ")

        async def evaluate_invocations(self, actual, expected=None, scenario=None):
            words = max(len(turn.final_response.text.split()) for turn in actual)
            score = float(words <= self.criterion.max_words)
            status = EvalStatus.PASSED if score >= self.threshold else EvalStatus.FAILED
            return EvaluationResult(overall_score=score, overall_eval_status=status)

        async def aclose(self):
            note("closed ")


    def share(eval_metric, actual, expected, scenario):
        return 0.25 if actual[0].user_content.text == "one" else 0.75
    """


def length(criterion: dict[str, Any]) -> dict[str, Any]:
    return {
        "criteria": {"length": criterion, "share": 0.5},
        "custom_metrics": {
            "length": {"code_config": {"name": "lengths.Length"}},
            "share": {"code_config": {"name": "lengths.share"}},
        },
    }


def test_class_is_built_and_closed_once_an_evaluation_and_numbers_are_scores(project: Project) -> None:
    project.agent()
    project.write("lengths.py", LENGTH)
    project.write("set.json", eval_set(case("short", "one"), case("long", "one two three")))
    project.write("config.json", length({"threshold": 1.0, "max_words": 2}))

    done = project.agent_eval("run", "bot", "set.json", "--config", "config.json", "--num_runs", "2")

    assert done.code == 1
    assert (project.root / "notes").read_text() == "built closed "
    short, long = project.case("short")["metrics"], project.case("long")["metrics"]
    assert [metric["status"] for metric in (short["length"], short["share"])] == ["PASSED", "FAILED"]
    assert [metric["status"] for metric in (long["length"], long["share"])] == ["FAILED", "PASSED"]
    assert short["share"]["score"] == 0.25


@pytest.mark.parametrize(
    ("criterion", "told"),
    [
        pytest.param({"threshold": 1.0}, "criteria.length.max_words: required, but not there", id="missing"),
        pytest.param({"threshold": 1.0, "max_words": 0}, "greater than or equal to 1, got 0", id="too low"),
    ],
)
def test_criterion_is_checked_by_the_type_that_the_class_names(
    project: Project, criterion: dict[str, Any], told: str
) -> None:
    project.agent()
    project.write("lengths.py", LENGTH)
    project.write("set.json", eval_set(case("short", "one")))
    project.write("config.json", length(criterion))

    done = project.agent_eval("run", "bot", "set.json", "--config", "config.json")

    assert done.code == 2
    assert told in done.stderr
    assert not (project.root / "notes").exists()


PACKAGE = """\
    from agent_eval import EvalStatus, EvaluationResult, Evaluator
    from agent_eval.schema.config import MetricInfo, MetricValueInfo


    class Exclamations(Evaluator):
        "Counts exclamation marks: the fewer the better."

        def evaluate_invocations(self, actual, expected=None, scenario=None):
            score = float(sum(turn.final_response.text.count("!") for turn in actual))
            status = EvalStatus.PASSED if score <= self.threshold else EvalStatus.FAILED
            return EvaluationResult(overall_score=score, overall_eval_status=status)


    def register(registry):
        info = MetricInfo(
            metric_name="exclamations",
            description="Exclamation marks.",
            metric_value_info=MetricValueInfo(),
            better="lower",
        )
        registry.register_evaluator(info, Exclamations)
    """


def install(project: Project, value: str) -> str:
    """An installed package with an entry point; the path that Python finds it on."""
    project.write("site/calm_metrics.py", PACKAGE)
    project.write("site/calm_metrics-1.0.dist-info/METADATA", "Name: calm-metrics\nVersion: 1.0\n")
    project.write(
        "site/calm_metrics-1.0.dist-info/entry_points.txt", f"[agent_eval.metrics]\ncalm = {value}\n"
    )
    return str(project.root / "site")


def test_installed_package_adds_metrics(project: Project) -> None:
    path = install(project, "calm_metrics:register")
    project.agent()
    project.write("set.json", eval_set(case("calm", "hi"), case("loud", "hi!!")))
    project.write("config.json", {"criteria": {"exclamations": 1.0}})

    done = project.agent_eval("run", "bot", "set.json", "--config", "config.json", PYTHONPATH=path)
    listed = project.agent_eval("metrics", "--json", PYTHONPATH=path).document["metrics"]

    assert done.code == 1
    assert project.case("calm")["metrics"]["exclamations"]["status"] == "PASSED"
    assert project.case("loud")["metrics"]["exclamations"]["status"] == "FAILED"
    (metric,) = (metric for metric in listed if metric["metric_name"] == "exclamations")
    assert (metric["source"], metric["better"], metric["needs"]) == ("installed", "lower", [])


def test_installed_package_that_is_broken_is_named(project: Project) -> None:
    path = install(project, "calm_metrics:registr")

    done = project.agent_eval("metrics", PYTHONPATH=path)

    assert done.code == 2
    assert "entry point `calm = calm_metrics:registr`: AttributeError" in done.stderr


@pytest.mark.parametrize("module", ["agent.rules", "bot.rules", "rules"])
def test_metric_in_the_agents_package_is_found_by_each_of_its_names(project: Project, module: str) -> None:
    project.write("agents/bot/__init__.py", "from . import agent\n")
    project.write("agents/bot/agent.py", "def root_agent(message, session):\n    return message.text\n")
    project.write("agents/bot/rules.py", "def always(metric, actual, expected, scenario):\n    return 1.0\n")
    project.write("sets/set.json", eval_set(case("a")))
    project.write(
        "sets/config.json",
        {
            "criteria": {"always": 1.0},
            "custom_metrics": {"always": {"code_config": {"name": f"{module}.always"}}},
        },
    )

    done = project.agent_eval("run", "agents/bot", "sets/set.json", "--config", "sets/config.json")

    assert done.code == 0, done.stderr


def test_metrics_lists_all_with_range_direction_and_needs(project: Project) -> None:
    done = project.agent_eval("metrics")

    assert done.code == 0
    blocks = re.split(r"\n(?=\S)", done.stdout)
    told = {block.split()[0]: re.sub(r"\s+", " ", block) for block in blocks}
    assert told["tool_trajectory_avg_score"] == (
        "tool_trajectory_avg_score 0 to 1, higher is better Share of turns whose tool calls match the "
        "expected ones. needs: reference; options: match_type, ignore_args"
    )
    assert "1 to 5, higher is better" in told["response_evaluation_score"]
    assert "needs: reference, judge; " in told["final_response_match_v2"]
    assert "needs: judge, scenario; " in told["per_turn_user_simulator_quality_v1"]
    assert "any number, lower is better" in told["max_cost_v1"]
    assert "options: input_price, output_price" in told["max_cost_v1"]
    assert "informational" in told["token_usage_v1"]


ADK_CLASS = """\
    from google.adk.evaluation.eval_metrics import BaseCriterion, EvalStatus, MetricInfo, MetricValueInfo
    from google.adk.evaluation.evaluator import EvaluationResult, Evaluator, PerInvocationResult
    from google.adk.evaluation.metric_evaluator_registry import DEFAULT_METRIC_EVALUATOR_REGISTRY


    class WordsCriterion(BaseCriterion):
        words: list[str]


    class Mentions(Evaluator):
        criterion_type = WordsCriterion

        def __init__(self, eval_metric):
            self.criterion = WordsCriterion.model_validate(eval_metric.criterion.model_dump())

        def evaluate_invocations(self, actual_invocations, expected_invocations=None, scenario=None):
            rows = []
            for turn in actual_invocations:
                text = turn.final_response.parts[0].text
                score = sum(word in text for word in self.criterion.words) / len(self.criterion.words)
                status = EvalStatus.PASSED
                rows.append(PerInvocationResult(actual_invocation=turn, score=score, eval_status=status))
            return EvaluationResult(
                overall_score=rows[0].score,
                overall_eval_status=EvalStatus.PASSED,
                per_invocation_results=rows,
            )
    """
ADK_REGISTRATION = """\


    DEFAULT_METRIC_EVALUATOR_REGISTRY.register_evaluator(
        MetricInfo(metric_name="mentions", metric_value_info=MetricValueInfo()), Mentions
    )


    def root_agent(message, session):
        return message.text
    """


@pytest.mark.parametrize("google_adk", ["without", pytest.param("with", marks=pytest.mark.adk)])
def test_evaluator_class_of_adk_is_a_metric_by_its_path(project: Project, google_adk: str) -> None:
    project.agent()
    project.write("mentions.py", ADK_CLASS)
    project.write("set.json", eval_set(case("one", "blue and green")))
    own = {"mentions": {"code_config": {"name": "mentions.Mentions"}}}
    words = {"threshold": 0.5, "words": ["blue", "red"]}
    project.write("config.json", {"criteria": {"mentions": words}, "custom_metrics": own})

    done = project.agent_eval("run", "bot", "set.json", "--config", "config.json")

    assert done.code == 0, done.stdout + done.stderr
    assert project.case("one")["metrics"]["mentions"]["score"] == 0.5

    project.write("config.json", {"criteria": {"mentions": 0.5}, "custom_metrics": own})
    refused = project.agent_eval("run", "bot", "set.json", "--config", "config.json")

    assert refused.code == 2
    assert "criteria.mentions.words: required, but not there" in refused.stderr


@pytest.mark.adk
def test_evaluator_class_in_the_default_registry_of_adk_is_a_metric_by_its_name(project: Project) -> None:
    project.agent(ADK_CLASS + ADK_REGISTRATION)
    project.write("set.json", eval_set(case("one", "blue and green")))
    project.write("config.json", {"criteria": {"mentions": {"threshold": 0.5, "words": ["blue", "red"]}}})

    done = project.agent_eval("run", "bot", "set.json", "--config", "config.json")

    assert done.code == 0, done.stdout + done.stderr
    assert project.case("one")["metrics"]["mentions"]["score"] == 0.5


@pytest.mark.slow
def test_what_code_prints_when_it_is_imported_is_not_in_the_document(project: Project) -> None:
    project.agent("print('agent')\n" + ECHO)
    project.write("gates.py", "print('metric')\ndef gate(*given):\n    return 1.0\n")
    project.write("demo.evalset.json", eval_set(case("a")))
    project.write("eval_config.json", custom("gate"))
    done = project.agent_eval("run", "bot", "demo.evalset.json", "--json")
    assert done.document["exit_code"] == 0
    again = project.agent_eval("grade", "latest", "--config", "eval_config.json", "--json")
    assert again.document["exit_code"] == 0
    assert "metric" in again.stderr
