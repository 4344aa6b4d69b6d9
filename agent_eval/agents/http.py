"""A served agent: drives an ADK API server over HTTP."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx
from pydantic import ValidationError

from agent_eval import serde
from agent_eval.addresses import public_address
from agent_eval.agents.adk_rules import check_answered, questions, reply
from agent_eval.agents.base import SessionRequest, Turn
from agent_eval.agents.factory import close_quietly
from agent_eval.load.refusals import TOO_MANY, host_of, refusal_of
from agent_eval.schema.trace import USER_AUTHOR, AppDetails, Content, Event, FunctionCall

CONNECT_SECONDS = 10.0
"""To reach the server. How long it may think is the run's time limit to say."""


class ServerError(Exception):
    """The server could not be reached, refused a request, or broke off its answer."""

    def __init__(self, message: str, response: httpx.Response | None = None, code: int | None = None) -> None:
        super().__init__(message)
        self.response = response
        """With which it refused the request: nothing has happened."""
        self.code = code
        """The status that it reports of what went wrong behind it."""


_TOO_MANY = re.compile(r"\b429\b.{0,40}\b(RESOURCE_EXHAUSTED|rate|too many)|RateLimitError", re.IGNORECASE)
"""What a server says of a model that was asked too much: the model's error, as a text."""


@dataclass(frozen=True, slots=True)
class Server:
    """Where an agent is served."""

    url: str
    app_name: str | None = None
    """The app to talk to; without it, the one a case names, else the only one the server has."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request. They may hold secrets, and are in no record."""


class HttpAgent:
    """An agent behind `/apps/{app}/users/{user}/sessions/{session}` and `/run_sse`."""

    kind = "http"

    def __init__(self, server: Server) -> None:
        self._server = server
        self.name = server.app_name or public_address(server.url)

    async def open(self, request: SessionRequest) -> HttpSession:
        """Creates a session of its own on the server; one that has its id already is removed first.

        Raises:
            ServerError: the server does not give one, or tools are to be mocked, which run there.
        """
        if request.tools.mocks:
            raise ServerError("`tool_mocks` cannot reach the tools of a served agent; they would really run")
        client = httpx.AsyncClient(
            base_url=self._server.url.rstrip("/"),
            headers=dict(self._server.headers),
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
        )
        try:
            app_name = self._server.app_name or await _app_name(client, request.app_name)
            session = HttpSession(client, app_name, request)
            await session.create()
        except BaseException:
            await client.aclose()
            raise
        return session

    async def details(self) -> AppDetails | None:
        """The server tells nothing of it."""
        return None

    async def aclose(self) -> None:
        """Nothing is kept."""


async def _app_name(client: httpx.AsyncClient, wanted: str) -> str:
    """The app a case names if the server has it, else the only one it has."""
    names = _document(await _send(client, "GET", "/list-apps"))
    if isinstance(names, list) and wanted not in names and len(names) == 1:
        return str(names[0])
    return wanted


async def _root_agent(client: httpx.AsyncClient, app_name: str) -> str:
    """The name of an app's root agent; the app's where the server does not tell."""
    apps: Any = None
    with contextlib.suppress(ServerError):
        apps = _document(await _send(client, "GET", "/list-apps?detailed=true"))
    for app in apps.get("apps", ()) if isinstance(apps, dict) else ():
        if isinstance(app, dict) and app.get("name") == app_name and app.get("rootAgentName"):
            return str(app["rootAgentName"])
    return app_name


def _document_of(event: Event, root: str) -> dict[str, Any]:
    """An earlier event for the server, which refuses those that say more than what was said."""
    document = event.model_dump(mode="json", exclude_defaults=True, by_alias=False)
    return document | {"author": event.author or root}


