"""Hooks in the settings of agents: put in without touching anything else, and taken out to the byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phase_gate.agents.agent import AGENT_NAMES, Agent, load_agent
from phase_gate.agents.installing import (
    BEGIN,
    END,
    TEXT,
    digest,
    find_commands,
    install_block,
    install_hooks,
    record,
    remove_block,
    remove_hooks,
    take_back,
)
from phase_gate.agents.json_text import parse
from phase_gate.errors import NotAllowedError

AGENTS = [pytest.param(load_agent(name), id=name) for name in AGENT_NAMES]
CLAUDE = load_agent("claude")

TEXTS = {
    "nothing-in-it": "{}",
    "a-line-end": "{}\n",
    "two-lines": "{\n}\n",
    "blank": " \n",
    "empty": "",
    "one-line": '{"a": 1}',
    "other-settings": '{\n  "a": {"b": [1, 2]},\n  "c": null\n}\n',
    "tabs": '{\n\t"a": 1\n}\n',
    "four-columns": '{\n    "a": 1\n}',
    "windows": '{\r\n  "a": 1\r\n}\r\n',
    "a-mark-in-front": '\ufeff{"a": 1}\n',
    "remarks": '// mine\n{\n  "a": 1 // one\n  /* and\n  no more */\n}\n// end\n',
    "a-comma-too-many": '{\n  "a": 1,\n}\n',
    "a-comma-and-a-remark": '{\n  "a": 1, // one\n}\n',
    "signs-in-texts": '{\n  "a//": "}, /* \\" ]"\n}\n',
    "no-hooks-yet": '{\n  "hooks": {}\n}\n',
    "another-event": '{\n  "hooks": {\n    "SessionStart": [{"hooks": []}]\n  }\n}\n',
    "an-empty-list": '{\n  "hooks": {"Stop": [], "stop": [], "agentStop": [], "AfterAgent": []},\n  "z": 0\n}\n',
    "letters": '{\n  "ä": "日本 \\u00e9"\n}\n',
}


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_in_and_out_again(agent: Agent, text: str) -> None:
    edit = install_hooks(agent, text)
    assert edit.after is not None
    before: dict[str, Any] = parse(text).value if text.strip() else {}
    after = parse(edit.after).value
    assert find_commands(edit.after, agent).keys() == {agent.stop_event, agent.tool_event}
    for key, value in before.items():
        if key != "hooks":
            assert after[key] == value
    for event, rows in before.get("hooks", {}).items():
        assert after["hooks"][event][: len(rows)] == rows
    assert after.items() >= agent.head.items()
    # Whatever was there still stands there, in its order: nothing but insertions.
    assert _is_part(text, edit.after)
    back = take_back(agent.settings, edit.after, record(edit))
    assert back is not None
    assert back.after == text
    assert install_hooks(agent, edit.after).changes is False, "twice is once"


def _is_part(text: str, longer: str) -> bool:
    rest = iter(longer)
    return all(sign in rest for sign in text)


@pytest.mark.parametrize("agent", AGENTS)
def test_where_there_was_no_file(agent: Agent) -> None:
    edit = install_hooks(agent, None)
    assert edit.after is not None
    document = json.loads(edit.after)
    assert document == {
        **agent.head,
        "hooks": {
            event: [agent.entry(event, agent.command("phase-gate", event))]
            for event in (agent.stop_event, agent.tool_event)
        },
    }
    back = take_back(agent.settings, edit.after, record(edit))
    assert back is not None
    assert back.after is None
    assert remove_hooks(agent, edit.after).after is None


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_out_where_nobody_knows_how_it_was(agent: Agent, text: str) -> None:
    """In another clone, say, or after others have changed the file: by what the hooks say."""
    edit = install_hooks(agent, text)
    assert edit.after is not None
    changed = edit.after + "\n"
    assert take_back(agent.settings, changed, record(edit)) is None
    removed = remove_hooks(agent, changed).after
    if removed is None:
        assert not text.strip() or parse(text).value in ({}, {"hooks": {}})
        return
    before, after = parse(text).value, parse(removed).value
    assert find_commands(removed, agent) == {}
    assert {**after, **agent.head, "hooks": None} == {**before, **agent.head, "hooks": None}
    kept = {event: rows for event, rows in before.get("hooks", {}).items() if rows}
    assert {event: rows for event, rows in after.get("hooks", {}).items() if rows} == kept


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("{", "line 1: a text in double quotes is missing", id="not-closed"),
        pytest.param('{\n"a" 1}', "line 2: ':' is missing", id="a-colon"),
        pytest.param('{"a": 1 "b": 2}', "line 1: ',' is missing", id="a-comma"),
        pytest.param('{"a": }', "line 1: a value is missing", id="a-value"),
        pytest.param("{} {}", "line 1: more than one value", id="two"),
        pytest.param('{"hooks": []}', "line 1: this is no object", id="hooks-in-a-list"),
        pytest.param('{"hooks": {"Stop": {"a": 1}}}', "line 1: this is no array", id="an-event-that-is-no-list"),
        pytest.param("[]", "this is no object", id="a-list"),
        pytest.param('"text"', "this is no object", id="a-text"),
        pytest.param("[" * 1000, "a value is missing", id="a-tower"),
    ],
)
def test_what_is_not_understood_is_left_alone(text: str, problem: str) -> None:
    with pytest.raises(NotAllowedError, match="can't be added to") as caught:
        install_hooks(CLAUDE, text)
    assert problem in caught.value.problem


def test_a_hook_that_is_there_stays_as_it_is() -> None:
    hook = '{"type": "command", "command": "uv run phase-gate hook stop --agent claude"}'
    own = f'{{"hooks": {{"Stop": [{{"hooks": [{hook}]}}]}}}}'
    edit = install_hooks(CLAUDE, own)
    assert edit.after is not None
    assert len(parse(edit.after).value["hooks"]["Stop"]) == 1
    assert find_commands(edit.after, CLAUDE) == {
        "Stop": "uv run phase-gate hook stop --agent claude",
        "PreToolUse": "phase-gate hook pre-tool --agent claude",
    }


def test_another_program_takes_the_place_of_the_first() -> None:
    first = install_hooks(CLAUDE, '{"a": 1}').after
    edit = install_hooks(CLAUDE, first, program="uv run phase-gate")
    assert edit.after is not None
    assert set(find_commands(edit.after, CLAUDE).values()) == {
        "uv run phase-gate hook stop --agent claude",
        "uv run phase-gate hook pre-tool --agent claude",
    }
    assert install_hooks(CLAUDE, edit.after, program="uv run phase-gate").changes is False


def test_hooks_of_other_agents_are_not_ours_to_remove() -> None:
    text = install_hooks(load_agent("codex"), None).after
    assert text is not None
    assert remove_hooks(CLAUDE, text).changes is False


def test_a_record_that_does_not_fit_is_not_believed() -> None:
    edit = install_hooks(CLAUDE, '{"a": 1}')
    assert edit.after is not None
    kept = record(edit)
    assert take_back(CLAUDE.settings, edit.after, None) is None
    assert take_back(CLAUDE.settings, edit.after, {**kept, "inserted": [[0, 3]]}) is None
    assert take_back(CLAUDE.settings, edit.after, {**kept, "before": digest("other")}) is None


# --- any settings at all

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
ROWS = st.lists(
    st.dictionaries(st.sampled_from(["matcher", "command", "x"]), st.text(max_size=5), max_size=2), max_size=2
)
HOOKS = st.dictionaries(st.sampled_from(["Stop", "PreToolUse", "SessionStart", "stop"]), ROWS, max_size=3)
OBJECTS = st.builds(
    lambda rest, hooks, has: {**rest, **({"hooks": hooks} if has else {})},
    st.dictionaries(st.text(max_size=4).filter(lambda key: key not in ("hooks", "version")), VALUES, max_size=3),
    HOOKS,
    st.booleans(),
)
REMARKS = st.sampled_from(["", " ", "// a, {[\n", "/* b } */", "\r\n"])


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Settings as somebody may have written them."""
    indent = draw(st.sampled_from([None, 1, 2, 4, "\t"]))
    text = json.dumps(draw(OBJECTS), indent=indent, ensure_ascii=draw(st.booleans()))
    return draw(REMARKS) + text[:1] + draw(REMARKS) + text[1:-1] + draw(REMARKS) + text[-1:] + draw(REMARKS)


