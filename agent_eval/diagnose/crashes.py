"""Rules about runs that crashed (AE401 to AE415)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PureWindowsPath
from typing import Any

from agent_eval.diagnose.base import Clue, Kind, Level, Rule
from agent_eval.diagnose.evidence import Evidence
from agent_eval.diagnose.wording import cut, named, quoted, typed

QUOTA = re.compile(
    r"\b429\b|RESOURCE_EXHAUSTED|rate.?limit|\bquota\b|too many requests|tokens per minute", re.IGNORECASE
)
CREDENTIALS = re.compile(
    r"\b40[13]\b|UNAUTHENTICATED|PERMISSION_DENIED|api.?key|DefaultCredentialsError|default credentials"
    r"|unauthori[sz]ed|invalid.{0,20}credential|missing key inputs",
    re.IGNORECASE,
)
NO_MODEL = re.compile(
    r"models?[ /`'\"][^\n]{0,80}(?:not found|does not exist|is not supported)|no such model|unknown model"
    r"|model not found",
    re.IGNORECASE,
)
UNREACHABLE = re.compile(
    r"Connect(?:ion)?(?:Refused|Reset|Aborted)?(?:Error|Timeout)|connection (?:refused|reset|aborted|error)"
    r"|Name or service not known|nodename nor servname|getaddrinfo|Temporary failure in name resolution"
    r"|ReadTimeout|ReadError|RemoteProtocolError|\b50[0234]\b|\bUNAVAILABLE\b|all connection attempts failed",
    re.IGNORECASE,
)


def _message(evidence: Evidence) -> str:
    error = evidence.error
    return f"{error.type}: {error.message}" if error else ""


def _told(evidence: Evidence) -> str:
    return cut(_message(evidence), 160)


_PLACEHOLDER = re.compile(r"Context variable not found: `([^`]+)`")
_KEY = re.compile(r"['\"]([^'\"\n]+)['\"]$")
_UNDEFINED = re.compile(r"^'([\w:]+)' is undefined")
_STATE_ACCESS = re.compile(r"\bstate\b|\binstruction\b|\.format(?:_map)?\(", re.IGNORECASE)


def _missing_key(evidence: Evidence) -> str | None:
    """The key of the session's state that was looked for in vain."""
    error = evidence.error
    if error is None:
        return None
    found = _PLACEHOLDER.search(error.message) or _UNDEFINED.search(error.message)
    if not found and error.type == "KeyError" and _STATE_ACCESS.search(_last_code(error.traceback)):
        found = _KEY.search(error.message)
    key = found[1] if found else None
    return None if key is None or key in evidence.run.state else key


def _last_code(traceback: str | None) -> str:
    """The line of code that raised, as the traceback has it."""
    lines = [line for line in (traceback or "").splitlines() if line.startswith("    ")]
    code = [line for line in lines if line.strip() and not re.fullmatch(r"\s*[\^~]+\s*", line)]
    return code[-1] if code else ""


def missing_state(evidence: Evidence) -> Iterator[Clue]:
    """A key that the instruction or the code needs and the state does not have."""
    key = _missing_key(evidence)
    if key is None:
        return
    keys = list(evidence.run.state)
    has = f"which has {named(keys)}" if keys else "which is empty"
    yield Clue(
        f"`{key}` was looked for in the session's state, {has}: {_told(evidence)}",
        "give it in the case's `session_input.state`, set it in a `before_agent_callback`, or write "
        f"`{{{key}?}}` in the instruction if it may be missing",
        Level.WHOLE,
    )


_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (float,),
    "bool": (bool,),
    "list": (list,),
    "dict": (dict,),
    "NoneType": (type(None),),
}
_OF_TYPE = (
    re.compile(r"'(str|int|float|bool|list|dict|NoneType)' object"),
    re.compile(r"^(str|string|list) ind(?:ices|ex)"),
    re.compile(r"can only concatenate (str|list|tuple) "),
    re.compile(r"argument of type '(\w+)'"),
    re.compile(r"unhashable type: '(\w+)'"),
    re.compile(r"(?:operand type\(s\) for|not supported between instances of)[^']*'(\w+)' and '(\w+)'"),
    re.compile(r'(?:must be|not) "?(?:str|int|list)"?,? not "?(\w+)"?'),
    re.compile(r"object of type '(\w+)' has no len"),
    re.compile(r"must be \w+, not (\w+)"),
)


def _types_in(message: str) -> set[str]:
    found = {name for pattern in _OF_TYPE for match in pattern.finditer(message) for name in match.groups()}
    return {"str" if name == "string" else name for name in found if name} & {*_TYPES, "string"}


