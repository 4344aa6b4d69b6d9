"""A weather desk: one ADK agent with two tools."""

from . import agent  # noqa: F401 - what a loader of agent packages reads
