"""How google-adk is set up for many runs in one process: what is done once, and the options of every turn."""

from __future__ import annotations

import contextlib
import functools
import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from google.adk.agents.run_config import RunConfig

TOOL_THREADS = 1024
"""At most; a thread is made only where none is idle."""


@functools.cache
def warm_up() -> None:
    """Imports what the first turn would import, so that its time is not taken for the agent's."""
    with contextlib.suppress(ImportError):  # a google-adk that has them elsewhere imports them itself
        from google.adk.flows.llm_flows.auto_flow import AutoFlow  # noqa: F401 - only to have it there
        from google.adk.workflow import Workflow  # noqa: F401 - likewise
    sys.meta_path.insert(0, _WithoutA2a())


class _WithoutA2a(MetaPathFinder, Loader):
    """Fails to import google-adk's module for A2A as it fails itself without a2a-sdk, only sooner.

    google-adk tries for every agent that it runs, which takes a sixth of a short turn's time. Where
    a2a-sdk is found, then or later, the module is imported like any other.
    """

    MODULE = "google.adk.agents.remote_a2a_agent"
    NEEDED = "a2a"

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """A module that cannot be had, as long as what it needs is missing."""
        if fullname != self.MODULE or self.NEEDED in sys.modules or find_spec(self.NEEDED):
            return None
        return ModuleSpec(fullname, self)

    def exec_module(self, module: ModuleType) -> None:
        """Fails.

        Raises:
            ModuleNotFoundError: what google-adk raises in its place.
        """
        raise ModuleNotFoundError(f"No module named '{self.NEEDED}'", name=self.NEEDED)


@functools.cache
def run_config() -> RunConfig:
    """The options of every turn, as far as this google-adk has them."""
    return RunConfig(**_in_threads(), **_without_telemetry())


def _in_threads() -> dict[str, Any]:
    """Sync tools run in threads, so that one that blocks stalls no other run."""
    try:
        from google.adk.agents.run_config import ToolThreadPoolConfig
    except ImportError:
        return {}
    return {"tool_thread_pool_config": ToolThreadPoolConfig(max_workers=TOOL_THREADS)}


def _without_telemetry() -> dict[str, Any]:
    """No content for traces that nobody records: preparing it takes an eighth of a turn's time."""
    try:
        from google.adk.telemetry import ContentCapturingMode, TelemetryConfig
    except ImportError:
        return {}
    if "telemetry" not in RunConfig.model_fields or _is_traced():
        return {}
    return {
        "telemetry": TelemetryConfig(
            genai_semconv_stability_opt_in="stable",
            capture_message_content=ContentCapturingMode.NO_CONTENT,
        )
    }


def _is_traced() -> bool:
    """Whether the agent's code has put a provider of OpenTelemetry in the place of the API's own proxies."""
    given = (
        import_module("opentelemetry.trace").get_tracer_provider(),
        import_module("opentelemetry._logs").get_logger_provider(),
    )
    return not all(type(provider).__name__.startswith("Proxy") for provider in given)
