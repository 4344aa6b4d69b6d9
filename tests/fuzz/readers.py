"""Every reader of files, with good files to begin from."""

from __future__ import annotations

import base64
import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from agent_eval import serde
from agent_eval.agents.environment import load_env_file
from agent_eval.inputs.configs import load_config
from agent_eval.inputs.evalsets import case_sha256, load_eval_set
from agent_eval.inputs.labels import load_labels
from agent_eval.inputs.places import case_lines
from agent_eval.inputs.project import find_project
from agent_eval.inputs.scenarios import load_scenarios, load_session_input
from agent_eval.judge import cache as judge_cache
from agent_eval.judge.lenient import objects_in
from agent_eval.lint.linter import lint
from agent_eval.recording import cases_of_recording
from agent_eval.store.unfinished import Settings, Unfinished, UnfinishedSet, read_unfinished
from agent_eval.stored import Stored, read_stored
from tests.fuzz import hostile
from tests.fuzz.mutations import Sample

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"


@dataclass(frozen=True, slots=True)
class Reader:
    """What reads files of one kind."""

    name: str
    file: str
    """What such a file is called."""
    read: Callable[[Path], object]
    """Reads a file, and uses what is in it as far as that needs nothing else."""
    samples: Callable[[], Sequence[Sample]]
    weight: int
    """Its share of all inputs: readers that many people's files come to, and that are fast, have more."""
    tokens: tuple[str, ...] = ()
    """Texts that mean something in files of this kind."""
    wrap: Callable[[Path, bytes], object] = Path.write_bytes
    """Puts an input where it is read."""


def _read_eval_set(path: Path) -> None:
    loaded = load_eval_set(path)
    for case in loaded.eval_set.eval_cases:
        case_sha256(case)
    case_lines(path, loaded.sha256)


def _read_stored(path: Path) -> None:
    _used(read_stored(path))


def _used(stored: Stored) -> None:
    serde.model_to_json(stored.result)
    for record in stored.records():
        serde.model_to_json(record, compact=True)


def _read_project(path: Path) -> None:
    with chdir(path.parent):
        find_project()


def _lint(path: Path) -> None:
    with chdir(path.parent):
        lint([path.name], find_project())


def _read_env(path: Path) -> None:
    before = dict(os.environ)
    try:
        load_env_file(path)
    finally:
        os.environ.clear()
        os.environ.update(before)


def _read_cache(path: Path) -> None:
    """Statistics, which open the file, and what is kept under the one key."""
    judge_cache.stats(path)
    kept = judge_cache.JudgeCache(path)
    kept._usable(lambda: kept._read("key"))
    kept._close()


def _read_answer(path: Path) -> None:
    objects_in(path.read_bytes().decode("utf-8", "replace"))


def _in_cache(path: Path, data: bytes) -> None:
    """Every other input is a database's bytes, the others are a reply in a good database."""
    if data.startswith(b"SQLite"):
        path.write_bytes(data)
        return
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE replies (key PRIMARY KEY, kept, reply)")
        connection.execute("INSERT INTO replies VALUES ('key', 1.0, ?)", (data.decode("utf-8", "replace"),))
        connection.commit()


def _document(path: Path) -> Any:
    return json.loads(path.read_bytes())


@cache
def _vectors(name: str) -> list[Sample]:
    """The documents of a file of conformance vectors."""
    found = []
    for item in _document(DATA / "conformance" / name)["items"]:
        if item.get("document") is not None:
            try:
                found.append(Sample.of(json.loads(item["document"])))
            except ValueError:
                found.append(Sample(item["document"].encode()))
        elif "document_base64" in item:
            found.append(Sample(base64.b64decode(item["document_base64"])))
    return found


@cache
def _eval_sets() -> list[Sample]:
    """The project's own eval sets, a case each."""
    files = sorted([*ROOT.glob("evalsets/*.evalset.json"), *ROOT.glob("sample_agents/*/*.evalset.json")])
    documents = [_document(file) for file in files]
    own = [
        Sample.of({**document, "eval_cases": [case]})
        for document in documents
        for case in document["eval_cases"]
    ]
    return own + _vectors("evalset_load.json")


@cache
def _legacy() -> list[Sample]:
    """Cases and turns in the old forms."""
    call = {"tool_name": "get_order", "tool_input": {"order_id": 7}}
    reply = {"author": "desk", "text": "One moment."}
    turn = {"query": "Where is it?", "expected_tool_use": [call], "reference": "On its way."}
    whole = {**turn, "expected_intermediate_agent_responses": [reply]}
    session = {"app_name": "desk", "user_id": "u", "state": {"order": {"id": 7}}}
    cases = [{"name": "a", "data": [turn, whole], "initial_session": session}, {"name": "b", "data": [turn]}]
    here = _document(DATA / "adk_e2e" / "agent" / "legacy_here.test.json")
    return [Sample.of(document) for document in (cases, [turn, whole], here, [{**cases[0], "eval_id": "x"}])]


