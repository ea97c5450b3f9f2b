"""MCP over a stream: bind tools, validate arguments, answer calls."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import os
import re
import threading
import time
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial, reduce
from importlib.metadata import version
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin, get_type_hints

import anyio
import mcp_types as types
from anyio.abc import ObjectSendStream
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model
from pydantic_core import PydanticCustomError, PydanticSerializationError, to_json

from dowse.errors import BadInput, DowseError, IndexUnusable, replace_repair_command
from dowse.processes import thread_cpu_s
from dowse.server import parent
from dowse.server.shutdown import ShutdownGuard
from dowse.text.unicode import make_encodable
from dowse.tools.tool import DEFAULT_WORDING, MAX_LIST_ITEMS, ContractWording, Param, Tool, ToolReply, ToolSet

# --------------------------------------------------------------------------------------------------
# Bind the functions of a profile to a transport: schemas from signatures, arguments checked before anything runs.

MAX_CHARS = 20_000_000  # per text; contracts have their own, lower limits
MAX_ITEM_CHARS = 100_000  # per text in a list


@dataclass(frozen=True, slots=True)
class BoundTool:
    """A tool with the model of its arguments, whose fields have the names that clients use.

    The two mappings lead from these names to the parameters of the function, and from their snake_case form to these
    names, so that casing is ignored.
    """

    tool: Tool
    arguments: type[BaseModel]
    wording: ContractWording
    parameter_names: Mapping[str, str]
    client_names: Mapping[str, str]

    @property
    def required(self) -> tuple[str, ...]:
        return tuple(name for name, field in self.arguments.model_fields.items() if field.is_required())

    @property
    def schema(self) -> dict[str, Any]:
        schema = self.arguments.model_json_schema()
        schema.pop("title", None)
        for parameter in schema["properties"].values():
            parameter.pop("title", None)
        return _simplify_schema(schema) if self.tool.brief else schema

    @property
    def description(self) -> str:
        return inspect.cleandoc(self.tool.call.__doc__ or "")

    def __call__(self, arguments: Mapping[str, object]) -> ToolReply:
        """Run the tool; raise BadInput that names wrong, missing or unknown arguments."""
        try:
            checked = self.arguments.model_validate(self.with_known_names(arguments))
        except ValidationError as error:
            prefix = "" if self.wording.missing else f"{self.tool.name}: "
            raise BadInput(f"{prefix}{'; '.join(self._describe_errors(error))}") from None
        try:
            return self.tool.call(
                **{self.parameter_names[name]: getattr(checked, name) for name in checked.model_fields_set}
            )
        except IndexUnusable as error:
            if not self.wording.rebuild_command:
                raise
            raise type(error)(replace_repair_command(str(error), self.wording.rebuild_command)) from error

    def with_known_names(self, arguments: Mapping[str, object]) -> dict[str, object]:
        """Accept `topK` for `top_k` and vice versa, because clients differ only in casing."""
        return {self.client_names.get(_snake_case(name), name): value for name, value in arguments.items()}

    def _describe_errors(self, error: ValidationError) -> list[str]:
        complaints = []
        for problem in error.errors(include_url=False, include_input=False):
            name = ".".join(str(part) for part in problem["loc"]) or "arguments"
            if problem["type"] == "extra_forbidden":
                known = ", ".join(self.arguments.model_fields)
                complaints.append(f"unknown parameter {name[:100]!r} (known: {known})")
            elif problem["type"] == "missing" and self.wording.missing:
                complaints.append(self.wording.missing.format(name=name))
            else:
                complaints.append(f"{name}: {problem['msg'][0].lower()}{problem['msg'][1:]}")
        return list(dict.fromkeys(complaints))


@dataclass(frozen=True, slots=True)
class OverloadedTool:
    """Tools that share a name; the required arguments in a call decide which one runs."""

    choices: tuple[BoundTool, ...]

    @property
    def tool(self) -> Tool:
        return replace(self.choices[0].tool, title="; ".join(it.tool.title for it in self.choices))

    @property
    def schema(self) -> dict[str, Any]:
        """Merge the parameters of all choices; none is required, because that depends on the call."""
        schemas = [it.schema for it in self.choices]
        properties = {name: parameter for it in reversed(schemas) for name, parameter in it["properties"].items()}
        return {**schemas[0], "properties": properties, "required": []}

    @property
    def description(self) -> str:
        return " ".join(f"With {_join_required(it.required)}: {it.description}" for it in self.choices)

    def __call__(self, arguments: Mapping[str, object]) -> ToolReply:
        matching = [it for it in self.choices if not it.with_known_names(arguments).keys().isdisjoint(it.required)]
        if len(matching) != 1:
            problem = (
                "these arguments belong to different tools of this name"
                if matching
                else "a required argument is missing"
            )
            raise BadInput(
                f"{self.tool.name}: {problem}; give {', or '.join(_join_required(it.required) for it in self.choices)}"
            )
        return matching[0](arguments)


CallableTool = BoundTool | OverloadedTool


def bind_tools(profile: ToolSet) -> dict[str, CallableTool]:
    """Bind every tool, by name, in the order of the profile."""
    bound: dict[str, list[BoundTool]] = {}
    for tool in profile.tools:
        bound.setdefault(tool.name, []).append(bind_tool(tool, tool.wording or profile.wording))
    return {name: tools[0] if len(tools) == 1 else OverloadedTool(tuple(tools)) for name, tools in bound.items()}


def _join_required(names: Sequence[str]) -> str:
    return " and ".join(names)


def bind_tool(tool: Tool, wording: ContractWording = DEFAULT_WORDING) -> BoundTool:
    hints = get_type_hints(tool.call, include_extras=True)
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(tool.call).parameters.values():
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[parameter.name] = (hints[parameter.name], default)
    own = {_public_name(name): name for name in fields}
    fields = {
        _public_name(name): (_bounded_type(hint), _make_field(hint, default))
        for name, (hint, default) in fields.items()
    }
    config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=tool.strict)
    model = create_model(tool.name, __config__=config, **fields)
    return BoundTool(tool, model, wording, own, {_snake_case(name): name for name in own})


def _simplify_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Drop what does not help the caller: that null is allowed, and the defaults.

    `additionalProperties` is dropped too, because the error for an unknown parameter lists the known ones.
    """
    properties = {}
    for name, parameter in schema["properties"].items():
        merged = {**parameter.pop("anyOf", [{}])[0], **parameter}
        properties[name] = {key: value for key, value in merged.items() if key != "default"}
    required = {"required": schema["required"]} if schema.get("required") else {}
    return {"type": "object", "properties": properties, **required}


