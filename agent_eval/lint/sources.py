"""Files as lint sees them: their text, their document, and what they mean."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from agent_eval import serde
from agent_eval.errors import InputError
from agent_eval.inputs import documents, legacy
from agent_eval.inputs.configs import parse_config
from agent_eval.inputs.evalsets import SUFFIXES, eval_set_id_of, parse_eval_set
from agent_eval.lint.findings import Edit, Finding, Severity
from agent_eval.schema.config import EvalConfig
from agent_eval.schema.evalset import EvalCase, EvalSet

Steps = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file's text and document."""

    path: Path
    text: str
    """Without a byte order mark."""
    document: Any
    has_mark: bool = False
    """It begins with a byte order mark."""

    @property
    def file(self) -> str:
        """Its name."""
        return str(self.path)

    def finding(
        self,
        code: str,
        severity: Severity,
        message: str,
        path: Steps = (),
        *,
        hint: str | None = None,
        fix: tuple[Edit, ...] = (),
    ) -> Finding:
        """A finding at a place of this file."""
        place = as_spelled(self.document, path)
        line = serde.line_of(self.text, place, yaml=documents.is_yaml(self.file))
        return Finding(code, severity, message, self.file, serde.path_text(place) or None, line, hint, fix)

    def error(self, code: str, message: str, path: Steps = (), **more: Any) -> Finding:
        """What keeps it from being run, or evaluated."""
        return self.finding(code, Severity.ERROR, message, path, **more)

    def warning(self, code: str, message: str, path: Steps = (), **more: Any) -> Finding:
        """What may not be meant."""
        return self.finding(code, Severity.WARNING, message, path, **more)


def as_spelled(document: Any, path: Steps) -> Steps:
    """A path with its keys as the document spells them, as far as it is there."""
    found: list[str | int] = []
    node = document
    for step in path:
        if isinstance(step, str) and isinstance(node, dict):
            spelled = next(
                (key for key in node if key == step or documents.snake_case(str(key)) == step), None
            )
            if spelled is None:
                break
            found.append(spelled)
            node = node[spelled]
        elif isinstance(step, int) and isinstance(node, list) and step < len(node):
            found.append(step)
            node = node[step]
        else:
            break
    return tuple(found)


class Form(Enum):
    """How an eval set is written down."""

    CURRENT = "an object with `eval_cases`"
    BARE_LIST = "a list of cases without an object around it"
    OLD_LIST = "a list of cases in the old form"
    FLAT_LIST = "a list of turns in the old form"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSource(Source):
    """An eval set file."""

    eval_set: EvalSet
    form: Form = Form.CURRENT
    is_encoded_twice: bool = False

    @property
    def cases(self) -> list[EvalCase]:
        """Its cases."""
        return self.eval_set.eval_cases

    def at_case(self, case: int, *rest: str | int) -> Steps:
        """The path of something in a case."""
        if self.form is Form.FLAT_LIST:
            return ()
        return (*(("eval_cases",) if self.form is Form.CURRENT else ()), case, *rest)

    def at_turn(self, case: int, turn: int, *rest: str | int) -> Steps:
        """The path of something in a turn."""
        if self.form is Form.FLAT_LIST:
            return (turn,)
        if self.form is Form.OLD_LIST:
            return self.at_case(case, "data", turn)
        return self.at_case(case, "conversation", turn, *rest)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigSource(Source):
    """An eval config file."""

    config: EvalConfig


def read(path: Path) -> SetSource | ConfigSource | list[Finding]:
    """The eval set or config in a file, or what is wrong with it."""
    file = str(path)
    try:
        data = documents.read_bytes(path)
        text = documents.decode(data, file)
        document = documents.parse(text, file)
        has_mark = data.startswith(codecs.BOM_UTF8)
        if is_config(path, document):
            config = parse_config(data, file)
            return ConfigSource(path=path, text=text, document=document, has_mark=has_mark, config=config)
        eval_set = parse_eval_set(data, file, eval_set_id_of(path))
    except InputError as error:
        return [
            Finding(
                "AE710" if problem.message.startswith("duplicate ") else "AE701",
                Severity.ERROR,
                problem.message,
                file,
                problem.path,
                problem.line,
                problem.hint,
            )
            for problem in error.problems
        ]
    twice = isinstance(document, str)
    if twice:  # what is inside has no lines in the file
        text, document = "", serde.from_json(document)
    return SetSource(
        path=path,
        text=text,
        document=document,
        has_mark=has_mark,
        eval_set=eval_set,
        form=_form(document),
        is_encoded_twice=twice,
    )


def is_config(path: Path, document: Any) -> bool:
    """Whether a file is an eval config rather than an eval set, by its name or by what is in it."""
    name = path.name.lower()
    if name.endswith(SUFFIXES):
        return False
    if documents.is_yaml(name) or "config" in name:
        return True
    keys = {documents.snake_case(str(key)) for key in document} if isinstance(document, dict) else set()
    return bool(keys & set(EvalConfig.model_fields)) and not keys & {"eval_cases", "eval_set_id"}


def _form(document: Any) -> Form:
    if isinstance(document, dict):
        return Form.CURRENT
    if not legacy.is_case_list(document):
        return Form.BARE_LIST
    flat = any(isinstance(item, dict) and "query" in item and "data" not in item for item in document)
    return Form.FLAT_LIST if flat else Form.OLD_LIST
