"""A support desk: an ADK agent that hands over to two others."""

from . import agent  # noqa: F401 - what a loader of agent packages reads