def _public_name(name: str) -> str:
    return name.rstrip("_")


def _bounded_type(hint: Any) -> Any:  # noqa: ANN401 - a type expression has no narrower type
    return Annotated[get_args(hint)[0] if get_origin(hint) is Annotated else hint, BeforeValidator(_check_size)]


def _check_size(value: object) -> object:
    """Reject values larger than any question, for every tool and before anything runs; the schema does not mention
    this."""
    if isinstance(value, str) and len(value) > MAX_CHARS:
        raise _too_large_error(MAX_CHARS, "characters", len(value))
    if isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) > MAX_LIST_ITEMS:
            raise _too_large_error(MAX_LIST_ITEMS, "items", len(value))
        longest = max((len(it) for it in value if isinstance(it, str)), default=0)
        if longest > MAX_ITEM_CHARS:
            raise _too_large_error(MAX_ITEM_CHARS, "characters in an item", longest)
    return value


def _too_large_error(most: int, what: str, given: int) -> PydanticCustomError:
    return PydanticCustomError("too_large", "at most {most} {what}, not {given}", {
        "most": f"{most:,}", "what": what, "given": f"{given:,}",
    })  # fmt: skip


def _make_field(hint: Any, default: Any) -> Any:  # noqa: ANN401
    param = reduce(_merge_params, (it for it in get_args(hint)[1:] if isinstance(it, Param)), Param(""))
    extra: dict[str, Any] | None = {"enum": list(param.choices)} if param.choices else None
    return Field(default, description=param.help or None, ge=param.ge, le=param.le, json_schema_extra=extra)


