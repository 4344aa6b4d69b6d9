"""Metrics that a judge scores."""
