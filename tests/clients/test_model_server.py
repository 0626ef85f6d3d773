"""The scripted model: it reads and answers in the four interfaces, plays its steps in order, and fails when told to."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.clients.dialects import find_dialect
from tests.clients.model import Breakdown, Call, Refusal, Say, Script, Shell, Step, Talk
from tests.clients.server import ModelServer

Document = Mapping[str, Any]

SHELL = Shell(command="pytest")
CALL = Call(tool="shell", given={"command": "pytest"})

_CHAT_TOOLS = [{"type": "function", "function": {"name": "shell"}}]
#: By interface: the path, and a first request.
BEGIN: dict[str, tuple[str, Document]] = {
    "messages": (
        "/v1/messages?beta=true",
        {"stream": True, "tools": [{"name": "shell"}], "messages": [{"role": "user", "content": "work"}]},
    ),
    "responses": (
        "/v1/responses",
        {
            "stream": True,
            "tools": [{"type": "function", "name": "shell"}],
            "input": [{"role": "user", "content": "work"}],
        },
    ),
    "generate": (
        "/v1beta/models/any:streamGenerateContent?alt=sse",
        {
            "tools": [{"functionDeclarations": [{"name": "shell"}]}],
            "contents": [{"role": "user", "parts": [{"text": "work"}]}],
        },
    ),
    "chat": (
        "/v1/chat/completions",
        {"stream": True, "tools": _CHAT_TOOLS, "messages": [{"role": "user", "content": "work"}]},
    ),
}
#: What a client adds when the tool has run.
THEN: dict[str, list[Document]] = {
    "messages": [
        {"role": "assistant", "content": [{"type": "tool_use", "name": "shell", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "1 passed"}]}]},
    ],
    "responses": [
        {"type": "function_call", "name": "shell", "arguments": "{}"},
        {"type": "function_call_output", "output": "1 passed"},
    ],
    "generate": [
        {"role": "model", "parts": [{"functionCall": {"name": "shell"}}]},
        {"role": "user", "parts": [{"functionResponse": {"response": {"output": "1 passed"}}}]},
    ],
    "chat": [
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "tool", "content": "1 passed"},
    ],
}


def translate(step: Step, talk: Talk) -> Say | Call:
    return step if isinstance(step, Say) else CALL


def ask(server: ModelServer, path: str, document: Document) -> tuple[int, Mapping[str, str], str]:
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=30)
    try:
        connection.request("POST", path, json.dumps(document), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode("utf-8", "replace")
    finally:
        connection.close()


def go_on(name: str) -> tuple[str, Document]:
    path, document = BEGIN[name]
    key = next(each for each in ("messages", "input", "contents") if each in document)
    return path, {**document, key: [*document[key], *THEN[name]]}


def events(text: str) -> Iterator[Any]:
    for row in text.splitlines():
        if row.startswith("data: {"):
            yield json.loads(row.removeprefix("data: "))


@pytest.mark.parametrize("name", BEGIN)
def test_steps_follow_each_other_as_the_talk_goes_on(name: str) -> None:
    with ModelServer(Script(steps=(SHELL, Say(text="All done."))), translate) as server:
        status, headers, first = ask(server, *BEGIN[name])
        second = ask(server, *go_on(name))[2]
        again = ask(server, *go_on(name))[2]
    assert (status, headers["Content-Type"]) == (200, "text/event-stream")
    assert [json.dumps({"command": "pytest"}) in json.dumps(each).replace("\\", "") for each in events(first)].count(
        True
    )
    assert "All done." in second
    assert second == again, "the talk decides, not how often it was asked"
    assert [each.answer for each in server.asked] == [CALL, Say(text="All done."), Say(text="All done.")]
    assert server.told.splitlines() == ["work", "1 passed", "1 passed"]


@pytest.mark.parametrize("name", BEGIN)
def test_an_answer_in_one_piece_says_the_same(name: str) -> None:
    path, document = BEGIN[name]
    path = path.replace(":streamGenerateContent?alt=sse", ":generateContent")
    with ModelServer(Script(steps=(Say(text="All done."),)), translate) as server:
        status, headers, text = ask(server, path, {**document, "stream": False})
    assert (status, headers["Content-Type"]) == (200, "application/json")
    assert "All done." in json.dumps(json.loads(text))


@pytest.mark.parametrize("name", BEGIN)
def test_a_question_on_the_side_takes_no_step(name: str) -> None:
    path, document = BEGIN[name]
    with ModelServer(Script(steps=(SHELL,)), translate) as server:
        text = ask(server, path, {**document, "tools": []})[2]
    assert "ok" in text
    assert server.asked == []


@pytest.mark.parametrize("name", BEGIN)
def test_a_refusal_is_told_once_and_then_the_step_is_played(name: str) -> None:
    refusal = Refusal(status=429, kind="rate", message="too many", retry_after=1)
    with ModelServer(Script(steps=(SHELL,), faults={0: (refusal,)}), translate) as server:
        status, headers, text = ask(server, *BEGIN[name])
        after = ask(server, *BEGIN[name])[0]
    assert (status, headers["Retry-After"], after) == (429, "1", 200)
    assert json.loads(text)["error"]["message"] == "too many"


def test_a_fault_for_ever_stays() -> None:
    script = Script(steps=(SHELL,), faults={0: (Breakdown(how="garbage"),)}, for_ever=True)
    with ModelServer(script, translate) as server:
        texts = [ask(server, *BEGIN["messages"])[2] for _ in range(3)]
    for text in texts:
        with pytest.raises(ValueError):
            list(events(text))


def test_half_an_answer_breaks_off() -> None:
    script = Script(steps=(SHELL,), faults={0: (Breakdown(how="cut"),)})
    with ModelServer(script, translate) as server, pytest.raises(http.client.IncompleteRead):
        ask(server, *BEGIN["chat"])


def test_no_answer_ends_with_the_server() -> None:
    script = Script(steps=(SHELL,), faults={0: (Breakdown(how="hang"),)})
    with ModelServer(script, translate) as server:
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=30)
        connection.request("POST", "/v1/messages", json.dumps(BEGIN["messages"][1]))
        while not server.asked:
            pass
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
        connection.getresponse()
    connection.close()


def test_what_it_does_not_know_is_kept_to_look_at() -> None:
    with ModelServer(Script(steps=(SHELL,)), translate) as server:
        assert ask(server, "/v1/embeddings", {})[0] == 404
        assert ask(server, "/v1/messages/count_tokens", {})[0] == 200
    assert [each.path for each in server.seen] == ["/v1/embeddings"]


def test_a_tool_that_takes_a_text_is_called_with_one() -> None:
    dialect = find_dialect("/v1/responses")
    assert dialect is not None
    talk = Talk(turns=0, told=(), tools=("apply_patch",))
    rows = [
        data["item"]
        for name, data in dialect.stream(Call(tool="apply_patch", given="*** Begin"), talk)
        if "item" in data
    ]
    assert {(row["type"], row["input"]) for row in rows} == {("custom_tool_call", "*** Begin")}