def state_type(evidence: Evidence) -> Iterator[Clue]:
    """A value of the state that is of another type than the code takes."""
    error = evidence.error
    if error is None or error.type not in ("AttributeError", "TypeError"):
        return
    wrong = _types_in(error.message)
    suspects = {key: value for key, value in evidence.run.state.items() if _is_of(value, wrong)}
    trace = error.traceback or ""
    named_there = {
        key: value for key, value in suspects.items() if re.search(rf"['\"]{re.escape(key)}['\"]", trace)
    }
    empty = {key: value for key, value in suspects.items() if value in ("", None, [], {})}
    reads_state = re.search(r"\bstate\b", trace)
    chosen = named_there or (empty if reads_state or len(empty) == 1 else {})
    if not chosen:
        return
    key, value = next(iter(chosen.items()))
    yield Clue(
        f"`{key}` in the session's state is {typed(value)}, and the code takes it for something else: "
        f"{_told(evidence)}",
        f"give `{key}` in the case's `session_input.state` the type that the agent works with (`[]` for a "
        "list, `{}` for an object), or let the agent cope with an empty value",
        Level.WHOLE if named_there else Level.PART,
    )


def _is_of(value: Any, names: set[str]) -> bool:
    if isinstance(value, bool):
        return "bool" in names
    return any(isinstance(value, _TYPES[name]) for name in names)


_NO_SESSION = re.compile(
    r"session not found|no root_agent found for|app(?:lication)? .{0,60}not found|no agents? found",
    re.IGNORECASE,
)


def session_not_found(evidence: Evidence) -> Iterator[Clue]:
    """A session or an app that is not there."""
    if not _NO_SESSION.search(_message(evidence)):
        return
    session, agent = evidence.run.record.session, evidence.run.agent
    app = session.app_name if session else ""
    is_name = agent and not re.search(r"[,/]", agent)  # nor several names, nor the address of a server
    if app and is_name and app != agent:
        seen = f"the case is for the app `{app}` and the agent is called `{agent}`: {_told(evidence)}"
        change = (
            f"write `{agent}` for `session_input.app_name`, by which sessions are found, or rename the agent"
        )
    else:
        seen = f"the server or the runner does not know the session of app `{app}`: {_told(evidence)}"
        change = (
            "check `session_input.app_name` (or `--app_name`): it has to be the name of the agent's folder"
        )
    yield Clue(seen, change, Level.WHOLE)


def quota(evidence: Evidence) -> Iterator[Clue]:
    """A quota or a rate limit."""
    if QUOTA.search(_message(evidence)):
        yield Clue(
            f"a quota or a rate limit was reached: {_told(evidence)}",
            "try again with a lower `--parallelism` or `auto`, or with a limit by `--rpm`; "
            "a quota for a day needs another key or another day",
            Level.WHOLE,
        )


def run_timeout(evidence: Evidence) -> Iterator[Clue]:
    """A run that took too long."""
    error = evidence.error
    if error is None or error.type != "RunTimeoutError":
        return
    turns = evidence.run.turns
    last = turns[-1].calls[-1].name if turns and turns[-1].calls else None
    where = f"; the last step was the call of `{last}`" if last else ""
    yield Clue(
        f"{error.message}, in turn {max(len(turns), 1)}{where}",
        "see whether a tool or a model hangs, or the agent goes round in circles (`RunConfig.max_llm_calls` "
        "limits that); if it only takes long, raise `--timeout`",
        Level.WHOLE,
    )


def worker_died(evidence: Evidence) -> Iterator[Clue]:
    """A run that took its process with it."""
    error = evidence.error
    if error is None or error.type != "WorkerDiedError":
        return
    frames = _own_frames(error.traceback or "")
    where = f", in `{frames[0][2]}` ({frames[0][0]}, line {frames[0][1]})" if frames else ""
    yield Clue(
        f"{error.message}{where}",
        "see what native code, `os._exit` or hunger for memory is in the agent and its tools; "
        "the other runs were not harmed",
        Level.WHOLE,
    )


def mock(evidence: Evidence) -> Iterator[Clue]:
    """A mock that does not fit."""
    error = evidence.error
    if error and error.type == "MockedToolError":
        yield Clue(
            f"a mocked tool stopped the run: {cut(error.message, 160)}",
            "add a mock for these arguments to `tool_mocks`, or set its `default` to `pass_through`, which "
            "runs the tool",
            Level.WHOLE,
        )


def confirmation(evidence: Evidence) -> Iterator[Clue]:
    """A tool that asks whether it may run."""
    error = evidence.error
    if error and error.type == "ToolConfirmationError":
        yield Clue(
            cut(error.message, 200),
            "set `tool_confirmation` to `approve` or `deny` in the eval config",
            Level.WHOLE,
        )


_NO_TOOL = re.compile(r"Tool '([^']+)' not found|Function (\S+) is not found in the tools_dict")


