"""The four interfaces that clients speak to a model: how a request is read, and how an answer is streamed.

Pure: documents in, documents out. Each answer is a list of server-sent events, or one document where the client
does not ask for a stream.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from phase_gate.values import Value
from tests.clients.model import Call, Fault, Say, Talk

Document = Mapping[str, Any]
#: The name of a server-sent event, empty where it has none, and its data.
Event = tuple[str, Document]
Said = Say | Call


class Dialect(Value):
    name: str
    read: Callable[[Document, str], Talk]
    stream: Callable[[Said, Talk], Iterable[Event]]
    whole: Callable[[Said, Talk], Document]
    #: How its makers' server refuses: by fault the kind and the words; and the document of a refusal.
    refusals: Mapping[Fault, tuple[str, str]]
    refuse: Callable[[int, str, str], Document]
    #: What ends a stream, beside its end.
    last: str = ""


#: What a refusal ends with; those from 429 on ask for a second of patience.
STATUSES: Mapping[Fault, int] = {"login": 401, "credit": 402, "rate": 429, "overload": 529}


def find_dialect(path: str) -> Dialect | None:
    """Return the interface that a path belongs to."""
    path = path.partition("?")[0]
    for ends, dialect in (
        (("/messages",), MESSAGES),
        (("/responses",), RESPONSES),
        ((":generateContent", ":streamGenerateContent"), GENERATE),
        (("/chat/completions",), CHAT),
    ):
        if path.endswith(ends):
            return dialect
    return None


def _texts(content: object) -> Iterator[str]:
    """Yield every text in a message's content, however deep it stands."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for each in content:
            yield from _texts(each)
    elif isinstance(content, Mapping):
        for key in ("text", "content", "output", "response", "parts", "functionResponse", "error", "llmContent"):
            if key in content:
                yield from _texts(content[key])


def _fold(roles: Iterable[tuple[bool, object]], **rest: Any) -> Talk:
    """Return the talk of messages in their order, each the model's own or not. Its parts in a row are one answer."""
    told: list[str] = []
    begun: list[str] = []
    turns, before = 0, False
    for is_own, content in roles:
        if is_own:
            turns, told = turns + (not before), []
        else:
            told += [text for text in _texts(content) if text.strip()]
            begun = begun if turns else told
        before = is_own
    return Talk(turns=turns, told=tuple(told), begun="\n".join(begun), **rest)


# --- Messages


def _read_messages(document: Document, path: str) -> Talk:
    return _fold(
        ((row["role"] == "assistant", row["content"]) for row in document["messages"]),
        tools=tuple(tool["name"] for tool in document.get("tools") or ()),
        is_stream=bool(document.get("stream")),
        model=document.get("model", ""),
    )


_USAGE = {"input_tokens": 10, "output_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


def _message(said: Said, talk: Talk) -> dict[str, Any]:
    block: dict[str, Any]
    if isinstance(said, Say):
        block = {"type": "text", "text": said.text}
    else:
        block = {"type": "tool_use", "id": f"toolu_{talk.turns:04}", "name": said.tool, "input": said.given}
    return {
        "id": f"msg_{talk.turns:04}",
        "type": "message",
        "role": "assistant",
        "model": talk.model,
        "content": [block],
        "stop_reason": "end_turn" if isinstance(said, Say) else "tool_use",
        "stop_sequence": None,
        "usage": _USAGE,
    }


def _stream_messages(said: Said, talk: Talk) -> Iterator[Event]:
    whole = _message(said, talk)
    (block,) = whole["content"]
    begun: dict[str, Any]
    delta: dict[str, Any]
    if isinstance(said, Say):
        begun, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": said.text}
    else:
        begun = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(said.given)}
    end = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    rows: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": begun},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": 10}},
        {"type": "message_stop"},
    ]
    for row in rows:
        yield row["type"], row


MESSAGES = Dialect(
    name="messages",
    read=_read_messages,
    stream=_stream_messages,
    whole=_message,
    refusals={
        "login": ("authentication_error", "invalid x-api-key"),
        "credit": ("billing_error", "Your credit balance is too low to access the Anthropic API."),
        "rate": ("rate_limit_error", "This request would exceed your organization's rate limit."),
        "overload": ("overloaded_error", "Overloaded"),
    },
    refuse=lambda status, kind, message: {
        "type": "error",
        "error": {"type": kind, "message": message},
        "request_id": "req_0001",
    },
)


# --- Responses


def _read_responses(document: Document, path: str) -> Talk:
    given = document["input"]
    rows = [{"role": "user", "content": given}] if isinstance(given, str) else given
    own = ("function_call", "custom_tool_call", "local_shell_call", "reasoning")
    return _fold(
        (
            (row.get("role") == "assistant" or row.get("type") in own, row)
            for row in rows
            if row.get("role") != "developer"
        ),
        tools=tuple(tool.get("name") or tool["type"] for tool in document.get("tools") or ()),
        is_stream=bool(document.get("stream")),
        model=document.get("model", ""),
    )


