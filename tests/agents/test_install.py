"""Hooks in the settings of agents: added beside what is there, and taken out alone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from phase_gate.agents.agent_table import AGENT_NAMES, Agent, load_agent
from phase_gate.agents.install import (
    TEXT,
    find_commands,
    install_block,
    install_hooks,
    remove_block,
    remove_hooks,
)
from phase_gate.errors import NotAllowedError

AGENTS = [pytest.param(load_agent(name), id=name) for name in AGENT_NAMES]
CLAUDE = load_agent("claude")

TEXTS = {
    "nothing-in-it": "{}\n",
    "blank": " \n",
    "other-settings": '{\n  "a": {\n    "b": 1\n  },\n  "c": null\n}\n',
    "tabs": '{\n\t"a": 1\n}\n',
    "windows": '{\r\n    "a": 1\r\n}\r\n',
    "another-event": '{\n  "hooks": {\n    "SessionStart": []\n  }\n}\n',
    "letters": '{\n  "ä": "日本"\n}\n',
}


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_in_and_out_again(agent: Agent, text: str) -> None:
    edit = install_hooks(agent, text)
    assert edit.after is not None
    before: dict[str, Any] = json.loads(text) if text.strip() else {}
    after = json.loads(edit.after)
    assert find_commands(edit.after, agent).keys() == {agent.stop_event, agent.tool_event}
    assert after.items() >= {**agent.head, **before, "hooks": after["hooks"]}.items()
    assert after["hooks"].items() >= before.get("hooks", {}).items()
    assert install_hooks(agent, edit.after).changes is False, "twice is once"
    removed = remove_hooks(agent, edit.after).after
    if not before:
        assert removed is None
    else:
        assert removed is not None
        assert {**agent.head, **before} == json.loads(removed)
        assert agent.head or removed == text, "written as it was"


@pytest.mark.parametrize("agent", AGENTS)
def test_where_there_was_no_file(agent: Agent) -> None:
    edit = install_hooks(agent, None)
    assert edit.after is not None
    assert json.loads(edit.after) == {
        **agent.head,
        "hooks": {
            event: [agent.entry(event, agent.command("phase-gate", event))]
            for event in (agent.stop_event, agent.tool_event)
        },
    }
    assert remove_hooks(agent, edit.after).after is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{\n  "a": 1 // mine\n}\n', id="a-comment"),
        pytest.param('{"a": 1,}', id="a-comma-too-many"),
        pytest.param("{", id="not-closed"),
        pytest.param('\ufeff{"a": 1}', id="a-mark-in-front"),
        pytest.param('{"hooks": []}', id="hooks-in-a-list"),
        pytest.param('{"hooks": {"Stop": {"a": 1}}}', id="an-event-that-is-no-list"),
        pytest.param('{"hooks": {"Stop": ["a"]}}', id="an-entry-that-is-no-object"),
        pytest.param("[]", id="a-list"),
        pytest.param("[" * 100_000, id="a-tower"),
    ],
)
def test_what_is_no_plain_json_is_left_alone_with_what_to_paste(text: str) -> None:
    with pytest.raises(NotAllowedError, match=r"settings\.json is left alone") as caught:
        install_hooks(CLAUDE, text)
    snippet = caught.value.remedy[caught.value.remedy.index("{") :]
    pasted = install_hooks(CLAUDE, None).after
    assert pasted is not None
    assert json.loads(snippet) == json.loads(pasted)
    commented = f"// mine\n{snippet}"
    assert install_hooks(CLAUDE, commented).changes is False, "pasted, it is there"
    with pytest.raises(NotAllowedError, match=r"settings\.json is left alone"):
        remove_hooks(CLAUDE, commented)
    assert remove_hooks(CLAUDE, text).changes is False


def test_a_hook_that_is_there_stays_as_it_is() -> None:
    hook = {"type": "command", "command": "uv run phase-gate hook stop --agent claude"}
    edit = install_hooks(CLAUDE, json.dumps({"hooks": {"Stop": [{"hooks": [hook]}]}}))
    assert edit.after is not None
    assert json.loads(edit.after)["hooks"]["Stop"] == [{"hooks": [hook]}]
    assert find_commands(edit.after, CLAUDE) == {
        "Stop": "uv run phase-gate hook stop --agent claude",
        "PreToolUse": "phase-gate hook pre-tool --agent claude",
    }


def test_only_our_own_commands_are_removed() -> None:
    text = install_hooks(CLAUDE, None).after
    assert text is not None
    document = json.loads(text)
    mine = {"type": "command", "command": "make lint"}
    document["hooks"]["Stop"][0]["hooks"].append(mine)
    document["hooks"]["PreToolUse"].insert(0, {"matcher": "Edit", "hooks": [mine]})
    removed = remove_hooks(CLAUDE, json.dumps(document)).after
    assert removed is not None
    assert json.loads(removed) == {
        "hooks": {"Stop": [{"hooks": [mine]}], "PreToolUse": [{"matcher": "Edit", "hooks": [mine]}]}
    }
    assert remove_hooks(load_agent("codex"), text).changes is False, "those of another agent are not its own"


# --- AGENTS.md


@pytest.mark.parametrize(
    "text",
    ["", "# Mine\n", "# Mine\r\n\r\ntext\r\n", "\ufeff# Mine\n\n\n"],
    ids=["empty", "plain", "windows", "many-line-ends"],
)
def test_a_block_in_and_out_again(text: str) -> None:
    edit = install_block("AGENTS.md", text)
    assert edit.after is not None
    assert edit.after.startswith(text)
    assert edit.after.replace("\r\n", "\n").endswith(TEXT)
    assert install_block("AGENTS.md", edit.after).changes is False
    assert remove_block("AGENTS.md", edit.after).after == (text or None)
    assert remove_block("AGENTS.md", edit.after + "more\n").after == text + "more\n"
    assert remove_block("AGENTS.md", text).changes is False