@settings(max_examples=60)
@given(documents(), st.sampled_from(AGENT_NAMES))
def test_any_settings(text: str, name: str) -> None:
    agent = load_agent(name)
    edit = install_hooks(agent, text)
    assert edit.after is not None
    assert find_commands(edit.after, agent).keys() == {agent.stop_event, agent.tool_event}
    back = take_back(agent.settings, edit.after, record(edit))
    assert back is not None
    assert back.after == text
    removed = remove_hooks(agent, edit.after).after
    assert removed is None or not find_commands(removed, agent)


# --- AGENTS.md


@pytest.mark.parametrize(
    "text",
    ["", "# Mine\n", "# Mine", "# Mine\r\n\r\ntext\r\n", "\ufeff# Mine\n\n\n"],
    ids=["empty", "plain", "no-line-end", "windows", "many-line-ends"],
)
def test_a_block_in_and_out_again(text: str) -> None:
    edit = install_block("AGENTS.md", text)
    assert edit.after is not None
    assert edit.after.startswith(text)
    assert edit.after.replace("\r\n", "\n").endswith(TEXT)
    back = take_back("AGENTS.md", edit.after, record(edit))
    assert back is not None
    assert back.after == text
    assert install_block("AGENTS.md", edit.after).changes is False
    left = remove_block("AGENTS.md", edit.after + "more\n").after
    assert left is not None
    assert left.split() == [*text.split(), "more"]
    assert remove_block("AGENTS.md", text).changes is False


def test_the_block_is_short() -> None:
    rows = TEXT.splitlines()
    assert (rows[0], rows[-1]) == (BEGIN, END)
    assert len(rows) <= 15
