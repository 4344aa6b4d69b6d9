"""Lights and temperatures by short commands in seven languages, emoji among them."""

from . import agent  # noqa: F401 - what a loader of agent packages reads
