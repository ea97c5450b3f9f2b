"""MCP over stdio: a profile's tools on the official SDK. stdout carries the protocol and nothing else."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
import time
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.metadata import version
from typing import TypeVar, cast

import anyio
import mcp_types as types
from anyio.abc import ObjectSendStream
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_json

from dowse.errors import DowseError
from dowse.processes import thread_cpu_s
from dowse.profiles.tool import Profile, Reply, Tool
from dowse.shells import parent
from dowse.shells.leaving import Leaving
from dowse.shells.tools import Bound, bind_all, reply_text
from dowse.text.surrogates import make_encodable

log = logging.getLogger("dowse.mcp")

Result = TypeVar("Result")
AskElsewhere = Callable[[str, Mapping[str, object]], object]
"""Gives the question to ask another process for a call of this tool; None where only this one can answer."""

_MAX_ERROR_CHARS = 1000
_MANY_UNANSWERED = 500  # who asks more without reading the answers is heard again when it has
_CALLS_AT_A_TIME = 8  # of one connection
# Of all connections: a search has threads of its own, and more of them than processors make every answer slower. A call
# that takes longer may be waiting for a lock or a job, and keeps no other from its turn. On a busy machine it may also
# be at work all the time: another thread would slow down both.
_TURNS = max(1, min(8, (os.cpu_count() or 2) // 2))
_TURN_S = 0.25
_AT_WORK = 0.1  # the share of its time that it had a processor for
_IDLE_THREAD_S = 30.0
_CROWD = 8  # connections that wait at the same time, before another process is worth its memory
_LOOK_S = 0.01
# What is asked with half a character is answered as well as can be; what is kept would not be what was meant.
_REPAIRED = "dowse/repaired"
_NO_TEXT = "what was sent has half a character in it (a lone surrogate), so nothing was done; give text"
# After the client has closed its end; the jobs are ended while the last words are written, so that together it stays
# well under five seconds.
_LAST_ANSWERS_S = 2.0
_LAST_WORDS_S = 0.5
_PARSE_ERROR = SessionMessage(
    types.JSONRPCError(
        jsonrpc="2.0", id=None, error=types.ErrorData(code=types.PARSE_ERROR, message="not a JSON-RPC message")
    )
)


@dataclass(eq=False, slots=True)
class Call:
    """Work that waits for its turn, runs, and is done; `outcome` is what it returned or raised. `question` is for
    another process that can answer in its place."""

    work: Callable[[], object]
    done: Callable[[], object]
    question: object = None
    started_at: float | None = None
    has_turn: bool = True
    outcome: object = None
    error: BaseException | None = None
    thread: int = 0
    cpu_before_s: float = 0.0

    def run(self) -> None:
        self.cpu_before_s, self.thread = time.thread_time(), threading.get_native_id()
        try:
            self.outcome = self.work()
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            self.error = error
        self.done()

    def is_at_work(self, passed_s: float, most_s: float) -> bool:
        """Whether it has used some of the time, but not yet as much of a processor as a turn may take."""
        cpu_s = thread_cpu_s(self.thread) if self.thread else None
        return cpu_s is not None and _AT_WORK * passed_s < cpu_s - self.cpu_before_s < most_s


class Turns:
    """Who runs next, connection by connection: one that asks much at once keeps no other waiting.

    Threads take their next call themselves. Going through the event loop for it left the processor idle for a quarter
    of the time with 64 clients.
    """

    def __init__(self, at_a_time: int = _TURNS, seconds: float = _TURN_S) -> None:
        self._at_a_time = at_a_time
        self._seconds = seconds
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._asked = threading.Condition(self._lock)  # a question waits, and no thread here is free
        self.on_crowd: Callable[[], None] = lambda: None
        self._waiting: dict[object, deque[Call]] = {}
        self._running = self._idle = 0

    def count_waiting(self) -> int:
        """Connections of which a call waits for its turn."""
        return len(self._waiting)

    async def run(self, connection: object, work: Callable[[], Result], question: object = None) -> Result:
        """What the work returns, which is done in a thread. After some time others have its turn, too. A question may
        be answered by another process instead."""
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        call = Call(work, partial(loop.call_soon_threadsafe, done.set), question)
        self._add(connection, call)
        while not done.is_set():
            try:
                with anyio.move_on_after(self._seconds):
                    await done.wait()
            except BaseException:
                if self._remove(connection, call):
                    raise
                with anyio.CancelScope(shield=True):  # a thread can not be stopped
                    await done.wait()
                raise
            self._share_turn(call)
        if call.error is not None:
            raise call.error
        return cast(Result, call.outcome)

    def _add(self, connection: object, call: Call) -> None:
        is_crowd = False
        with self._changed:
            self._waiting.setdefault(connection, deque()).append(call)
            self._wake()
            if call.question is not None and self._running >= self._at_a_time:
                self._asked.notify()
                is_crowd = len(self._waiting) >= _CROWD
        if is_crowd:
            self.on_crowd()

    def _wake(self) -> None:
        """Another thread, where one may run."""
        if self._running >= self._at_a_time:
            return
        if self._idle:
            self._changed.notify()
        else:
            self._running += 1
            threading.Thread(target=self._work, name="dowse-call", daemon=True).start()

    def take_question(self, seconds: float) -> tuple[object, Call] | None:
        """The next question while every thread here is busy, for another process to answer; None where there was none
        for so long. Whoever takes it calls `done` or gives it back."""
        with self._asked:
            while (connection := self._find_question()) is None:
                if not self._asked.wait(seconds):
                    return None
            call = self._take(connection)
            call.has_turn = False
            return connection, call

    def give_back(self, connection: object, call: Call) -> None:
        """To be answered by a thread here, before what the connection has asked later."""
        call.question, call.has_turn, call.started_at = None, True, None
        with self._changed:
            self._waiting[connection] = deque([call, *self._waiting.pop(connection, ())])
            self._wake()

    def _find_question(self) -> object | None:
        if self._running < self._at_a_time:
            return None
        return next((it for it, calls in self._waiting.items() if calls[0].question is not None), None)

    def _take(self, connection: object) -> Call:
        """The connection's next call; what else it has asked waits behind the other connections."""
        calls = self._waiting.pop(connection)
        call = calls.popleft()
        if calls:
            self._waiting[connection] = calls
        call.started_at = time.monotonic()
        return call

    def _remove(self, connection: object, call: Call) -> bool:
        """Whether it had not begun."""
        with self._changed:
            calls = self._waiting.get(connection, deque())
            if call not in calls:
                return False
            calls.remove(call)
            if not calls:
                del self._waiting[connection]
            return True

    def _share_turn(self, call: Call) -> None:
        with self._changed:
            if not call.has_turn or call.started_at is None:
                return
            passed_s = time.monotonic() - call.started_at
            if passed_s >= self._seconds and not call.is_at_work(passed_s, self._seconds):
                call.has_turn = False
                self._running -= 1
                if self._waiting:
                    self._wake()

    def _work(self) -> None:
        """In a thread, until nothing was to be done for a while."""
        while (call := self._next()) is not None:
            call.run()
            with self._changed:
                if not call.has_turn:
                    if self._running >= self._at_a_time:
                        return
                    self._running += 1

    def _next(self) -> Call | None:
        with self._changed:
            while not self._waiting:
                self._running -= 1
                self._idle += 1
                is_woken = self._changed.wait(_IDLE_THREAD_S)
                self._idle -= 1
                if not is_woken or self._running >= self._at_a_time:
                    return None
                self._running += 1
            return self._take(next(iter(self._waiting)))


