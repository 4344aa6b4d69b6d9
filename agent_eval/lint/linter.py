"""Files -> findings, and the same with what can be put right put right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_eval.inputs.project import Project
from agent_eval.lint import agents, config_checks, forms, group_checks, set_checks
from agent_eval.lint.files import chosen_files, config_of
from agent_eval.lint.findings import Edit, Finding
from agent_eval.lint.group import Group, group_of
from agent_eval.lint.sources import ConfigSource, SetSource, read
from agent_eval.store.summary import write_whole

MAX_ROUNDS = 5
"""A fix may show what else there is; after so many rounds it has to be done."""


@dataclass(frozen=True, slots=True)
class Report:
    """What was checked, and what was found."""

    files: tuple[str, ...]
    findings: tuple[Finding, ...]
    """By file and line."""
    fixed: tuple[Finding, ...] = ()
    """What was put right."""


def lint(paths: Sequence[str], project: Project, config: str | None = None) -> Report:
    """Everything found in the files.

    Args:
        paths: files and folders; without any, the project's eval sets and their configs.
        project: its settings.
        config: the config of all eval sets, in the place of each one's own.

    Raises:
        InputError: a path leads nowhere, or there is nothing to check.
    """
    read_files = [read(path) for path in chosen_files([*paths, *([config] if config else [])], project)]
    sources = {one.path.resolve(): one for one in read_files if not isinstance(one, list)}
    findings = [finding for one in read_files if isinstance(one, list) for finding in one]
    grouped: dict[Path | None, list[SetSource]] = {}
    broken: set[Path] = set()
    for one in list(sources.values()):
        if isinstance(one, ConfigSource):
            grouped.setdefault(one.path.resolve(), [])
            continue
        place = config_of(one.path, config)
        key = place.resolve() if place else None
        if place and key and key not in sources and key not in broken:
            found = read(place)
            if isinstance(found, ConfigSource):
                sources[key] = found
            else:
                broken.add(key)
                findings += found if isinstance(found, list) else []
        grouped.setdefault(key, []).append(one)
        findings += _of_set(one, project)
    for key, sets in grouped.items():
        own = sources.get(key) if key else None
        if key is None:
            findings += _of_group(group_of(None, sets, project))
        elif isinstance(own, ConfigSource):
            findings += _of_group(group_of(own, sets, project))
    findings += _same_ids([one for one in sources.values() if isinstance(one, SetSource)])
    files = [str(one.path) for one in sources.values()]
    files += [finding.file for finding in findings if finding.file not in files]
    order = {file: number for number, file in enumerate(dict.fromkeys(files))}
    findings = list(dict.fromkeys(findings))
    findings.sort(key=lambda finding: (order[finding.file], finding.line or 0, finding.code))
    return Report(tuple(order), tuple(findings))


def _of_set(source: SetSource, project: Project) -> Iterator[Finding]:
    yield from forms.adk_refuses(source)
    yield from forms.unknown_keys(source)
    for check in set_checks.CHECKS:
        yield from check(source)
    yield from agents.app_names(source, project)
    yield from agents.placeholders(source, project)


def _of_group(group: Group) -> Iterator[Finding]:
    if group.source:
        yield from forms.adk_refuses(group.source)
        yield from forms.unknown_keys(group.source)
        for check in config_checks.CHECKS:
            yield from check(group, group.source)
    for group_check in group_checks.CHECKS:
        yield from group_check(group)


def _same_ids(sets: Sequence[SetSource]) -> Iterator[Finding]:
    """Eval sets that share an id, and so a folder of results."""
    first: dict[str, SetSource] = {}
    for source in sets:
        other = first.setdefault(source.eval_set.eval_set_id, source)
        if other is not source:
            yield source.warning(
                "AE724",
                f"`{source.eval_set.eval_set_id}` is the id of {other.file} too: their results share a "
                "folder",
                ("eval_set_id",),
            )


def fix(paths: Sequence[str], project: Project, config: str | None = None) -> Report:
    """Puts right what can be, and finds what is left. Files are written whole or not at all.

    Raises:
        InputError: a path leads nowhere, or there is nothing to check.
        OSError: a file cannot be written.
    """
    fixed: list[Finding] = []
    report = lint(paths, project, config)
    for _ in range(MAX_ROUNDS):
        fixable = [finding for finding in report.findings if finding.fix]
        if not fixable:
            break
        for file in dict.fromkeys(finding.file for finding in fixable):
            fixed += _fix_file(Path(file), [finding for finding in fixable if finding.file == file])
        report = lint(paths, project, config)
    return Report(report.files, report.findings, tuple(fixed))


def _fix_file(path: Path, findings: list[Finding]) -> list[Finding]:
    """Writes the file with as many of the fixes as do not overlap; those that were made."""
    text = path.read_bytes().decode("utf-8")
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    made: list[Finding] = []
    edits: list[Edit] = []
    for finding in findings:
        if finding.fix == (Edit(0, 1, ""),) and mark:
            mark = ""
            made.append(finding)
        elif not any(_overlap(one, other) for one in finding.fix for other in edits):
            edits += finding.fix
            made.append(finding)
    write_whole((mark + edited(text.removeprefix("\ufeff"), edits)).encode(), path)
    return made


def _overlap(one: Edit, other: Edit) -> bool:
    if -1 in (one.end, other.end):
        return True
    return one.start < other.end and other.start < one.end


def edited(text: str, edits: Sequence[Edit]) -> str:
    """The text with the edits made, from the last to the first."""
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        end = len(text) if edit.end < 0 else edit.end
        text = text[: edit.start] + edit.text + text[end:]
    return text
