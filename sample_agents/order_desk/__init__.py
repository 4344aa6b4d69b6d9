"""A support desk that looks an order up before it answers."""

from . import agent  # noqa: F401 - what a loader of agent packages reads
