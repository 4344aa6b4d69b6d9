"""Evaluators: invocations in, scores out."""