class HttpSession:
    """One conversation with a served agent."""

    def __init__(self, client: httpx.AsyncClient, app_name: str, request: SessionRequest) -> None:
        self._client = client
        self._app_name = app_name
        self._request = request
        self._state = request.state
        parts = ("apps", app_name, "users", request.user_id, "sessions", request.session_id)
        self._path = "/" + "/".join(quote(part, safe="") for part in parts)

    @property
    def state(self) -> dict[str, Any]:
        """The state as the server gave it last."""
        return self._state

    async def create(self) -> None:
        """Makes the session on the server, with its state and the events that it begins with.

        Raises:
            ServerError: the server does not give one, or one without these events.
        """
        with contextlib.suppress(ServerError):
            await _send(self._client, "DELETE", self._path)
        if not self._request.events:
            await _send(self._client, "POST", self._path, serde.to_json(self._request.state))
            return
        root = await _root_agent(self._client, self._app_name)
        body = {
            "session_id": self._request.session_id,
            "state": self._request.state,
            "events": [_document_of(event, root) for event in self._request.events],
        }
        path = self._path.rpartition("/")[0]
        session = _document(await _send(self._client, "POST", path, serde.to_json(body)))
        taken = session.get("events") if isinstance(session, dict) else None
        if len(taken or ()) != len(self._request.events):
            with contextlib.suppress(ServerError):
                await _send(self._client, "DELETE", self._path)
            raise ServerError(
                "the server did not take the events of `session_input`; it may be too old for that"
            )

    async def send(self, turn: Turn) -> None:
        """Runs one turn.

        Raises:
            ServerError: the server refused, reported an error, or broke off.
            ToolConfirmationError: a tool asks whether it may run, and nobody is there to say.
            AdkModelError: the model ended the turn with an error and no answer.
        """
        message: Content | None = turn.message
        while message:
            message = await self._patiently_run(turn, message)
        answer = _document(await _send(self._client, "GET", self._path))
        if isinstance(answer, dict) and isinstance(answer.get("state"), dict):
            self._state = answer["state"]

    async def _patiently_run(self, turn: Turn, message: Content) -> Content | None:
        """`_run`, again if the server turned the message away as it was asked too much."""
        calls, tried = self._request.calls, 0
        while True:
            await calls.may_reach(host_of(str(self._client.base_url)))
            try:
                return await self._run(turn, message)
            except ServerError as error:
                refusal = refusal_of(error) if error.response is not None else None
                tried += 1
                if refusal is None or not await calls.again(refusal, tried):
                    raise

    async def _run(self, turn: Turn, message: Content) -> Content | None:
        """Sends a message and adds what follows; the next message, if the agent waits for one."""
        asked: list[FunctionCall] = []
        body = serde.to_json(
            {
                "app_name": self._app_name,
                "user_id": self._request.user_id,
                "session_id": self._request.session_id,
                "new_message": message.model_dump(mode="json", exclude_none=True, by_alias=False),
                "streaming": False,
            }
        )
        try:
            async with self._client.stream("POST", "/run_sse", content=body, headers=_JSON) as response:
                if response.is_error:
                    await response.aread()
                    raise ServerError(_refusal(response), response)
                async for data in _event_data(response):
                    event = _event(data)
                    if found := questions(event):
                        asked += found  # the framework's own question is no step of the agent
                    elif event.author != USER_AUTHOR:
                        turn.add(event)
        except httpx.HTTPError as error:
            raise ServerError(_unreachable(error, "/run_sse")) from error
        check_answered(turn)
        if asked:
            return reply(asked, self._request.tools.confirmation)
        if _is_unfinished(turn):
            raise ServerError("/run_sse: the stream broke off in the middle of a turn")
        return None

    async def close(self) -> None:
        """Removes the session from the server, if it answers in time: it may be what the run hung at."""
        await close_quietly("the session on the server", lambda: _send(self._client, "DELETE", self._path))
        await self._client.aclose()


_JSON = {"Content-Type": "application/json"}


async def _send(
    client: httpx.AsyncClient, method: str, path: str, body: bytes | None = None
) -> httpx.Response:
    try:
        response = await client.request(method, path, content=body, headers=_JSON if body else None)
    except httpx.HTTPError as error:
        raise ServerError(_unreachable(error, path)) from error
    if response.is_error:
        raise ServerError(_refusal(response), response)
    return response


async def _event_data(response: httpx.Response) -> AsyncIterator[str]:
    """The data of each server-sent event."""
    async for line in response.aiter_lines():
        if line.startswith("data:") and (data := line[5:].strip()):
            yield data


def _event(data: str) -> Event:
    """The event in a server-sent one.

    Raises:
        ServerError: the server reports an error, or sends something else than an event.
    """
    try:
        document = serde.from_json(data)
        if isinstance(document, dict) and "error" in document and "author" not in document:
            told = str(document["error"])
            raise ServerError(
                f"the server reports: {told}", code=TOO_MANY if _TOO_MANY.search(told) else None
            )
        event = Event.model_validate_json(data)
    except (serde.DocumentError, ValidationError) as error:
        raise ServerError(f"the server sent no event: {data:.200}") from error
    return event.model_copy(update={"invocation_id": ""})


def _is_unfinished(turn: Turn) -> bool:
    """Whether more had to come: the whole of a streamed piece, or the answers to calls."""
    last = turn.events[-1] if turn.events else Event()
    called = {part.function_call.id for part in last.parts if part.function_call}
    return bool(last.partial or called - (last.long_running_tool_ids or set()))


def _document(response: httpx.Response) -> Any:
    """The JSON in a response.

    Raises:
        ServerError: it is none, so the server is no API server of ADK.
    """
    try:
        return serde.from_json(response.content)
    except serde.DocumentError:
        raise ServerError(
            f"{response.request.url.path}: the server sent no JSON: {response.text:.200}"
        ) from None


def _refusal(response: httpx.Response) -> str:
    return (
        f"{response.request.method} {response.request.url.path}: {response.status_code} {response.text:.300}"
    )


def _unreachable(error: httpx.HTTPError, path: str) -> str:
    return f"{path}: {type(error).__name__}: {error}" if str(error) else f"{path}: {type(error).__name__}"
