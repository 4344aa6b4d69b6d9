"""Eval sets and configs checked without running anything: findings with codes, places and fixes."""