def _merge_params(inner: Param, outer: Param) -> Param:
    """Merge two annotations of a parameter; the outer one is more specific and wins."""
    return Param(
        outer.help or inner.help,
        inner.ge if outer.ge is None else outer.ge,
        inner.le if outer.le is None else outer.le,
        outer.choices or inner.choices,
    )


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def reply_text(reply: ToolReply) -> str:
    return json.dumps(reply.data, ensure_ascii=False) if reply.text is None else reply.text


log = logging.getLogger("dowse.mcp")

CallResult = TypeVar("CallResult")
MakeRemoteCall = Callable[[str, Mapping[str, object]], object]
"""Returns the question that another process can answer for this tool call; None if only this process can."""

_MAX_ERROR_CHARS = 1000
_MAX_UNANSWERED = 500  # a client that sends more without reading answers is read again after it has read some
_MAX_CALLS_PER_CONNECTION = 8  # per connection
# Shared by all connections: a search has its own threads, and more threads than processors slow down every answer. A
# call that takes longer may be waiting for a lock or a job, and must not keep others from their turn. On a busy machine
# it may be computing all the time; then another thread would slow down both.
_MAX_RUNNING_CALLS = max(1, min(8, (os.cpu_count() or 2) // 2))
_TURN_SECONDS = 0.25
_BUSY_CPU_FRACTION = 0.1  # the share of its time on a processor
_IDLE_THREAD_SECONDS = 30.0
_OVERLOAD_CONNECTIONS = 8  # waiting connections that justify the memory of another process
_POLL_SECONDS = 0.01
# Read-only tools repair lone surrogates; tools that write reject them, because the stored text would differ from what
# was sent.
_REPAIRED_META_KEY = "dowse/repaired"
_INVALID_UNICODE = "the arguments contain invalid Unicode (a lone surrogate), so nothing was done; send valid text"
# After the client has closed its end. Jobs end while the last answers are written, so the total stays well under five
# seconds.
_STDIO_LAST_ANSWERS_SECONDS = 2.0
_LAST_WRITE_SECONDS = 0.5
_PARSE_ERROR = SessionMessage(
    types.JSONRPCError(
        jsonrpc="2.0", id=None, error=types.ErrorData(code=types.PARSE_ERROR, message="not a JSON-RPC message")
    )
)


@dataclass(eq=False, slots=True)
class ScheduledCall:
    """A unit of work that waits for its turn, runs, and is done.

    `outcome` is what it returned. `question` is for another process that can answer in its place.
    """

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
        except BaseException as error:  # noqa: BLE001 - raised again in the waiting coroutine
            self.error = error
        self.done()

    def is_computing(self, passed_s: float, most_s: float) -> bool:
        """Return whether the call has used some processor time, but not yet as much as a turn may take."""
        cpu_s = thread_cpu_s(self.thread) if self.thread else None
        return cpu_s is not None and _BUSY_CPU_FRACTION * passed_s < cpu_s - self.cpu_before_s < most_s


class CallScheduler:
    """Schedules calls connection by connection, so that a client with many requests does not delay others.

    Threads take their next call themselves. Going through the event loop left the processor idle for a quarter of the
    time with 64 clients.
    """

    def __init__(self, at_a_time: int = _MAX_RUNNING_CALLS, seconds: float = _TURN_SECONDS) -> None:
        self._max_running = at_a_time
        self._turn_seconds = seconds
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._remote_call_waiting = threading.Condition(self._lock)  # a question waits, and no thread here is free
        self.on_overload: Callable[[], None] = lambda: None
        self._waiting: dict[object, deque[ScheduledCall]] = {}
        self._running = self._idle = 0

    def count_waiting(self) -> int:
        """Return the number of connections with a call that waits for its turn."""
        return len(self._waiting)

    async def run(self, connection: object, work: Callable[[], CallResult], question: object = None) -> CallResult:
        """Run the work in a thread and return its result.

        After some time, other calls share its turn. A question may be answered by another process instead.
        """
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        call = ScheduledCall(work, partial(loop.call_soon_threadsafe, done.set), question)
        self._add_call(connection, call)
        while not done.is_set():
            try:
                with anyio.move_on_after(self._turn_seconds):
                    await done.wait()
            except BaseException:
                if self._remove_call(connection, call):
                    raise
                with anyio.CancelScope(shield=True):  # a thread cannot be stopped
                    await done.wait()
                raise
            self._yield_turn(call)
        if call.error is not None:
            raise call.error
        return cast(CallResult, call.outcome)

    def _add_call(self, connection: object, call: ScheduledCall) -> None:
        is_crowd = False
        with self._changed:
            self._waiting.setdefault(connection, deque()).append(call)
            self._wake_thread()
            if call.question is not None and self._running >= self._max_running:
                self._remote_call_waiting.notify()
                is_crowd = len(self._waiting) >= _OVERLOAD_CONNECTIONS
        if is_crowd:
            self.on_overload()

    def _wake_thread(self) -> None:
        """Wake or start another thread if one may run."""
        if self._running >= self._max_running:
            return
        if self._idle:
            self._changed.notify()
        else:
            self._running += 1
            threading.Thread(target=self._run_calls, name="dowse-call", daemon=True).start()

    def take_remote_call(self, seconds: float) -> tuple[object, ScheduledCall] | None:
        """Take the next question for another process while every thread here is busy; None if none came in time.

        The caller must call `done` or give the question back.
        """
        with self._remote_call_waiting:
            while (connection := self._find_question()) is None:
                if not self._remote_call_waiting.wait(seconds):
                    return None
            call = self._take_call(connection)
            call.has_turn = False
            return connection, call

    def give_back(self, connection: object, call: ScheduledCall) -> None:
        """Return the call, to be answered by a thread here before later calls of its connection."""
        call.question, call.has_turn, call.started_at = None, True, None
        with self._changed:
            self._waiting[connection] = deque([call, *self._waiting.pop(connection, ())])
            self._wake_thread()

    def _find_question(self) -> object | None:
        if self._running < self._max_running:
            return None
        return next((it for it, calls in self._waiting.items() if calls[0].question is not None), None)

    def _take_call(self, connection: object) -> ScheduledCall:
        """Take the next call of the connection; its other calls queue behind the other connections."""
        calls = self._waiting.pop(connection)
        call = calls.popleft()
        if calls:
            self._waiting[connection] = calls
        call.started_at = time.monotonic()
        return call

    def _remove_call(self, connection: object, call: ScheduledCall) -> bool:
        """Remove the call and return whether it had not started."""
        with self._changed:
            calls = self._waiting.get(connection, deque())
            if call not in calls:
                return False
            calls.remove(call)
            if not calls:
                del self._waiting[connection]
            return True

    def _yield_turn(self, call: ScheduledCall) -> None:
        with self._changed:
            if not call.has_turn or call.started_at is None:
                return
            elapsed_s = time.monotonic() - call.started_at
            if elapsed_s >= self._turn_seconds and not call.is_computing(elapsed_s, self._turn_seconds):
                call.has_turn = False
                self._running -= 1
                if self._waiting:
                    self._wake_thread()

    def _run_calls(self) -> None:
        """Run calls in a thread until there was nothing to do for a while."""
        while (call := self._next_call()) is not None:
            call.run()
            with self._changed:
                if not call.has_turn:
                    if self._running >= self._max_running:
                        return
                    self._running += 1

    def _next_call(self) -> ScheduledCall | None:
        with self._changed:
            while not self._waiting:
                self._running -= 1
                self._idle += 1
                is_woken = self._changed.wait(_IDLE_THREAD_SECONDS)
                self._idle -= 1
                if not is_woken or self._running >= self._max_running:
                    return None
                self._running += 1
            return self._take_call(next(iter(self._waiting)))


def make_server(
    profile: ToolSet, turns: CallScheduler | None = None, ask_elsewhere: MakeRemoteCall = lambda tool, arguments: None
) -> Server[dict[str, object]]:
    """Create the server of one connection; all connections of a process share `turns`."""
    bound = bind_tools(profile)
    turns = turns or CallScheduler()
    limiter = anyio.CapacityLimiter(_MAX_CALLS_PER_CONNECTION)

    @cache
    def described() -> types.ListToolsResult:
        """Describe the tools once, because creating schemas takes longer than most answers."""
        return types.ListToolsResult(tools=[_describe_tool(tool) for tool in bound.values()])

    async def list_tools(
        context: ServerRequestContext[dict[str, object]], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return described()

    async def call_tool(
        context: ServerRequestContext[dict[str, object]], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if params.name not in bound:
            return _error_result(_unknown_tool_text(params.name, profile, bound))
        if not bound[params.name].tool.read_only and _REPAIRED_META_KEY in (params.meta or {}):
            return _error_result(_INVALID_UNICODE)
        async with limiter:
            arguments = params.arguments or {}
            work = partial(answer_call, bound[params.name], arguments)
            return await turns.run(limiter, work, ask_elsewhere(params.name, arguments))

    return Server(
        profile.server_name,
        version=version("dowse"),
        instructions=profile.instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _unknown_tool_text(name: str, profile: ToolSet, known: Iterable[str]) -> str:
    if profile.wording.unknown_tool:
        return profile.wording.unknown_tool.format(name=name[:100])
    return f"unknown tool {name[:100]!r}; this server has {', '.join(known)}"


def _describe_tool(tool: CallableTool) -> types.Tool:
    hints = tool.tool
    described = types.Tool(
        name=hints.name,
        description=tool.description,
        input_schema=tool.schema,
        annotations=_tool_annotations(hints),
    )
    return described if hints.brief else described.model_copy(update={"title": hints.title})


def _tool_annotations(tool: Tool) -> types.ToolAnnotations:
    if tool.brief and tool.read_only:  # the protocol defines the other hints only for tools that write
        return types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    hints = types.ToolAnnotations(
        read_only_hint=tool.read_only,
        destructive_hint=tool.destructive,
        idempotent_hint=tool.idempotent,
        open_world_hint=False,
    )
    return hints if tool.brief else hints.model_copy(update={"title": tool.title})


def answer_call(tool: CallableTool, arguments: dict[str, object]) -> types.CallToolResult:
    try:
        reply = tool(arguments)
    except DowseError as error:
        return _error_result(str(error))
    except Exception:
        # The client learns only that the call failed: a traceback may contain paths and content. The log says why.
        log.exception("%s failed", tool.tool.name)
        return _error_result(f"{tool.tool.name} failed unexpectedly; the server's log on stderr has the details")
    return _encodable_result(reply)


def _encodable_result(reply: ToolReply) -> types.CallToolResult:
    """Make the reply encodable: a file name may not be valid text, and an answer that cannot be written would end the
    server."""
    text, data = reply_text(reply), dict(reply.data)
    try:
        text.encode()
        to_json(data)
    except (UnicodeEncodeError, PydanticSerializationError):
        data = {str(name): make_encodable(value) for name, value in data.items()}
        text = reply_text(replace(reply, data=data, text=None if reply.text is None else str(make_encodable(text))))
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=data or None)


def _error_result(text: str) -> types.CallToolResult:
    """Return an error as one line, because a message may quote anything the client sent."""
    line = str(make_encodable(" ".join(text.split())[:_MAX_ERROR_CHARS]))
    return types.CallToolResult(content=[types.TextContent(type="text", text=line)], is_error=True)


def serve_stdio(profile: ToolSet, on_exit: Callable[[], None]) -> None:
    """Serve until the client closes stdin or is gone, or a signal arrives; never wait for a job on the way out."""
    shutdown_guard = ShutdownGuard(on_exit)
    shutdown_guard.watch()
    try:
        # A tool that never returns would keep the event loop from ending.
        anyio.run(_serve_over_stdio, profile, lambda: shutdown_guard.exit_within(_LAST_WRITE_SECONDS))
    except* BrokenPipeError:
        log.warning("the client no longer reads answers")
    except* Exception:
        log.exception("the server failed; exiting")
    shutdown_guard.exit_now()


async def _serve_over_stdio(profile: ToolSet, on_end: Callable[[], None]) -> None:
    server = make_server(profile)
    stdin = os.dup(0)  # while serving, another file takes its place
    async with stdio_server() as (reading, writing), writing:
        await _serve_streams(server, reading, writing.send, MessagePump(on_end, lambda: parent.is_peer_closed(stdin)))


async def serve_lines(
    profile: ToolSet,
    lines: AsyncIterable[bytes | None],
    write: Callable[[bytes], Awaitable[None]],
    turns: CallScheduler | None = None,
    ask_elsewhere: MakeRemoteCall = lambda tool, arguments: None,
) -> None:
    """Serve one connection until its lines end; None stands for a line that was too long."""

    async def send(message: SessionMessage) -> None:
        await write(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")

    await _serve_streams(make_server(profile, turns, ask_elsewhere), _parse_messages(lines), send, MessagePump())


async def _parse_messages(lines: AsyncIterable[bytes | None]) -> AsyncIterator[SessionMessage | Exception]:
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
    message_pump: MessagePump,
) -> None:
    incoming, requests = anyio.create_memory_object_stream[SessionMessage | Exception]()
    answers, outgoing = anyio.create_memory_object_stream[SessionMessage]()
    async with requests, outgoing, anyio.create_task_group() as tasks:
        tasks.start_soon(message_pump.receive, reading, incoming, answers.clone())
        tasks.start_soon(message_pump.send, outgoing, write)
        await server.run(requests, answers, server.create_initialization_options())


class MessagePump:
    """Passes messages between the pipes and the server, and makes sure that every request is answered.

    `on_end` is called when no more requests come and those received are answered or timed out, or at once when the
    client takes no more answers. `has_closed` reports that no more requests come while many are still unread.
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
                if await self._forward_requests(reading, incoming, answers):
                    # Requests piped in at once are followed by the end of the input before they are answered.
                    with anyio.move_on_after(_STDIO_LAST_ANSWERS_SECONDS):
                        while self._unanswered:
                            await anyio.sleep(_POLL_SECONDS)
            finally:
                # Also on cancellation: the other tasks may wait forever for a tool or for input.
                self._on_end()

    async def _forward_requests(
        self,
        reading: AsyncIterable[SessionMessage | Exception],
        incoming: ObjectSendStream[SessionMessage | Exception],
        answers: ObjectSendStream[SessionMessage],
    ) -> bool:
        """Forward messages until they end; return False if the client left without taking its answers."""
        async for item in reading:
            message = repair_message(item) if isinstance(item, Exception) else item
            if message is None:
                await answers.send(_PARSE_ERROR)
                continue
            self._track_request(message.message)
            await incoming.send(message)
            if not await self._wait_for_client():
                return False
        return True

    async def _wait_for_client(self) -> bool:
        """Wait while too many requests are unanswered, and return whether the client still reads.

        A client that has closed its end may still be reading: then the number of unanswered requests falls. Return
        False if it does not fall for as long as the last answers may take.
        """
        count, since = len(self._unanswered), anyio.current_time()
        while len(self._unanswered) >= _MAX_UNANSWERED:
            if not self._has_closed() or len(self._unanswered) < count:
                count, since = len(self._unanswered), anyio.current_time()
            if anyio.current_time() - since >= _STDIO_LAST_ANSWERS_SECONDS:
                return False
            await anyio.sleep(_POLL_SECONDS)
        return True

    def _track_request(self, message: object) -> None:
        """Track unanswered requests; a request cancelled by its client needs no answer."""
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


def repair_message(error: Exception) -> SessionMessage | None:
    """Return the message without its lone surrogates, which some clients escape into JSON, and mark it as repaired.
    Return None if it is not a message."""
    line = error.errors()[0]["input"] if isinstance(error, ValidationError) else None
    if not isinstance(line, str):
        return None
    try:
        text = json.dumps(_mark_repaired(json.loads(line)), ensure_ascii=False).encode("utf-8", "replace")
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(text, by_name=False))
    except (ValueError, RecursionError):
        return None


def _mark_repaired(message: object) -> object:
    params = message.get("params") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(params, dict):
        return message
    meta = params.get("_meta")
    return {
        **message,
        "params": {**params, "_meta": {**(meta if isinstance(meta, dict) else {}), _REPAIRED_META_KEY: True}},
    }
