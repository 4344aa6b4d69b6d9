"""Checks of eval sets and the config they are run with (AE742 to AE749)."""

from __future__ import annotations

from collections.abc import Iterator

from agent_eval.diagnose.wording import count, named
from agent_eval.errors import did_you_mean
from agent_eval.lint.findings import Finding
from agent_eval.lint.group import Group
from agent_eval.lint.set_checks import expected_calls
from agent_eval.lint.sources import SetSource, Steps
from agent_eval.metrics.judged.rubrics import RubricsEvaluator
from agent_eval.schema.config import MatchType, TrajectoryCriterion
from agent_eval.simulation.players import config_problems, scenario_problems

TEXT_METRICS = ("response_match_score", "final_response_match_v2", "response_numbers_v1")
"""Metrics that compare answers with the expected ones."""

STATE_METRIC = "final_session_state_v1"


def case_kinds(group: Group) -> Iterator[Finding]:
    """Metrics that cannot score the kind of cases there are."""
    for name, metric in group.known.items():
        for source in group.sets:
            of = f"of `{source.eval_set.eval_set_id}`"
            scenarios = [case.eval_id for case in source.cases if case.conversation_scenario]
            talks = [case.eval_id for case in source.cases if case.conversation is not None]
            if metric.needs_reference and scenarios:
                yield _at_metric(
                    group,
                    source,
                    name,
                    "AE742",
                    f"`{name}` compares with expected turns, and {named(scenarios)} {of} "
                    f"{'is a scenario' if len(scenarios) == 1 else 'are scenarios'}, without any",
                    "keep scenarios in an eval set with a config of its own",
                )
            if metric.needs_scenario and talks:
                yield _at_metric(
                    group,
                    source,
                    name,
                    "AE742",
                    f"`{name}` looks at simulated users, and {named(talks)} {of} "
                    f"{'has' if len(talks) == 1 else 'have'} fixed turns",
                    "keep scenarios in an eval set with a config of its own",
                )


def _at_metric(group: Group, source: SetSource, name: str, code: str, message: str, hint: str) -> Finding:
    """A finding at the metric in the config; at the set under the default config."""
    if group.source:
        return group.source.error(code, message, ("criteria", name), hint=hint)
    return source.error(code, f"{message} (under the default config)", hint=hint)


def missing_references(group: Group) -> Iterator[Finding]:
    """Turns without a text that a metric compares with."""
    metrics = [name for name in TEXT_METRICS if name in group.known]
    for source in group.sets if metrics else ():
        for index, case in enumerate(source.cases):
            turns = case.conversation or []
            silent = [
                number
                for number, turn in enumerate(turns)
                if not (turn.final_response and turn.final_response.text.strip())
            ]
            if not silent:
                continue
            which = (
                "the turn has"
                if len(turns) == 1
                else f"{count(len(silent), 'turn')} of {len(turns)} {'has' if len(silent) == 1 else 'have'}"
            )
            yield source.warning(
                "AE743",
                f"{which} no `final_response`, which {named(metrics)} "
                f"{'compares' if len(metrics) == 1 else 'compare'} with",
                source.at_turn(index, silent[0]),
                hint="write the expected answer down; see AE201",
            )


def unscorable_cases(group: Group) -> Iterator[Finding]:
    """What keeps a metric from scoring a case, as far as the metric can tell."""
    for metric in group.metrics:
        for source in group.sets:
            for index, case in enumerate(source.cases):
                for told in dict.fromkeys(metric.case_problems(case)):
                    yield source.error("AE744", f"`{metric.name}`: {told}", source.at_case(index))


def unplayable_scenarios(group: Group) -> Iterator[Finding]:
    """What keeps a simulated user from playing."""
    scenarios = [
        (source, index, case.conversation_scenario)
        for source in group.sets
        for index, case in enumerate(source.cases)
        if case.conversation_scenario
    ]
    for source, index, scenario in scenarios:
        for told in scenario_problems(scenario, group.config):
            yield source.error("AE744", told, source.at_case(index, "conversation_scenario"))
    if group.source:
        for problem in config_problems(group.config):
            place = tuple((problem.path or "").split("."))
            yield group.source.error("AE733", problem.message, place, hint=problem.hint)


