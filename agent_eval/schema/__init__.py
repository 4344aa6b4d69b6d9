"""Frozen values with no I/O: the trace, eval sets, configs and results."""
