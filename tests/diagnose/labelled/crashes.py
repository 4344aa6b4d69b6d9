"""Runs that crashed."""

from __future__ import annotations

from typing import Any

from tests.diagnose.failure import Failure, Step, call, case, code, error, failure, turn


def crash(name: str, cause: str, *steps: Step, state: dict[str, Any] | None = None, **config: Any) -> Failure:
    return failure(
        name,
        cause,
        "",
        case(turn("Where is A1?", *steps, text="Here."), state=state or {}),
        **config,
    )


FAILURES = (
    # a key that the state does not have
    crash(
        "placeholder",
        "AE401",
        code("raise KeyError('Context variable not found: `user_name` in agent \\'desk\\'.')"),
    ),
    crash(
        "placeholder of an older ADK",
        "AE401",
        code("raise KeyError('Context variable not found: `city`.')"),
        state={"town": "Oslo"},
    ),
    crash("reads the state", "AE401", code("tier = session.state['tier']")),
    crash("formats its instruction", "AE401", code("instruction = 'Help {name}'.format(**session.state)")),
    crash("template", "AE401", error("UndefinedError", "'customer' is undefined")),
    # a value of another type
    crash("text for a list", "AE402", code("session.state['cart'].append('pen')"), state={"cart": ""}),
    crash("number as text", "AE402", code("left = session.state['budget'] - 10"), state={"budget": "100"}),
    crash("null for a list", "AE402", code("first = session.state['visits'][0]"), state={"visits": None}),
    crash("text for an object", "AE402", code("name = session.state['user']['name']"), state={"user": "Ada"}),
    # sessions and apps
    crash("not found", "AE403", error("ValueError", "Session not found: 1a2b")),
    failure(
        "folder of another name",
        "AE403",
        "",
        case(
            turn(
                "Hi", error("ServerError", 'POST /run_sse: 404 {"detail":"Session not found: s1"}'), text="Hi"
            ),
            app_name="shop",
        ),
        agent="desk",
    ),
    failure(
        "no such app",
        "AE403",
        "",
        case(
            turn(
                "Hi",
                error("ServerError", "the server reports: No root_agent found for 'shop_agent'."),
                text="Hi",
            ),
            app_name="shop_agent",
        ),
        agent="shop",
    ),
    # quotas
    crash("exhausted", "AE404", error("ClientError", "429 RESOURCE_EXHAUSTED. {'error': {'code': 429}}")),
    crash("rate limit", "AE404", error("RateLimitError", "Rate limit reached for requests")),
    crash("quota of a tool", "AE404", call("search", {}, raises="OSError('daily quota used up')")),
    # time
    crash("hangs", "AE405", {"wait": 5}),
    crash("tool hangs", "AE405", call("find", {}), {"wait": 5}),
    failure(
        "second turn hangs",
        "AE405",
        "",
        case(turn("a", {"say": "b"}, text="b"), turn("c", {"wait": 5}, text="d")),
    ),
    # mocks
    crash(
        "other arguments",
        "AE406",
        call("find", {"id": 2}),
        tool_mocks={"mocks": [{"tool": "find", "args": {"id": 1}, "response": {}}]},
    ),
    crash(
        "mock that raises",
        "AE406",
        call("find", {}),
        tool_mocks={"mocks": [{"tool": "find", "error": "no network"}]},
    ),
    crash(
        "out of reach",
        "AE406",
        error("MockedToolError", "the mock of `find` cannot reach it inside an AgentTool"),
    ),
    # confirmation
    *(
        crash(
            f"asks for {tool}",
            "AE407",
            error(
                "ToolConfirmationError",
                f"tool `{tool}` asks for confirmation; set `tool_confirmation` in the eval config to "
                "`approve` or `deny` to answer it",
            ),
        )
        for tool in ("pay", "delete_file", "send")
    ),
    # tools that are not there
    crash(
        "made up",
        "AE408",
        error("ValueError", "Tool 'find_ordr' not found.\nAvailable tools: find_order, cancel\n\nPossible"),
    ),
    crash(
        "made up in an older ADK",
        "AE408",
        error("ValueError", "Function search is not found in the tools_dict."),
    ),
    crash("none at all", "AE408", error("ValueError", "Tool 'ping' not found.\nAvailable tools: \n")),
    # access
    crash(
        "no key",
        "AE409",
        error("ValueError", "Missing key inputs argument! To use the Google AI API, provide (`api_key`)"),
    ),
    crash(
        "bad key",
        "AE409",
        error("ClientError", "400 INVALID_ARGUMENT. API key not valid. Please pass a valid API key."),
    ),
    crash(
        "forbidden", "AE409", error("ClientError", "403 PERMISSION_DENIED. Caller does not have permission")
    ),
    # models
    crash(
        "retired",
        "AE410",
        error(
            "ClientError",
            "404 NOT_FOUND. models/gemini-1.0-pro is not found for API version v1beta, or is not supported "
            "for generateContent",
        ),
    ),
    crash(
        "slip in the name",
        "AE410",
        error("NotFoundError", "Error code: 404 - The model `gpt-9` does not exist"),
    ),
    crash("not pulled", "AE410", error("ResponseError", 'model "qwen9" not found, try pulling it first')),
    # network
    crash("refused", "AE411", error("ConnectError", "All connection attempts failed")),
    crash("overloaded", "AE411", error("ServerError", "503 UNAVAILABLE. The model is overloaded.")),
    crash("no such host", "AE411", error("ConnectError", "[Errno -2] Name or service not known")),
    # the simulated user
    # processes
    crash(
        "segfault",
        "AE415",
        error("WorkerDiedError", "the run's worker process was killed by SIGSEGV (Segmentation fault)"),
    ),
    crash(
        "out of memory",
        "AE415",
        error("WorkerDiedError", "the run's worker process was killed by SIGKILL (the system does that)"),
    ),
    crash("exit", "AE415", error("WorkerDiedError", "the run ended its worker process with exit code 3")),
    crash("player without a key", "AE414", error("SimulatedUserError", "gemini: GEMINI_API_KEY is not set")),
    crash("player without a model", "AE414", error("SimulatedUserError", "openai/x: 404 model not found")),
    crash("player says nothing", "AE414", error("SimulatedUserError", "gemini: a response without text")),
    # tools that raise
    crash("tool divides by zero", "AE412", call("rate", {}, raises="ZeroDivisionError('division by zero')")),
    crash("tool without a file", "AE412", call("read_file", {"p": "x"}, raises="FileNotFoundError('x.csv')")),
    crash("tool is not done", "AE412", call("refund", {}, raises="NotImplementedError()")),
    # the agent's own code
    crash("index", "AE413", code("parts = [][3]")),
    crash("assertion", "AE413", code("assert session.user_id == 'u2', 'wrong user'")),
    crash("socket", "AE413", error("RuntimeError", "socket reset")),
    # the simulated user, whose troubles are not the agent's
    crash(
        "user without quota",
        "AE414",
        error("SimulatedUserError", "the simulated user gave no message: m: 429 RESOURCE_EXHAUSTED"),
    ),
    crash(
        "user without a model",
        "AE414",
        error("SimulatedUserError", "the simulated user gave no message: m: 404 models/m is not found"),
    ),
)