def unused_rubrics(group: Group) -> Iterator[Finding]:
    """Rubrics of cases that no metric uses."""
    if group.has_custom_metrics:
        return  # which may use them
    evaluators = [metric.load() for metric in group.known.values()]
    types = {one.rubric_type for one in evaluators if issubclass(one, RubricsEvaluator)}
    for source in group.sets:
        for index, case in enumerate(source.cases):
            placed: list[tuple[str, str | None, Steps]] = [
                (rubric.rubric_id, rubric.type, source.at_case(index, "rubrics", number))
                for number, rubric in enumerate(case.rubrics or [])
            ]
            placed += [
                (rubric.rubric_id, rubric.type, source.at_turn(index, turn, "rubrics", number))
                for turn, invocation in enumerate(case.conversation or [])
                for number, rubric in enumerate(invocation.rubrics or [])
            ]
            for rubric_id, kind, place in placed:
                if kind not in types and (kind or not types):
                    yield source.warning(
                        "AE745",
                        f"rubric `{rubric_id}` is used by no metric of the config"
                        + (f": none judges the type `{kind}`" if kind else ""),
                        place,
                        hint="name a rubric metric of its type among the criteria",
                    )


def final_states(group: Group) -> Iterator[Finding]:
    """Expected states that nothing checks, and a check without any expected state."""
    has_check = STATE_METRIC in group.config.criteria
    for source in group.sets:
        expecting = [index for index, case in enumerate(source.cases) if case.final_session_state]
        if not has_check and not group.has_custom_metrics:
            for index in expecting:
                yield source.warning(
                    "AE746",
                    "`final_session_state` is checked by no metric of the config",
                    source.at_case(index, "final_session_state"),
                    hint=f"add `{STATE_METRIC}` to the criteria",
                )
        if has_check and not expecting and group.source:
            yield group.source.warning(
                "AE746",
                f"no case of `{source.eval_set.eval_set_id}` has a `final_session_state`, so that all pass",
                ("criteria", STATE_METRIC),
            )


def unused_mocks(group: Group) -> Iterator[Finding]:
    """Mocks of tools that no case expects."""
    mocks = group.config.tool_mocks
    expected = {placed.call.name or "" for source in group.sets for placed in expected_calls(source)}
    if mocks is None or group.source is None or not expected:
        return
    for number, mock in enumerate(mocks.mocks):
        if mock.tool not in expected:
            yield group.source.warning(
                "AE747",
                f"the mock of `{mock.tool}` is for a tool that no case expects",
                ("tool_mocks", "mocks", number, "tool"),
                hint=did_you_mean(mock.tool, expected),
            )


def nothing_to_call(group: Group) -> Iterator[Finding]:
    """Eval sets without any expected call, under a metric that compares calls exactly."""
    metric = group.metric("tool_trajectory_avg_score")
    criterion = metric.eval_metric.criterion if metric else None
    if not isinstance(criterion, TrajectoryCriterion):
        return
    for source in group.sets:
        turns = [turn for case in source.cases for turn in case.conversation or []]
        if not turns or expected_calls(source):
            continue
        if criterion.match_type is MatchType.EXACT:
            told = "so that it passes only if the agent calls nothing at all"
        else:
            told = f"and `{criterion.match_type.value}` passes whatever the agent calls"
        yield source.warning(
            "AE748",
            f"no turn expects a call, {told}",
            hint="write `intermediate_data.tool_uses`, or take the metric out of the criteria",
        )


CHECKS = (
    case_kinds,
    missing_references,
    unscorable_cases,
    unplayable_scenarios,
    unused_rubrics,
    final_states,
    unused_mocks,
    nothing_to_call,
)
