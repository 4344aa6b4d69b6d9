"""Checks agent-eval against vectors taken from Google ADK: `python -m tests.conformance [DIR]`.

A module for each step:

    runner.py    files and differences.json -> which items differ
    groups.py    one check for each file of vectors; custom_metrics.py has the one that runs code
    compare.py   what differs between two documents
    marks.py     what JSON lacks, and values made up while loading
    rules.py     ADK's answer -> the answer by a rule that differences.json states in words
                 (custom_rules.py for custom metrics)

DIR is a folder of vectors; without it, the copy in `tests/data/conformance` is checked.
"""