@cache
def _configs() -> list[Sample]:
    files = [*ROOT.glob("evalsets/*config.json"), *ROOT.glob("sample_agents/*/*config.json")]
    return [Sample.of(_document(file)) for file in sorted(files)] + _vectors("eval_config_load.json")


@cache
def _yaml_configs() -> list[Sample]:
    texts = [file.read_bytes() for file in sorted(ROOT.glob("evalsets/*config.yaml"))]
    texts.append(b"criteria:\n  response_match_score: &t 0.8\n  tool_trajectory_avg_score: *t\n")
    texts.append(hostile.bomb(3).encode())
    return [Sample(text) for text in texts] + [one for one in _configs() if len(one.data) < 1500]


@cache
def _journals() -> list[Sample]:
    lines = (DATA / "results" / "schema_1.runs.jsonl").read_bytes().splitlines()
    return [Sample.of(json.loads(line)) for line in lines]


def _write_journal(path: Path, data: bytes) -> None:
    """A good record, the input, and at times another good record behind it."""
    good = _journals()[0].data + b"\n"
    behind = good if len(data) % 3 == 0 else b""
    path.write_bytes(good + data.replace(b"\n", b" ") + b"\n" + behind)


@cache
def _summaries() -> list[Sample]:
    """The golden result, whole and with a case each."""
    document = _document(DATA / "results" / "schema_1.json")
    return [Sample.of({**document, "cases": [case]}) for case in document["cases"]] + [Sample.of(document)]


@cache
def _adk_results() -> list[Sample]:
    """ADK's results with a case each, encoded twice too."""
    found = []
    for file in sorted(DATA.glob("adk_results/*.json")):
        document = _document(file)
        if isinstance(document, str):
            document = json.loads(document)
            found.append(Sample.of(json.dumps(document)))
        cases = document["eval_case_results"]
        found += [Sample.of({**document, "eval_case_results": [case]}) for case in cases[:3]]
    return found


@cache
def _traces() -> list[Sample]:
    asked = {"author": "user", "content": {"role": "user", "parts": [{"text": "Where is A1?"}]}}
    call = {"function_call": {"id": "1", "name": "look_up", "args": {"order_id": "A1"}}}
    returned = {"function_response": {"id": "1", "name": "look_up", "response": {"status": "sent"}}}
    events: list[Any] = [asked]
    for author, part in (("desk", call), ("user", returned), ("desk", {"text": "On its way."})):
        content = {"role": "model", "parts": [part]}
        events.append({"author": author, "content": content, "event_time": "2026-11-30T18:31:36.974Z"})
    data = {
        "agents": {
            "desk": {"instruction": "Help.", "tools": [{"function_declarations": [{"name": "look_up"}]}]}
        },
        "turns": [
            {
                "turn_id": "t",
                "turn_index": 0,
                "events": [{**event, "state_delta": {"a": 1}} for event in events],
            }
        ],
    }
    answer = {"response": {"role": "model", "parts": [{"text": "On its way."}]}}
    new = {"eval_case_id": "one", "agent_data": data, "reference": answer}
    text = {"eval_case_id": "two", "agent_data": json.dumps(data)}
    old = {"prompt": "Where?", "responses": [answer], "intermediate_events": events, "response": "Here."}
    return [Sample.of({"eval_cases": [case], "candidate_name": "desk"}) for case in (new, text, old)]


@cache
def _sessions() -> list[Sample]:
    """Sessions that ADK saved."""
    events = _traces()[0].document["eval_cases"][0]["agent_data"]["turns"][0]["events"]
    kept = [{"author": event["author"], "content": event["content"], "timestamp": 1.5} for event in events]
    return [Sample.of({"appName": "desk", "userId": "u", "id": "s", "state": {}, "events": kept})]


@cache
def _plans() -> list[Sample]:
    """What evaluations set out to do."""
    of = {
        "result_id": "20260131T093000000Z-1a2b3c4d", "folder": "orders", "config_path": None,
        "eval_set": {"eval_set_id": "orders", "path": "orders.evalset.json", "sha256": ""},
        "cases": [{"eval_id": "a", "sha256": ""}], "config_sha256": "", "num_runs": 2,
        "agents": {"bot": None},
    }  # fmt: skip
    found = Unfinished(command="agent-eval run", settings=Settings(), sets=[UnfinishedSet.model_validate(of)])
    return [Sample.of(found.model_dump(mode="json", by_alias=False))]


def _read_plan(path: Path) -> None:
    for one in read_unfinished(path).sets:
        assert one.journal(Path("results")).parent.parent == Path("results")


@cache
def _labels() -> list[Sample]:
    one = {"eval_id": "a", "label": "pass", "response": "Yes.", "note": "good"}
    other = {"eval_id": "b", "label": 0, "response": ["Yes.", "No."], "run_index": 1, "metric": "safety_v1"}
    return [Sample.of(document) for document in ([one, other], [one], [other])]


def _write_lines(path: Path, data: bytes) -> None:
    path.write_bytes(data.replace(b"},", b"}\n").strip(b"[]"))


