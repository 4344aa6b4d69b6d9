"""A planner that gathers a trip over several turns, with a sub-agent for hotels."""

from . import agent  # noqa: F401 - what a loader of agent packages reads
