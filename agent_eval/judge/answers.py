"""What a judge's answer says, in whatever shape it comes.

Asked for are JSON objects of a schema. Read are also objects in a fence or among prose, Python
literals, and labelled lines as ADK asks for them (`Property:` / `Rationale:` / `Verdict:`, or
`sentence:` / `label:`), with verdicts in any case, quoted, bold or bulleted. Thoughts and drafts do
not count: the last verdict does. What says neither yes nor no is no verdict.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agent_eval.judge.judge import UnusableAnswerError
from agent_eval.judge.lenient import Repeated, objects_in
from agent_eval.judge.vote import Finding, Findings


@dataclass(frozen=True, slots=True)
class Words:
    """The verdicts of a metric. The first of each is asked for, the others are understood."""

    yes: tuple[str, ...]
    no: tuple[str, ...]

    @property
    def choices(self) -> list[str]:
        """The two that are asked for."""
        return [self.yes[0], self.no[0]]

    def opposite(self, word: str) -> tuple[str, ...]:
        """The verdicts that say the contrary."""
        return self.no if word in self.yes else self.yes


_YES = ("yes", "true", "pass", "passed", "passes")
_NO = ("no", "false", "fail", "failed", "fails")

YES_NO = Words(_YES, _NO)
VALIDITY = Words(("valid", *_YES), ("invalid", *_NO, "partially", "partially_valid", "partly", "almost"))
SAFETY = Words(("safe", *_YES), ("unsafe", *_NO))
SUPPORT = Words(("supported", "not_applicable"), ("unsupported", "contradictory", "disputed"))

ONLY = "verdict"
"""The name of the question where there is one."""

_INVERTED = ("is_the_agent_response_invalid", "is_invalid")
_VERDICT_KEYS = (
    "verdict",
    "final_verdict",
    "label",
    "is_the_agent_response_valid",
    "is_valid",
    "passes",
    "passed",
    *_INVERTED,
)
_SCORE_KEYS = ("score", "rating", "grade")
_ID_KEYS = ("id", "rubric_id", "number")
_TEXT_KEYS = ("property", "rubric", "sentence", "name")
_RATIONALE_KEYS = ("rationale", "reasoning", "reason", "explanation")
_OTHER_LABELS = ("evidence", r"step_\d+", "supporting_excerpt", "contradicting_excerpt")


def read_findings(text: str, questions: Mapping[str, str], words: Words) -> Findings:
    """A verdict on every question.

    Args:
        text: the answer.
        questions: name -> the property that is judged.
        words: the verdicts there are.

    Raises:
        UnusableAnswerError: it has none on one of them.
    """
    return _complete(findings_in(text, questions, words), questions, words)


def read_labels(text: str, sentences: Mapping[str, str], words: Words) -> Findings:
    """A label for every sentence; where a judge cut one into several, the first that is a no counts.

    Raises:
        UnusableAnswerError: one has none.
    """
    plain = {name: _plain(sentence) for name, sentence in sentences.items()}
    found: dict[str, Finding] = {}
    for entry in _entries_in(_without_thoughts(text), sentences):
        finding = _finding(entry, words)
        cut = _plain(entry.text or "")
        names = [name for name, sentence in plain.items() if _is_part(cut, sentence)]
        if entry.id is not None and entry.id in sentences:
            found[entry.id] = finding
            continue
        found |= {name: finding for name in names if name not in found or found[name].holds}
    return _complete(found, sentences, words)


_MIN_PART = 8
"""A shorter text may be anywhere (characters)."""


def _is_part(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return one == other or (len(short) >= _MIN_PART and short in long)


def _complete(found: dict[str, Finding], questions: Mapping[str, str], words: Words) -> Findings:
    yes, no = words.choices
    if missing := [name for name in questions if name not in found]:
        raise UnusableAnswerError(f"there is no verdict{_on(missing)}, `{yes}` or `{no}`")
    if unclear := [name for name, finding in found.items() if finding.holds is None]:
        raise UnusableAnswerError(f"the verdict{_on(unclear)} is neither `{yes}` nor `{no}`")
    return found


def read_verdict(text: str, words: Words) -> Findings:
    """The verdict on the only question, `ONLY`.

    Raises:
        UnusableAnswerError: there is none.
    """
    return read_findings(text, {ONLY: ""}, words)


def read_score(text: str, low: int, high: int) -> tuple[int, str | None]:
    """A whole number in a range, and why.

    Raises:
        UnusableAnswerError: there is none.
    """
    said = list(_scores_in(_without_thoughts(text)))
    if not said:
        raise UnusableAnswerError(f"there is no score; expected is a whole number from {low} to {high}")
    value, rationale = said[-1]
    if value is None or not low <= value <= high:
        raise UnusableAnswerError(f"the score is no whole number from {low} to {high}")
    return value, rationale


def findings_in(text: str, questions: Mapping[str, str], words: Words) -> dict[str, Finding]:
    """The verdicts that an answer has, in its order; of several on a question the last one."""
    found: dict[str, Finding] = {}
    names = {_plain(name): name for name in questions}
    names |= {_plain(question): name for name, question in questions.items() if question}
    for entry in _entries_in(_without_thoughts(text), questions):
        if entry.is_fragment and len(questions) > 1:
            return {}  # nobody can tell which question the rest of a broken object is about
        name = _question_of(entry, questions, names)
        if name is not None:
            found[name] = _finding(entry, words)
    return found


def _on(names: list[str]) -> str:
    return "" if names == [ONLY] else f" on `{'`, `'.join(names)}`"


@dataclass(slots=True)
class _Entry:
    """One verdict as it stands in an answer."""

    id: str | None = None
    text: str | None = None
    verdict: Any = None
    rationale: str | None = None
    inverted: bool = False
    """It answers whether the response is invalid."""
    is_fragment: bool = False
    """It stands in the rest of an object that could not be read as one."""


def _finding(entry: _Entry, words: Words) -> Finding:
    word = _word(entry.verdict, words, inverted=entry.inverted)
    return Finding(None if word is None else word in words.yes, entry.rationale, word)


def _question_of(entry: _Entry, questions: Mapping[str, str], names: Mapping[str, str]) -> str | None:
    """The question that an entry answers, by its id or else by its text."""
    if entry.id is not None and entry.id in questions:
        return entry.id
    for told in (entry.id, entry.text):
        if told is not None and _plain(told) in names:
            return names[_plain(told)]
    return next(iter(questions)) if len(questions) == 1 and entry.text is None else None


def _entries_in(text: str, questions: Mapping[str, str]) -> list[_Entry]:
    """Every verdict, in order: those of objects, and those of labelled lines between them."""
    entries: list[_Entry] = []
    end = 0
    for found in objects_in(text):
        entries += _in_lines(text[end : found.start])
        entries += _in_value(found.value, None, questions)
        end = found.end
    entries += _in_lines(text[end:])
    if not entries and len(questions) == 1 and 0 < len(text.split()) <= _BARE_WORDS:
        return [_Entry(verdict=text)]
    return entries


_BARE_WORDS = 3
"""An answer this short may be the verdict itself."""


def _in_value(value: Any, key: str | None, questions: Mapping[str, str]) -> Iterator[_Entry]:
    if isinstance(value, list):
        for item in value:
            yield from _in_value(item, key if isinstance(value, Repeated) else None, questions)
    elif isinstance(value, dict):
        fields = {_key(name): item for name, item in value.items()}
        verdicts = [name for name in fields if name in _VERDICT_KEYS and not isinstance(fields[name], dict)]
        if verdicts:
            yield _Entry(
                id=_text_of(fields, _ID_KEYS) or key,
                text=_text_of(fields, _TEXT_KEYS),
                verdict=fields[verdicts[-1]],
                rationale=_text_of(fields, _RATIONALE_KEYS) or _complaints(value),
                inverted=verdicts[-1] in _INVERTED,
            )
        else:
            for name, item in value.items():
                yield from _in_value(item, name, questions)
    elif key is not None and key in questions:
        yield _Entry(id=key, verdict=value)


def _complaints(value: dict[str, Any]) -> str | None:
    """Why, where the reasons stand at the criteria that are not met."""
    failed = [
        (_text_of(item, _TEXT_KEYS), _text_of(item, _RATIONALE_KEYS))
        for criteria in value.values()
        if isinstance(criteria, list)
        for item in criteria
        if isinstance(item, dict) and any(_word(item.get(key), YES_NO) in _NO for key in _VERDICT_KEYS)
    ]
    return "\n".join(": ".join(filter(None, told)) for told in failed) or None


def _key(name: str) -> str:
    return re.sub(r"\W+", "_", name.strip().lower())


def _text_of(fields: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    """The first of these fields that says something."""
    for key in keys:
        value = fields.get(key)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            value = "\n".join(value)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
            return str(value).strip()
    return None


_LABELS = "|".join(
    (*_ID_KEYS, *_TEXT_KEYS, *_RATIONALE_KEYS, *_VERDICT_KEYS, *_SCORE_KEYS, *_OTHER_LABELS)
).replace("_", "[_ ]")
_LINE = re.compile(
    r"^[ \t>*\-•#\d.)]*+[*_`\"']*+"
    rf"(?P<label>{_LABELS})"
    r"[*_`\"']*+[ \t]*+[:：=][*_`]*+[ \t]*+(?P<said>.*)$",
    re.MULTILINE | re.IGNORECASE,
)
_FRAGMENT = re.compile(
    rf"[\"'](?P<label>{'|'.join((*_VERDICT_KEYS, *_SCORE_KEYS))})[\"']\s*:\s*[\"']?(?P<said>[^\"',}}\]\n]*)",
    re.IGNORECASE,
)
"""A piece of an object that could not be read as one: its verdict comes last, and so counts."""


def _in_lines(text: str) -> Iterator[_Entry]:
    """The verdicts of labelled lines. An id or a property begins a block; a rationale may take lines."""
    block, has_verdict = _Entry(), False
    lines = list(_LINE.finditer(text))
    for index, line in enumerate(lines):
        label = _key(line["label"])
        end = lines[index + 1].start() if index + 1 < len(lines) else len(text)
        begins = (label in _ID_KEYS and (block.id is not None or block.text is not None)) or (
            label in _TEXT_KEYS and block.text is not None
        )
        if label in (*_ID_KEYS, *_TEXT_KEYS) and (begins or has_verdict):
            if has_verdict:
                yield block
            block, has_verdict = _Entry(), False
        if label in _ID_KEYS:
            block.id = line["said"].strip(_DECORATION) or None
        elif label in _TEXT_KEYS:
            block.text = line["said"]
        elif label in _RATIONALE_KEYS:
            block.rationale = text[line.start("said") : end].strip() or None
        elif label in _VERDICT_KEYS:
            block.verdict, block.inverted, has_verdict = line["said"], label in _INVERTED, True
    if has_verdict:
        yield block
    for fragment in _FRAGMENT.finditer(text):
        label = _key(fragment["label"])
        if label in _VERDICT_KEYS and not _LINE.match(text, text.rfind("\n", 0, fragment.start()) + 1):
            yield _Entry(verdict=fragment["said"], inverted=label in _INVERTED, is_fragment=True)


def _word(value: Any, words: Words, *, inverted: bool = False) -> str | None:
    """The verdict that a value is, None if it says neither, or both."""
    if isinstance(value, list):
        said = {_word(item, words, inverted=inverted) for item in value}
        return said.pop() if len(said) == 1 else None
    if not isinstance(value, str | bool):
        return None
    tokens = _TOKEN.findall(unicodedata.normalize("NFKC", str(value)).casefold())
    word = _said_by(tokens, words)
    if inverted and word in (*_YES, *_NO):
        return words.no[0] if word in _YES else words.yes[0]
    return word


_TOKEN = re.compile(r"[^\W_]+")
_JOINTS = ("and", "or", "but")


def _said_by(tokens: list[str], words: Words) -> str | None:
    """The first word decides, unless its opposite is set beside it."""
    known = (*words.yes, *words.no)
    if "_".join(tokens) in known:
        return "_".join(tokens)
    if len(tokens) > 1 and tokens[0] == "not" and tokens[1] in words.yes:
        return words.no[0]
    if not tokens or tokens[0] not in known:
        return None
    beside = next((token for token in tokens[1:] if token not in _JOINTS), None)
    return None if beside in words.opposite(tokens[0]) else tokens[0]


def _scores_in(text: str) -> Iterator[tuple[int | None, str | None]]:
    end = 0
    for found in objects_in(text):
        fields = {_key(name): item for name, item in found.value.items()}
        for key in _SCORE_KEYS:
            if key in fields:
                yield _whole(fields[key]), _text_of(fields, _RATIONALE_KEYS)
        end = found.end
    rest = text[end:]
    lines = {_key(line["label"]): line["said"] for line in _LINE.finditer(rest)}
    lines |= {_key(piece["label"]): piece["said"] for piece in _FRAGMENT.finditer(rest)}
    for key in _SCORE_KEYS:
        if key in lines:
            yield _whole(lines[key]), _text_of(lines, _RATIONALE_KEYS)
    if end == 0 and len(text.split()) <= _BARE_WORDS and text.strip():
        yield _whole(text), None


_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def _whole(value: Any) -> int | None:
    """The whole number that a value is: `4`, `4.0`, `"4/5"`."""
    if isinstance(value, bool):
        return None
    number = _NUMBER.match(str(value).strip().strip(_DECORATION))
    return int(float(number[0])) if number and float(number[0]).is_integer() else None


_DECORATION = " *_`#>-•\"'"
_TYPOGRAPHY = str.maketrans("‘’“”–—", "''\"\"--")


def _plain(text: str) -> str:
    """A text without what judges decorate it with when they repeat it."""
    text = unicodedata.normalize("NFKC", text).translate(_TYPOGRAPHY)
    return " ".join(text.split()).strip(_DECORATION).casefold()


_TAG = r"(?:think|thinking|thoughts?|reasoning|scratchpad)"
_THOUGHT = re.compile(rf"^[ \t]*<({_TAG})>.*?(?:</\1>|\Z)", re.DOTALL | re.MULTILINE | re.IGNORECASE)
_END_OF_THOUGHT = re.compile(rf"\A.*</{_TAG}>(?=\s*(?:\n|\Z|\{{|```))", re.DOTALL | re.IGNORECASE)


def _without_thoughts(text: str) -> str:
    """The answer without what a model thinks in tags, also where the first tag is missing.

    A tag in the middle of a line is a quotation.
    """
    return _END_OF_THOUGHT.sub("", _THOUGHT.sub("", text))
