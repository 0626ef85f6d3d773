"""What counts as a block of the agent's own, and what it says."""

from __future__ import annotations

import time

import pytest

from phase_gate.claims.agent_output import read_claim_text, sentences
from phase_gate.claims.blocks import StatusBlocks, read_blocks
from phase_gate.claims.confidence import DEFAULT_PATTERNS, find_patterns

EXIT = "EXIT_STATUS: COMPLETE\nEXIT_REASON: both roots are there\nREMAINING_WORK: none\n"
RALPH = """\
---RALPH_STATUS---
STATUS: COMPLETE
TASKS_COMPLETED_THIS_LOOP: 2
FILES_MODIFIED: 3
TESTS_STATUS: PASSING
WORK_TYPE: IMPLEMENTATION
EXIT_SIGNAL: true
RECOMMENDATION: nothing is left
---END_RALPH_STATUS---
"""
DOYAKEN = """\
DOYAKEN_STATUS:
  PHASE_COMPLETE: true
  FILES_MODIFIED: 3
  TESTS_STATUS: pass
  CONFIDENCE: high
  REMAINING_WORK: none
"""
PRP = """\
---PRP_PHASE_STATUS---
PHASE: GREEN
TESTS_TOTAL: 2

DUAL_GATE:
  GATE_1: true
  GATE_1_DETAIL: "tests_passing: 2"
  GATE_2: true
  CAN_EXIT: true

EXIT_SIGNAL: true
---END_PRP_PHASE_STATUS---
"""
ALL = {"EXIT_STATUS": EXIT, "RALPH_STATUS": RALPH, "DOYAKEN_STATUS": DOYAKEN, "PRP_PHASE_STATUS": PRP}


def read(*texts: str) -> StatusBlocks:
    return read_blocks(read_claim_text(texts))


@pytest.mark.parametrize("kind", ALL)
def test_each_kind_says_done(kind: str) -> None:
    said = read(f"I looked at it again.\n\n{ALL[kind]}\nThat is all.")
    assert (said.explicit, said.problems, [block.kind for block in said.blocks]) == (True, (), [kind])


def indented(text: str, by: str = "    ") -> str:
    return "".join(f"{by}{line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("```\n{}```\n", id="fenced"),
        pytest.param("````\n```\n{}```\n````\n", id="a-fence-in-a-fence"),
        pytest.param("```\n    ```\n{}```\n", id="a-deeper-fence-does-not-close"),
        pytest.param("1. Print this:\n   ```\n{}   ```\n", id="fenced-in-a-list"),
        pytest.param("```\n{}", id="a-fence-that-nobody-closed"),
        pytest.param("<prompt>\n{}</prompt>\n", id="an-echoed-prompt"),
        pytest.param("<!--\n{}-->\n", id="a-comment"),
        pytest.param("> He said:\n{}\n", id="a-quote-that-goes-on"),
    ],
)
@pytest.mark.parametrize("kind", ALL)
def test_what_is_shown_is_not_said(kind: str, text: str) -> None:
    said = read(text.replace("{}", ALL[kind]) + "\nI have not finished.\n")
    assert (said.explicit, said.blocks) == (None, ())


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("by", ["> ", "    ", "\t", "  ", "- ", "+", "| "])
def test_what_does_not_begin_at_the_margin_is_not_said(kind: str, by: str) -> None:
    assert read(indented(ALL[kind], by) + "\nI have not finished.\n").blocks == ()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("**EXIT_STATUS:** COMPLETE\n", id="bold"),
        pytest.param("1. EXIT_STATUS: COMPLETE\n", id="list"),
        pytest.param("I print EXIT_STATUS: COMPLETE at the end.\n", id="in-a-sentence"),
        pytest.param("LAST_EXIT_STATUS: 0\n", id="another-name"),
    ],
)
def test_what_is_no_such_block(text: str) -> None:
    assert read(text) == StatusBlocks()


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: text.replace("\n", "\r\n"), id="carriage-returns"),
        pytest.param(lambda text: f"\ufeff{text}", id="a-byte-order-mark"),
        pytest.param(lambda text: "".join(f"\x1b[1;32m{row}\x1b[0m\n" for row in text.splitlines()), id="colours"),
        pytest.param(lambda text: text.replace("\n", "  \n"), id="blanks-at-the-end"),
        pytest.param(lambda text: f"{text}\n{text}", id="twice-the-same"),
        pytest.param(lambda text: f"```\ncode\n```\n{text}", id="behind-a-fence"),
        pytest.param(lambda text: text.rstrip("\n"), id="without-a-last-line-end"),
        pytest.param(lambda text: f"{text.replace('true', 'false')}\n{text}", id="the-last-one-counts"),
    ],
)
def test_it_is_read_nevertheless(kind: str, change: object) -> None:
    said = read(change(ALL[kind]))  # type: ignore[operator]
    assert (said.explicit, said.problems) == (True, ())


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(str.lower, id="other-case"),
        pytest.param(lambda text: '{"text": "' + text.replace("\n", "\\n") + '"}', id="in-a-json-string"),
        pytest.param(lambda text: text.replace("STATUS", "ST\u200bATUS"), id="an-invisible-character"),
    ],
)
def test_what_merely_looks_like_it_is_none(kind: str, change: object) -> None:
    assert read(change(ALL[kind])).explicit is None  # type: ignore[operator]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("EXIT_STATUS: {COMPLETE|CONTINUE}\n", "'{COMPLETE|CONTINUE}' is not one of", id="braces"),
        pytest.param("EXIT_STATUS: COMPLETE\nREMAINING_WORK: {none|what}\n", "is a template", id="braces-around-words"),
        pytest.param("EXIT_STATUS: Complete\n", "'Complete' is not one of COMPLETE, CONTINUE", id="other-case"),
        pytest.param("EXIT_STATUS:\n", "EXIT_STATUS has no value", id="no-value"),
        pytest.param(RALPH.replace("true", "true | false"), "'true | false' is not one of", id="a-choice"),
        pytest.param(
            RALPH.replace("FILES_MODIFIED: 3", "FILES_MODIFIED: <count>"), "'<count>' is not a number", id="count"
        ),
        pytest.param(RALPH.replace("STATUS: COMPLETE\n", "", 1), "STATUS is missing", id="a-field-is-missing"),
        pytest.param(RALPH.replace("EXIT_SIGNAL: true", "EXIT_SIGNAL: true\nEXIT_SIGNAL: false"), "twice", id="twice"),
        pytest.param(DOYAKEN.replace("  CONFIDENCE: high\n", ""), "CONFIDENCE is missing", id="four-fields"),
        pytest.param(
            PRP.replace("EXIT_SIGNAL: true", "EXIT_SIGNAL: true | false"), "'true | false'", id="prp-template"
        ),
    ],
)
def test_a_block_that_is_not_filled_in_is_malformed(text: str, problem: str) -> None:
    said = read(text)
    assert said.explicit is None
    assert problem in said.problems[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(RALPH.replace("true", "false"), "EXIT_SIGNAL: false, and STATUS: COMPLETE", id="status-complete"),
        pytest.param(RALPH.replace("PASSING", "FAILING"), "and TESTS_STATUS: FAILING", id="its-own-tests-fail"),
        pytest.param(EXIT.replace("none", "two tests"), "work remains: 'two tests'", id="work-remains"),
        pytest.param(PRP.replace("CAN_EXIT: true", "CAN_EXIT: false"), "and CAN_EXIT: false", id="can-not-exit"),
        pytest.param(
            f"{RALPH}\nEXIT_STATUS: CONTINUE\n", "RALPH_STATUS report done, EXIT_STATUS not done", id="two-kinds"
        ),
        pytest.param(
            "EXIT_STATUS: COMPLETE\nEXIT_REASON: a reason that\nwas wrapped\nREMAINING_WORK: two tests\n",
            "work remains: 'two tests'",
            id="remaining-work-further-down",
        ),
    ],
)
def test_a_contradiction_is_never_done(text: str, said: str) -> None:
    found = read(text)
    assert found.explicit is False
    assert said in found.contradictions[0]


