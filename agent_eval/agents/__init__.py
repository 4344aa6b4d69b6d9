"""Agents: found, opened and driven, whatever they are made of."""
