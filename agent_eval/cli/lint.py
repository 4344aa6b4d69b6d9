"""`agent-eval lint`: eval sets and configs checked, nothing run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent_eval.cli.options import DebugFlag, JsonFlag
from agent_eval.cli.output import Output
from agent_eval.errors import ExitCode

if TYPE_CHECKING:
    from agent_eval.lint.findings import Finding
    from agent_eval.lint.linter import Report

EPILOG = """Examples:

agent-eval lint

agent-eval lint orders.evalset.json --config strict.json

agent-eval lint evals --fix

Exit codes: 0 no errors (there may be warnings); 1 errors, with --strict also warnings; 2 wrong usage.
`agent-eval explain AE717` tells what a code means."""


def lint(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATHS",
            help="Eval sets, configs, or folders with them. Without: those of the project.",
            show_default=False,
        ),
    ] = None,
    config: Annotated[
        str | None,
        typer.Option("--config", help="The config of all eval sets, in the place of each one's own."),
    ] = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Put right what can be without changing a meaning.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 on warnings too.")] = False,
    json_output: JsonFlag = False,
    debug: DebugFlag = False,
) -> None:
    """Check eval sets and configs without running anything."""
    with Output(json=json_output, debug=debug) as out:
        from agent_eval.inputs.project import find_project
        from agent_eval.lint import linter
        from agent_eval.report.lint import print_findings

        check = linter.fix if fix else linter.lint
        found = check(paths or [], find_project(), config)
        document = _document(found, strict=strict)
        if json_output:
            out.json(document)
        print_findings(out.report, document)
        out.exit(ExitCode(document["exit_code"]))


def _document(found: Report, *, strict: bool) -> dict[str, Any]:
    findings = [_finding(finding) for finding in found.findings]
    errors = sum(finding["severity"] == "error" for finding in findings)
    failed = bool(errors or (strict and findings))
    return {
        "exit_code": int(ExitCode.FAILED if failed else ExitCode.PASSED),
        "totals": {
            "files": len(found.files),
            "errors": errors,
            "warnings": len(findings) - errors,
            "fixable": sum(finding["fixable"] for finding in findings),
        },
        "findings": findings,
        "fixed": [_finding(finding) for finding in found.fixed],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "message": finding.message,
        "file": finding.file,
        "path": finding.path,
        "line": finding.line,
        "hint": finding.hint,
        "fixable": bool(finding.fix),
    }