def make_server(
    profile: Profile, turns: Turns | None = None, ask_elsewhere: AskElsewhere = lambda tool, arguments: None
) -> Server[dict[str, object]]:
    """The server of one connection; all connections of a process share the turns."""
    bound = bind_all(profile)
    turns = turns or Turns()
    ours = anyio.CapacityLimiter(_CALLS_AT_A_TIME)

    @cache
    def described() -> types.ListToolsResult:
        """Made once: the schemas take longer than most answers."""
        return types.ListToolsResult(tools=[_described(tool) for tool in bound.values()])

    async def list_tools(
        context: ServerRequestContext[dict[str, object]], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return described()

    async def call_tool(
        context: ServerRequestContext[dict[str, object]], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if params.name not in bound:
            return _error(_unknown(params.name, profile, bound))
        if not bound[params.name].tool.read_only and _REPAIRED in (params.meta or {}):
            return _error(_NO_TEXT)
        async with ours:
            arguments = params.arguments or {}
            work = partial(answer_call, bound[params.name], arguments)
            return await turns.run(ours, work, ask_elsewhere(params.name, arguments))

    return Server(
        profile.server_name,
        version=version("dowse"),
        instructions=profile.instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _unknown(name: str, profile: Profile, known: Iterable[str]) -> str:
    if profile.wording.unknown_tool:
        return profile.wording.unknown_tool.format(name=name[:100])
    return f"there is no tool {name[:100]!r}; this server has {', '.join(known)}"


def _described(tool: Bound) -> types.Tool:
    hints = tool.tool
    described = types.Tool(
        name=hints.name,
        description=tool.description,
        input_schema=tool.schema,
        annotations=_annotations(hints),
    )
    return described if hints.brief else described.model_copy(update={"title": hints.title})


def _annotations(tool: Tool) -> types.ToolAnnotations:
    if tool.brief and tool.read_only:  # then the protocol gives no meaning to the others
        return types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    hints = types.ToolAnnotations(
        read_only_hint=tool.read_only,
        destructive_hint=tool.destructive,
        idempotent_hint=tool.idempotent,
        open_world_hint=False,
    )
    return hints if tool.brief else hints.model_copy(update={"title": tool.title})


def answer_call(tool: Bound, arguments: dict[str, object]) -> types.CallToolResult:
    try:
        reply = tool(arguments)
    except DowseError as error:
        return _error(str(error))
    except Exception:
        # The client learns that it failed, the log why: a trace may hold paths and content.
        log.exception("%s failed", tool.tool.name)
        return _error(f"{tool.tool.name} failed unexpectedly; the server's log on stderr has the details")
    return _encodable_result(reply)


def _encodable_result(reply: Reply) -> types.CallToolResult:
    """A name on the disk may be no text, and an answer that can not be written would end the server."""
    text, data = reply_text(reply), dict(reply.data)
    try:
        text.encode()
        to_json(data)
    except (UnicodeEncodeError, PydanticSerializationError):
        data = {str(name): make_encodable(value) for name, value in data.items()}
        text = reply_text(replace(reply, data=data, text=None if reply.text is None else str(make_encodable(text))))
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=data or None)


def _error(text: str) -> types.CallToolResult:
    """One line: a message may quote what the client sent, which can be anything."""
    line = str(make_encodable(" ".join(text.split())[:_MAX_ERROR_CHARS]))
    return types.CallToolResult(content=[types.TextContent(type="text", text=line)], is_error=True)


def serve_stdio(profile: Profile, on_exit: Callable[[], None]) -> None:
    """Serve until the client closes stdin or is gone, or a signal comes; never waits for a job on the way out."""
    leaving = Leaving(on_exit)
    leaving.watch()
    try:
        # A tool that never ends would keep the loop from ending.
        anyio.run(_serve, profile, lambda: leaving.within(_LAST_WORDS_S))
    except* BrokenPipeError:
        log.warning("the client reads no more answers")
    except* Exception:
        log.exception("the server failed, and ends")
    leaving.now()


async def _serve(profile: Profile, on_end: Callable[[], None]) -> None:
    server = make_server(profile)
    stdin = os.dup(0)  # while it serves, another file stands in its place
    async with stdio_server() as (reading, writing), writing:
        await _serve_streams(server, reading, writing.send, Wire(on_end, lambda: parent.has_closed(stdin)))


async def serve_lines(
    profile: Profile,
    lines: AsyncIterable[bytes | None],
    write: Callable[[bytes], Awaitable[None]],
    turns: Turns | None = None,
    ask_elsewhere: AskElsewhere = lambda tool, arguments: None,
) -> None:
    """Serve one connection until its lines end; None among them is one that was too long to be kept."""

    async def send(message: SessionMessage) -> None:
        await write(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")

    await _serve_streams(make_server(profile, turns, ask_elsewhere), _messages(lines), send, Wire())


async def _messages(lines: AsyncIterable[bytes | None]) -> AsyncIterator[SessionMessage | Exception]:
    async for line in lines:
        try:
            text = (line or b"").decode("utf-8", "replace")
            yield SessionMessage(types.jsonrpc_message_adapter.validate_json(text, by_name=False))
        except ValueError as error:
            yield error


async def _serve_streams(
    server: Server[dict[str, object]],
    reading: AsyncIterable[SessionMessage | Exception],
    write: Callable[[SessionMessage], Awaitable[None]],
    wire: Wire,
) -> None:
    incoming, requests = anyio.create_memory_object_stream[SessionMessage | Exception]()
    answers, outgoing = anyio.create_memory_object_stream[SessionMessage]()
    async with requests, outgoing, anyio.create_task_group() as tasks:
        tasks.start_soon(wire.receive, reading, incoming, answers.clone())
        tasks.start_soon(wire.send, outgoing, write)
        await server.run(requests, answers, server.create_initialization_options())


class Wire:
    """Between the pipes and the server: every request that came in gets its answer out.

    `on_end` is called when no more requests come, and what came is answered or was given its time; or at once when
    nobody takes the answers any more. `has_closed` tells that no more requests come while many are not read yet.
    """

    def __init__(
        self, on_end: Callable[[], None] = lambda: None, has_closed: Callable[[], bool] = lambda: False
    ) -> None:
        self._unanswered: set[object] = set()
        self._on_end = on_end
        self._has_closed = has_closed

    async def receive(
        self,
        reading: AsyncIterable[SessionMessage | Exception],
        incoming: ObjectSendStream[SessionMessage | Exception],
        answers: ObjectSendStream[SessionMessage],
    ) -> None:
        async with incoming, answers:
            try:
                if await self._pass_on(reading, incoming, answers):
                    # Requests piped in at once are followed by the end of the input before they are answered.
                    with anyio.move_on_after(_LAST_ANSWERS_S):
                        while self._unanswered:
                            await anyio.sleep(_LOOK_S)
            finally:
                # Also when this is cancelled: the others may wait for a tool, or for input, for ever.
                self._on_end()

    async def _pass_on(
        self,
        reading: AsyncIterable[SessionMessage | Exception],
        incoming: ObjectSendStream[SessionMessage | Exception],
        answers: ObjectSendStream[SessionMessage],
    ) -> bool:
        """False where the client has left with answers that it did not take."""
        async for item in reading:
            message = repaired(item) if isinstance(item, Exception) else item
            if message is None:
                await answers.send(_PARSE_ERROR)
                continue
            self._note(message.message)
            await incoming.send(message)
            if not await self._is_heard():
                return False
        return True

    async def _is_heard(self) -> bool:
        """Wait while too many requests are unanswered. Who has closed its end may be reading still: then their number
        falls. False once it has not for as long as last answers are waited for."""
        count, since = len(self._unanswered), anyio.current_time()
        while len(self._unanswered) >= _MANY_UNANSWERED:
            if not self._has_closed() or len(self._unanswered) < count:
                count, since = len(self._unanswered), anyio.current_time()
            if anyio.current_time() - since >= _LAST_ANSWERS_S:
                return False
            await anyio.sleep(_LOOK_S)
        return True

    def _note(self, message: object) -> None:
        """What is still to be answered; a request its client has cancelled is not."""
        if isinstance(message, types.JSONRPCRequest):
            self._unanswered.add(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._unanswered.discard((message.params or {}).get("requestId"))

    async def send(
        self, outgoing: AsyncIterable[SessionMessage], write: Callable[[SessionMessage], Awaitable[None]]
    ) -> None:
        async for message in outgoing:
            await write(message)
            if isinstance(message.message, types.JSONRPCResponse | types.JSONRPCError):
                self._unanswered.discard(message.message.id)


def repaired(error: Exception) -> SessionMessage | None:
    """A message with lone surrogates, which clients do escape into JSON, without them, and marked as such; None if it
    is no message."""
    line = error.errors()[0]["input"] if isinstance(error, ValidationError) else None
    if not isinstance(line, str):
        return None
    try:
        text = json.dumps(_marked(json.loads(line)), ensure_ascii=False).encode("utf-8", "replace")
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(text, by_name=False))
    except (ValueError, RecursionError):
        return None


def _marked(message: object) -> object:
    params = message.get("params") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(params, dict):
        return message
    meta = params.get("_meta")
    return {**message, "params": {**params, "_meta": {**(meta if isinstance(meta, dict) else {}), _REPAIRED: True}}}
