"""A folder of vectors -> what differs in each file."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.conformance.groups import GROUPS
from tests.conformance.rules import ORACLES

OWN_VECTORS = Path(__file__).parent.parent / "data" / "conformance"
DIFFERENCES = "differences.json"

Item = dict[str, Any]


@dataclass
class FileReport:
    """What came of one file of vectors."""

    name: str
    passed: int = 0
    failures: dict[str, list[str]] = field(default_factory=dict)
    """Item id -> what differs."""
    by_unnamed_rule: dict[str, list[str]] = field(default_factory=dict)
    """Item id -> rules that it falls under, and passes by, without being named."""


def check_file(folder: Path, name: str) -> FileReport:
    """Runs every item of one file, with the differences that the folder's list has for it."""
    header = _load(folder / name)
    items = header.pop("items")
    agreed = _load(folder / DIFFERENCES).get(name, {}) if (folder / DIFFERENCES).exists() else {}
    report = FileReport(name)
    for item in items:
        _check(item, agreed.get(item["id"]), header, report)
    return report


def _check(item: Item, agreed: Item | None, header: Item, report: FileReport) -> None:
    found, rules = _found(item, agreed, header, report.name)
    if found:
        report.failures[item["id"]] = found
        return
    report.passed += 1
    if rules:
        report.by_unnamed_rule[item["id"]] = rules


def _found(item: Item, agreed: Item | None, header: Item, name: str) -> tuple[list[str], list[str]]:
    """What differs, and the unnamed rules that it took for nothing to differ.

    An exception, of the code under test or of an oracle, is a difference too.
    """
    try:
        expected = _by_agreement(item, agreed, name)
        found = GROUPS[name](expected, header)
        ruled, rules = _by_rules(expected, name) if found else (expected, [])
        return (GROUPS[name](ruled, header), rules) if rules else (found, [])
    except Exception as error:
        return [f"raised {type(error).__name__}: {error}"], []


def _by_agreement(item: Item, agreed: Item | None, name: str) -> Item:
    """The item with what differences.json expects instead: keys, or a rule in words."""
    if agreed is None:
        return item
    changed = {key: value for key, value in agreed.items() if key not in ("rule", "what")}
    return {**item, **changed} if changed else ORACLES[name][agreed["rule"]](item)


def _by_rules(item: Item, name: str) -> tuple[Item, list[str]]:
    """The item with every rule applied that has an oracle, and the rules that changed it.

    No rule can be applied to an answer that has nothing to do with its item.
    """
    rules = []
    for rule, oracle in ORACLES.get(name, {}).items():
        try:
            ruled = oracle(item)
        except LookupError:
            return item, []
        if ruled != item:
            rules.append(rule)
        item = ruled
    return item, rules


def _load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
