"""The pytest plugin's door: its options, and nothing else before they are used.

Every test run of an environment that has agent-eval imports this module, so it imports nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options and ini keys."""
    group = parser.getgroup("agent-eval", "evaluation of agents")
    group.addoption("--agent-eval", action="store_true", help="Run eval sets: a test for each eval case.")
    group.addoption(
        "--agent-eval-agent",
        metavar="AGENT",
        help="The agent, if not the one in pyproject.toml or the one that cases name.",
    )
    group.addoption(
        "--agent-eval-config",
        metavar="FILE",
        help="The eval config; without it, the one found for each eval set.",
    )
    group.addoption(
        "--agent-eval-num-runs", type=int, metavar="N", help="Runs of each case; overrides the config."
    )
    group.addoption(
        "--agent-eval-output", metavar="FOLDER", help="Folder for results, else .agent_eval/results."
    )
    parser.addini("agent_eval", "Run eval sets: a test for each eval case.", type="bool", default=False)
    parser.addini("agent_eval_agent", "As --agent-eval-agent, relative to the ini file.", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Collects eval sets, if that is wanted."""
    if config.getoption("agent_eval") or config.getini("agent_eval"):
        from agent_eval.pytest_cases import EvalCases

        config.pluginmanager.register(EvalCases(config), "agent-eval-cases")