@cache
def _scenarios() -> list[Sample]:
    one = {"starting_prompt": "Hi", "conversation_plan": "Ask about order 7.", "user_persona": "EVALUATOR"}
    behaviour = {
        "name": "n",
        "description": "d",
        "behavior_instructions": ["i"],
        "violation_rubrics": ["r"],
    }
    own = {**one, "user_persona": {"id": "me", "description": "d", "behaviors": [behaviour]}}
    return [Sample.of({"scenarios": [one, own]})]


@cache
def _session_inputs() -> list[Sample]:
    return [Sample.of({"app_name": "desk", "user_id": "u", "session_id": "s", "state": {"a": {"b": [1]}}})]


@cache
def _projects() -> list[Sample]:
    table = "[tool.agent-eval]\nagent = 'desk'\nagents = ['a', \"b\"]\nevalsets = 'e'\n"
    prices = "[tool.agent-eval.judge-prices.gemini-2]\ninput = 0.1\noutput = 1e-3\n"
    own = (ROOT / "pyproject.toml").read_bytes()
    return [
        Sample((table + prices).encode()),
        Sample(table.encode()),
        Sample(b"tool = 1 # agent-eval"),
        Sample(own[:1500]),
        Sample(own),
    ]


@cache
def _env_files() -> list[Sample]:
    return [Sample(b"# keys\nKEY=value\nexport OTHER='a b'\nTHIRD=\"${KEY}-x\\n\"\nEMPTY=\n")]


@cache
def _caches() -> list[Sample]:
    reply = Sample.of({"text": "valid", "input_tokens": 1, "output_tokens": 2, "unseen": []})
    connection = sqlite3.connect(":memory:")
    with closing(connection):
        connection.execute("CREATE TABLE replies (key TEXT PRIMARY KEY, kept REAL, reply TEXT) WITHOUT ROWID")
        connection.execute("INSERT INTO replies VALUES ('key', 1.0, ?)", (reply.data.decode(),))
        connection.commit()
        return [reply, Sample(connection.serialize())]


@cache
def _answers() -> list[Sample]:
    ruling = {"reasoning": "same", "verdict": "valid", "rubrics": [{"id": "a", "verdict": "yes"}]}
    loose = b"Sure!\n```json\n{'verdict': True, reasoning: \"it's\", 'x': [1, 2,], /* c */ }\n```\nDone {"
    return [Sample.of(ruling), Sample(loose), Sample(json.dumps(ruling).encode() + loose)]


_TOML = ("[[a]]\n", "a.b.c = 1\n", "'''", '"""', "1979-99-99", "inf", "{a = 1}", "\n[tool]\n", "0x_1")
_LENIENT = ("```", "{'", "'", "//", "/*", "True", "None", "{" * 600, "{'a': [" * 100, "\\'")
_ENV = ("${KEY}", "${", "=", "export ", "'", '"', "\\x", "${A:-${B}}", "\n\n")

READERS: tuple[Reader, ...] = (
    Reader("eval set", "x.evalset.json", _read_eval_set, _eval_sets, 20),
    Reader("eval set, old form", "x.test.json", _read_eval_set, _legacy, 12),
    Reader("eval config", "x.eval_config.json", load_config, _configs, 20),
    Reader("eval config, YAML", "x.eval_config.yaml", load_config, _yaml_configs, 4, hostile.YAML),
    Reader("lint of an eval set", "x.evalset.json", _lint, _eval_sets, 4),
    Reader("lint of a config", "x.eval_config.json", _lint, _configs, 4),
    Reader("journal", "x.runs.jsonl", _read_stored, _journals, 16, wrap=_write_journal),
    Reader("result summary", "x.json", _read_stored, _summaries, 12),
    Reader("baseline", "x.baseline.json", _read_stored, _summaries, 6),
    Reader("ADK result", "x.evalset_result.json", _read_stored, _adk_results, 12),
    Reader("traces", "x.json", _read_stored, _traces, 14),
    Reader("saved session", "x.session.json", cases_of_recording, _sessions, 10),
    Reader("unfinished plan", "x.json", _read_plan, _plans, 4),
    Reader("labels", "x.json", load_labels, _labels, 16),
    Reader("labels, JSON Lines", "x.jsonl", load_labels, _labels, 8, wrap=_write_lines),
    Reader("scenarios", "x.json", load_scenarios, _scenarios, 10),
    Reader("session input", "x.json", load_session_input, _session_inputs, 6),
    Reader("pyproject.toml", "pyproject.toml", _read_project, _projects, 8, _TOML),
    Reader("judge cache", "x.sqlite", _read_cache, _caches, 4, wrap=_in_cache),
    Reader("judge's answer", "x.txt", _read_answer, _answers, 10, _LENIENT),
    Reader(".env", "x.env", _read_env, _env_files, 4, _ENV),
)


def shares(inputs: int) -> Iterator[tuple[Reader, int]]:
    """How many of the inputs each reader gets; at least so many in all."""
    whole = sum(reader.weight for reader in READERS)
    for reader in READERS:
        yield reader, -(-inputs * reader.weight // whole)