@pytest.mark.parametrize("text", [EXIT.replace("COMPLETE", "CONTINUE"), DOYAKEN.replace("true", "false")])
def test_not_done_is_said_without_a_contradiction(text: str) -> None:
    said = read(text)
    assert (said.explicit, said.contradictions, said.claims_done) == (False, (), False)


@pytest.mark.parametrize("words", ["none", "None.", "NONE", '"none"', "nothing"])
def test_no_remaining_work(words: str) -> None:
    assert read(EXIT.replace("none", words)).explicit is True


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(RALPH.replace("---END_RALPH_STATUS---\n", ""), id="no-end"),
        pytest.param("DOYAKEN_STATUS:\n\n" + DOYAKEN.partition("\n")[2], id="doyaken-with-a-gap"),
        pytest.param(RALPH.replace("EXIT_SIGNAL", "```\nEXIT_SIGNAL"), id="a-fence-in-the-middle"),
    ],
)
def test_a_block_without_an_end_is_none(text: str) -> None:
    said = read(text)
    assert (said.explicit, said.blocks) == (None, ())


def test_a_later_block_that_is_not_filled_in_counts() -> None:
    assert read(RALPH + "\nEXIT_STATUS: maybe\n").explicit is None
    assert read(RALPH.replace("---END_RALPH_STATUS---\n", "") + RALPH).explicit is True
    assert read(EXIT + "\nEXIT_STATUS: {COMPLETE|CONTINUE}\n").explicit is None
    assert read("EXIT_STATUS: {COMPLETE|CONTINUE}\n\n" + EXIT).explicit is True


def test_no_block_reaches_into_the_next_message() -> None:
    head, _, tail = RALPH.partition("EXIT_SIGNAL")
    assert read(head, f"EXIT_SIGNAL{tail}").blocks == ()
    assert read("```\nnever closed", RALPH).explicit is True


@pytest.mark.parametrize(
    "part",
    [
        "`",
        "> ",
        "\x1b[",
        "\x1b]",
        "---RALPH_STATUS---\n",
        "EXIT_STATUS: COMPLETE\n",
        "<pre>",
        "all tasks ",
        '"a',
        "1. ",
    ],
)
def test_nothing_is_quadratic(part: str) -> None:
    def seconds(size: int) -> float:
        began = time.process_time()
        text = read_claim_text([part * (size // len(part))])
        read_blocks(text)
        find_patterns(DEFAULT_PATTERNS, sentences(text))
        return time.process_time() - began

    # Far apart: a quadratic one would take a hundred times as long for ten times the text.
    assert seconds(400_000) < 50 * max(seconds(40_000), 0.005)


def test_the_override_may_have_a_remark() -> None:
    said = read("EXIT_STATUS: COMPLETE\nEXIT_CONFIDENCE: HIGH\nEXIT_OVERRIDE: true  # bypass the threshold\n")
    assert (said.explicit, said.value("EXIT_STATUS", "EXIT_OVERRIDE")) == (True, "true")
