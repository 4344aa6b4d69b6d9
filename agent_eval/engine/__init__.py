"""Runs made: one spec to one record, many at once."""