def _item(said: Said, talk: Talk) -> dict[str, Any]:
    if isinstance(said, Say):
        content = [{"type": "output_text", "text": said.text, "annotations": []}]
        return {
            "type": "message",
            "id": f"msg_{talk.turns}",
            "role": "assistant",
            "status": "completed",
            "content": content,
        }
    head = {"id": f"fc_{talk.turns}", "call_id": f"call_{talk.turns}", "name": said.tool, "status": "completed"}
    if isinstance(said.given, str):
        return {"type": "custom_tool_call", **head, "input": said.given}
    return {"type": "function_call", **head, "arguments": json.dumps(said.given)}


def _response(said: Said, talk: Talk) -> dict[str, Any]:
    usage = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 20,
    }
    head = {"id": f"resp_{talk.turns}", "object": "response", "created_at": 0, "model": talk.model}
    return {**head, "status": "completed", "output": [_item(said, talk)], "usage": usage}


def _stream_responses(said: Said, talk: Talk) -> Iterator[Event]:
    whole, item = _response(said, talk), _item(said, talk)
    rows: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress"}},
    ]
    if isinstance(said, Say):
        place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
        rows.append({"type": "response.output_text.delta", **place, "delta": said.text})
    rows.append({"type": "response.output_item.done", "output_index": 0, "item": item})
    rows.append({"type": "response.completed", "response": whole})
    for number, row in enumerate(rows):
        yield row["type"], {**row, "sequence_number": number}


_OPENAI: Mapping[Fault, tuple[str, str]] = {
    "login": ("invalid_api_key", "Incorrect API key provided: none."),
    "credit": ("insufficient_quota", "You exceeded your current quota, please check your plan and billing details."),
    "rate": ("rate_limit_exceeded", "Rate limit reached for requests."),
    "overload": ("server_is_overloaded", "Our servers are currently overloaded."),
}


def _refuse_openai(status: int, kind: str, message: str) -> Document:
    return {"error": {"message": message, "type": kind, "param": None, "code": kind}}


RESPONSES = Dialect(
    name="responses",
    read=_read_responses,
    stream=_stream_responses,
    whole=_response,
    refusals=_OPENAI,
    refuse=_refuse_openai,
)


# --- generateContent


def _read_generate(document: Document, path: str) -> Talk:
    tools = [each["name"] for tool in document.get("tools") or () for each in tool.get("functionDeclarations", ())]
    return _fold(
        ((row.get("role") == "model", row) for row in document["contents"]),
        tools=tuple(tools),
        is_stream=":stream" in path,
        model=path.rpartition("/")[2].partition(":")[0],
    )


def _generated(said: Said, talk: Talk) -> dict[str, Any]:
    part = {"text": said.text} if isinstance(said, Say) else {"functionCall": {"name": said.tool, "args": said.given}}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": talk.model}


def _refuse_generate(status: int, kind: str, message: str) -> Document:
    error: dict[str, Any] = {"code": status, "message": message, "status": kind}
    if status >= 429:
        error["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"}]
    return {"error": error}


GENERATE = Dialect(
    name="generate",
    read=_read_generate,
    stream=lambda said, talk: [("", _generated(said, talk))],
    whole=_generated,
    refusals={
        "login": ("UNAUTHENTICATED", "API key not valid. Please pass a valid API key."),
        "credit": ("FAILED_PRECONDITION", "Billing is not enabled for this project."),
        "rate": ("RESOURCE_EXHAUSTED", "Resource has been exhausted."),
        "overload": ("UNAVAILABLE", "The model is overloaded."),
    },
    refuse=_refuse_generate,
)


# --- chat completions


def _read_chat(document: Document, path: str) -> Talk:
    return _fold(
        (
            (row["role"] == "assistant", row)
            for row in document["messages"]
            if row["role"] not in ("system", "developer")
        ),
        tools=tuple(tool["function"]["name"] for tool in document.get("tools") or ()),
        is_stream=bool(document.get("stream")),
        model=document.get("model", ""),
    )


def _chat_message(said: Said, talk: Talk) -> dict[str, Any]:
    if isinstance(said, Say):
        return {"role": "assistant", "content": said.text}
    function = {"name": said.tool, "arguments": json.dumps(said.given)}
    call = {"index": 0, "id": f"call_{talk.turns}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _chat(said: Said, talk: Talk) -> dict[str, Any]:
    choice = {"index": 0, "message": _chat_message(said, talk), "finish_reason": _finish(said)}
    return {**_chat_head(talk), "object": "chat.completion", "choices": [choice], "usage": _CHAT_USAGE}


def _stream_chat(said: Said, talk: Talk) -> Iterator[Event]:
    head = {**_chat_head(talk), "object": "chat.completion.chunk"}
    yield "", {**head, "choices": [{"index": 0, "delta": _chat_message(said, talk), "finish_reason": None}]}
    yield "", {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": _finish(said)}]}
    yield "", {**head, "choices": [], "usage": _CHAT_USAGE}


def _finish(said: Said) -> str:
    return "stop" if isinstance(said, Say) else "tool_calls"


def _chat_head(talk: Talk) -> dict[str, Any]:
    return {"id": f"chatcmpl-{talk.turns}", "created": 0, "model": talk.model}


_CHAT_USAGE = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}

CHAT = Dialect(
    name="chat",
    read=_read_chat,
    stream=_stream_chat,
    whole=_chat,
    refusals=_OPENAI,
    refuse=_refuse_openai,
    last="[DONE]",
)
