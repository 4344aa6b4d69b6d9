"""Release notes: a workflow of ADK agents, in sequence, in parallel and in a loop."""

from . import agent  # noqa: F401 - what a loader of agent packages reads