def unknown_tool(evidence: Evidence) -> Iterator[Clue]:
    """A tool that the model called and the agent does not have."""
    found = _NO_TOOL.search(_message(evidence))
    if not found:
        return
    tool = found[1] or found[2]
    listed = re.search(r"Available tools:\s*([^\n]*)", _message(evidence))
    has = f"; it has {cut(listed[1], 100)}" if listed and listed[1].strip() else ""
    yield Clue(
        f"the model called `{tool}`, which the agent does not have{has}",
        f"take `{tool}` out of the instruction, or add it to the agent's `tools`",
        Level.WHOLE,
    )


def no_access(evidence: Evidence) -> Iterator[Clue]:
    """A key that is missing or refused."""
    if CREDENTIALS.search(_message(evidence)) and not QUOTA.search(_message(evidence)):
        yield Clue(
            f"there is no access: {_told(evidence)}",
            "set the key of the model's provider in the environment, in the agent's `.env` or in "
            "`--env_file`",
            Level.PART,
        )


def no_model(evidence: Evidence) -> Iterator[Clue]:
    """A model that is not there."""
    if NO_MODEL.search(_message(evidence)):
        yield Clue(
            f"the model is not there: {_told(evidence)}",
            "check the agent's `model`: its spelling, and whether this key and region have it",
            Level.WHOLE,
        )


def unreachable(evidence: Evidence) -> Iterator[Clue]:
    """A service that is not there, or fails."""
    if UNREACHABLE.search(_message(evidence)) and not QUOTA.search(_message(evidence)):
        yield Clue(
            f"a service was not reached, or failed: {_told(evidence)}",
            "see whether it is up and the address right; for hiccups `--retry_crashed 2` tries again",
            Level.PART,
        )


def tool_raised(evidence: Evidence) -> Iterator[Clue]:
    """A tool that raised what ended the run."""
    error, turns = evidence.error, evidence.run.turns
    if error is None or not turns:
        return
    turn = turns[-1]
    answered = {response.id: response.response or {} for response in turn.responses}
    raised = [
        one.name
        for one in turn.calls
        if re.search(rf"\bin {re.escape(one.name or '-')}\b", error.traceback or "")
        or str(answered.get(one.id, {}).get("error", "")).startswith(f"{error.type}: ")
    ]
    if raised and error.type not in ("MockedToolError", "RunTimeoutError"):
        yield Clue(
            f"the tool `{raised[-1]}` raised {_told(evidence)}",
            "mend the tool, or let it return what went wrong instead of raising, so that the agent can "
            "answer; `tool_mocks` answer in its place",
            Level.PART,
            turn.number,
        )


_FRAME = re.compile(r'File "([^"]+)", line (\d+),? in (\S+)')
_FOREIGN = re.compile(r"site-packages|[/\\]agent_eval[/\\]|[/\\]lib[/\\]python3")


def _own_frames(traceback: str) -> list[tuple[str, str, str]]:
    """File, line and function of the frames that are in the user's code."""
    own = (frame for frame in _FRAME.findall(traceback) if not _FOREIGN.search(frame[0]))
    return [(PureWindowsPath(file).name, line, function) for file, line, function in own]


def agent_raised(evidence: Evidence) -> Iterator[Clue]:
    """An exception of the agent's code."""
    error = evidence.error
    if error is None:
        return
    frames = _own_frames(error.traceback or "")
    where = ""
    if frames:
        file, line, function = frames[-1]
        where = f", in `{function}` ({file}, line {line})"
    turn = len(evidence.run.turns) or None
    asked = f" at {quoted(evidence.run.turns[-1].asked, 50)}" if turn else ""
    yield Clue(
        f"the agent raised {_told(evidence)}{where}{asked}",
        "see the traceback with `agent-eval report latest --print_detailed_results`",
        Level.REST,
        turn,
    )


def simulated_user(evidence: Evidence) -> Iterator[Clue]:
    """A simulated user that failed."""
    if evidence.error:
        yield Clue(
            f"the simulated user failed, not the agent: {cut(evidence.error.message, 160)}",
            "see `user_simulator_config` in the eval config: its `model`, the key for it, and its endpoint; "
            "a scripted user needs none",
            Level.WHOLE,
        )


CRASHES = frozenset({Kind.CRASH})

RULES = (
    Rule("AE401", CRASHES, missing_state),
    Rule("AE402", CRASHES, state_type),
    Rule("AE403", CRASHES, session_not_found),
    Rule("AE404", CRASHES, quota),
    Rule("AE405", CRASHES, run_timeout),
    Rule("AE406", CRASHES, mock),
    Rule("AE407", CRASHES, confirmation),
    Rule("AE408", CRASHES, unknown_tool),
    Rule("AE409", CRASHES, no_access),
    Rule("AE410", CRASHES, no_model),
    Rule("AE411", CRASHES, unreachable),
    Rule("AE412", CRASHES, tool_raised),
    Rule("AE413", CRASHES, agent_raised),
    Rule("AE414", frozenset({Kind.USER}), simulated_user),
    Rule("AE415", CRASHES, worker_died),
)
