"""A model on loopback that follows a script, in the three protocols agent programs speak.

It calls the `search` tool of the server `dowse` once, then ends the conversation. Every request is kept as the model
would have read it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "scripted"
_USAGE = {"input_tokens": 1, "output_tokens": 1}

Body = Mapping[str, Any]
Event = tuple[str, object]


@dataclass
class Conversation:
    """The requests of one run of an agent, oldest first."""

    question: str
    requests: list[Body] = field(default_factory=list)

    def shown_tools(self) -> list[str]:
        """Names of the Dowse tools in the first request that carries any tool at all."""
        for body in self.requests:
            if names := [name for name, _ in _tools(body)]:
                return [name for name in names if "dowse" in name]
        return []

    def tool_results(self) -> list[str]:
        """Results of tool calls in the last request, as text."""
        return _results(self.requests[-1]) if self.requests else []


def _tools(body: Body) -> list[tuple[str, str]]:
    """Full name, and the name to call, of every tool offered; Codex groups the tools of a server in a namespace."""
    found = []
    for tool in body.get("tools", []):
        name = tool.get("name") or tool.get("function", {}).get("name") or ""
        if tool.get("type") == "namespace":
            found += [(f"{name}/{inner.get('name')}", str(inner.get("name"))) for inner in tool.get("tools", [])]
        else:
            found.append((name, name))
    return found


def _results(body: Body) -> list[str]:
    found: list[object] = []
    for item in body.get("input") or body.get("messages") or []:
        content = item.get("content")
        if item.get("type") in ("function_call_output", "custom_tool_call_output"):
            found.append(item.get("output"))
        elif item.get("role") == "tool":
            found.append(content)
        elif isinstance(content, list):
            found += [part.get("content") for part in content if part.get("type") == "tool_result"]
    return [_as_text(result) for result in found]


def _as_text(result: object) -> str:
    """Clients send a string, or a list of parts with text."""
    if isinstance(result, list):
        return "".join(part.get("text", "") if isinstance(part, dict) else str(part) for part in result)
    return result if isinstance(result, str) else json.dumps(result)


def _search_tool(body: Body) -> tuple[str, str] | None:
    return next(((full, name) for full, name in _tools(body) if "dowse" in full and full.endswith("search")), None)


@contextmanager
def scripted_model(conversation: Conversation) -> Iterator[str]:
    """Serve until the block ends; yields the base address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *values: object) -> None:
            """Requests are kept in the conversation."""

        def do_GET(self) -> None:
            self._send_json({"object": "list", "data": [{"id": MODEL, "object": "model"}], "models": []})

        def do_HEAD(self) -> None:
            self._send_json({})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
            path = self.path.partition("?")[0]
            speak = next((speak for ending, speak in _PROTOCOLS.items() if path.endswith(ending)), None)
            if speak is None:
                self._send_json({"input_tokens": 1}, 200 if path.endswith("count_tokens") else 404)
                return
            conversation.requests.append(body)
            tool = None if _results(body) else _search_tool(body)
            self._send_events(speak(tool, json.dumps({"query": conversation.question})))

        def _send_json(self, value: object, status: int = 200) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def _send_events(self, events: Sequence[Event]) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            for name, data in events:
                head = f"event: {name}\n" if name else ""
                text = data if isinstance(data, str) else json.dumps(data)
                self.wfile.write(f"{head}data: {text}\n\n".encode())
            self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


Called = tuple[str, str] | None


def _messages_events(tool: Called, arguments: str) -> list[Event]:
    """Anthropic's Messages protocol."""
    if tool is None:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}
    else:
        block = {"type": "tool_use", "id": "toolu_1", "name": tool[1], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": arguments}
    message = {"id": "m1", "type": "message", "role": "assistant", "model": MODEL, "content": [], "usage": _USAGE}
    stop = {"stop_reason": "end_turn" if tool is None else "tool_use", "stop_sequence": None}
    events = [
        {"type": "message_start", "message": {**message, "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": _USAGE},
        {"type": "message_stop"},
    ]
    return [(str(event["type"]), event) for event in events]


def _responses_events(tool: Called, arguments: str) -> list[Event]:
    """OpenAI's Responses protocol."""
    item: dict[str, object]
    if tool is None:
        part = {"type": "output_text", "text": "done", "annotations": []}
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
    else:
        full, name = tool
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": name, "status": "completed"}
        item |= {"arguments": arguments} | ({"namespace": full.partition("/")[0]} if full != name else {})
    response = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
    usage = _USAGE | {
        "total_tokens": 2,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    completed = {**response, "status": "completed", "output": [item], "usage": usage}
    events = [
        {"type": "response.created", "response": response},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": completed},
    ]
    return [(str(event["type"]), event) for event in events]


def _chat_events(tool: Called, arguments: str) -> list[Event]:
    """OpenAI's Chat Completions protocol."""
    delta: dict[str, object] = {"role": "assistant", "content": "done"}
    if tool is not None:
        function = {"name": tool[1], "arguments": arguments}
        call = {"index": 0, "id": "call_1", "type": "function", "function": function}
        delta = {"role": "assistant", "tool_calls": [call]}
    chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": MODEL}
    reason = "stop" if tool is None else "tool_calls"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    first = {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    last = {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}
    return [("", first), ("", last), ("", "[DONE]")]


_PROTOCOLS = {
    "/v1/messages": _messages_events,
    "/responses": _responses_events,
    "/chat/completions": _chat_events,
}
