"""Why a client ended: every row is what a real client printed when a server refused it so."""

from __future__ import annotations

import pytest

from phase_gate.agents.agent import load_agent
from phase_gate.agents.endings import Ending, classify

_GEMINI = "Error when talking to Gemini API Full report available at: gemini-client-error.json"
_COPILOT = "Failed to get response from the AI model; retried 5 times (total retry wait time: 5.49 seconds)"
_COPILOT_END = "\n\n\nChanges    +0 -0\nDuration   11s\nResume     copilot --resume=13b815ab"
_CODEX_JSON = '{"type":"turn.failed","error":{"message":"'


def claude_json(status: str, result: str) -> str:
    head = '{"duration_api_ms":0,"stop_reason":"stop_sequence","safety_stops":0,"is_error":true,"num_turns":1,'
    return f'{head}"subtype":"success","api_error_status":{status},"result":"{result}","type":"result"}}'


def gemini_json(message: str) -> str:
    return f'{{"type":"result","timestamp":"","status":"error","error":{{"type":"unknown","message":"{message}"}}}}'


#: By what happened: the client, its exit status, the end of its output, and what that means, with its words.
SEEN: dict[str, tuple[str, int, str, Ending]] = {
    "claude-401": (
        "claude",
        1,
        "Invalid API key · Fix external API key\n",
        Ending(kind="no-login", said="Invalid API key · Fix external API key"),
    ),
    "claude-without-a-key": (
        "claude",
        1,
        "Not logged in · Please run /login",
        Ending(kind="no-login", said="Not logged in · Please run /login"),
    ),
    "claude-402": (
        "claude",
        1,
        "Credit balance is too low",
        Ending(kind="no-credit", said="Credit balance is too low"),
    ),
    "claude-429": (
        "claude",
        1,
        "API Error: Request rejected (429) · This request would exceed your organization's rate limit.",
        Ending(
            kind="busy",
            said="API Error: Request rejected (429) · This request would exceed your organization's rate limit.",
        ),
    ),
    "claude-529": (
        "claude",
        1,
        "API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment.",
        Ending(
            kind="busy",
            said="API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment.",
        ),
    ),
    "claude-529-three-times": (
        "claude",
        1,
        "API Error: Repeated 529 Overloaded errors. The API is at capacity — this is usually temporary.",
        Ending(
            kind="busy",
            said="API Error: Repeated 529 Overloaded errors. The API is at capacity — this is usually temporary.",
        ),
    ),
    "claude-garbage": (
        "claude",
        1,
        "API Error: API returned an empty or malformed response (HTTP 200) — check for a proxy or gateway",
        Ending(kind="failed"),
    ),
    "claude-401-json": (
        "claude",
        1,
        claude_json("401", "Invalid API key · Fix external API key"),
        Ending(kind="no-login", said="Invalid API key · Fix external API key"),
    ),
    "claude-without-a-key-json": (
        "claude",
        1,
        claude_json("null", "Not logged in · Please run /login"),
        Ending(kind="no-login", said="Not logged in · Please run /login"),
    ),
    "claude-402-json": (
        "claude",
        1,
        claude_json("402", "Credit balance is too low"),
        Ending(kind="no-credit", said="Credit balance is too low"),
    ),
    "claude-529-json": (
        "claude",
        1,
        claude_json("529", "API Error: 529 Overloaded."),
        Ending(kind="busy", said="API Error: 529 Overloaded."),
    ),
    "claude-garbage-json": (
        "claude",
        1,
        claude_json("null", "API Error: API returned an empty"),
        Ending(kind="failed"),
    ),
    "codex-401": (
        "codex",
        1,
        "ERROR: Reconnecting... 1/1\nERROR: unexpected status 401 Unauthorized: Incorrect API key provided: none.",
        Ending(kind="no-login", said="unexpected status 401 Unauthorized: Incorrect API key provided: none."),
    ),
    "codex-without-a-key": (
        "codex",
        1,
        "ERROR: Missing environment variable: `OWN_KEY`.",
        Ending(kind="no-login", said="Missing environment variable: `OWN_KEY`."),
    ),
    "codex-402": (
        "codex",
        1,
        "ERROR: unexpected status 402 Payment Required: You exceeded your current quota",
        Ending(kind="no-credit", said="unexpected status 402 Payment Required: You exceeded your current quota"),
    ),
    "codex-429-for-money": (
        "codex",
        1,
        "ERROR: Quota exceeded. Check your plan and billing details.",
        Ending(kind="no-credit", said="Quota exceeded. Check your plan and billing details."),
    ),
    "codex-429": (
        "codex",
        1,
        "ERROR: exceeded retry limit, last status: 429 Too Many Requests",
        Ending(kind="busy", said="exceeded retry limit, last status: 429 Too Many Requests"),
    ),
    "codex-503": (
        "codex",
        1,
        "ERROR: Selected model is at capacity. Please try a different model.",
        Ending(kind="busy", said="Selected model is at capacity. Please try a different model."),
    ),
    "codex-529": (
        "codex",
        1,
        "ERROR: unexpected status 529 <unknown status code>: Our servers are currently overloaded.",
        Ending(kind="busy", said="unexpected status 529 <unknown status code>: Our servers are currently overloaded."),
    ),
    "codex-outside-of-git": (
        "codex",
        1,
        "Not inside a trusted directory and --skip-git-repo-check was not specified.",
        Ending(kind="untrusted", said="Not inside a trusted directory and --skip-git-repo-check was not specified."),
    ),
    "codex-garbage": (
        "codex",
        1,
        "ERROR: stream disconnected before completion: UTF8 error: invalid utf-8 sequence of 1 bytes from index 0",
        Ending(kind="failed"),
    ),
    "codex-429-json": (
        "codex",
        1,
        f'{_CODEX_JSON}exceeded retry limit, last status: 429 Too Many Requests"}}}}\n',
        Ending(kind="busy", said="exceeded retry limit, last status: 429 Too Many Requests"),
    ),
    "gemini-401": (
        "gemini",
        1,
        f'{_GEMINI} _ApiError: {{"error":{{"code":401,"message":"API key not valid."}}}}\n'
        "    at throwErrorIfNotOK (chunk.js:1:1) {\n  status: 401\n}\n"
        "An unexpected critical error occurred:[object Object]",
        Ending(
            kind="no-login",
            said='_ApiError: {"error":{"code":401,"message":"API key not valid."}}',
        ),
    ),
    "gemini-400-for-a-key": (
        "gemini",
        1,
        f'{_GEMINI} _ApiError: {{"error":{{"code":400,"message":"API key not valid. Pass a valid one."}}}}',
        Ending(
            kind="no-login",
            said='_ApiError: {"error":{"code":400,"message":"API key not valid. Pass a valid one."}}',
        ),
    ),
    "gemini-without-a-key": (
        "gemini",
        41,
        "When using Gemini API, you must specify the GEMINI_API_KEY environment variable.\nUpdate your environment",
        Ending(
            kind="no-login", said="When using Gemini API, you must specify the GEMINI_API_KEY environment variable."
        ),
    ),
    "gemini-without-a-login": (
        "gemini",
        41,
        "Please set an Auth method in your settings.json or specify one of the following variables",
        Ending(
            kind="no-login",
            said="Please set an Auth method in your settings.json or specify one of the following variables",
        ),
    ),
    "gemini-402": (
        "gemini",
        1,
        f'{_GEMINI} _ApiError: {{"error":{{"code":402,"message":"Billing is not enabled"}}}}',
        Ending(
            kind="no-credit",
            said='_ApiError: {"error":{"code":402,"message":"Billing is not enabled"}}',
        ),
    ),
    "gemini-429": (
        "gemini",
        1,
        f"{_GEMINI} RetryableQuotaError: Resource has been exhausted.\nSuggested retry after 1s.\n  status: 429\n}}",
        Ending(kind="busy", said="RetryableQuotaError: Resource has been exhausted."),
    ),
    "gemini-529": (
        "gemini",
        1,
        f'{_GEMINI} _ApiError: {{"error":{{"code":529,"message":"The model is overloaded."}}}}',
        Ending(kind="busy", said='_ApiError: {"error":{"code":529,"message":"The model is overloaded."}}'),
    ),
    "gemini-401-json": (
        "gemini",
        145,
        gemini_json(r"[API Error: {\"error\":{\"code\":401,\"message\":\"API key not valid.\"}}]"),
        Ending(kind="no-login", said=r"[API Error: {\"error\":{\"code\":401,\"message\":\"API key not valid.\"}}]"),
    ),
    "gemini-429-json": (
        "gemini",
        173,
        gemini_json(r"[API Error: Resource is exhausted.\nRetry after 1s.]\nPlease wait and try again later."),
        Ending(
            kind="busy",
            said=r"[API Error: Resource is exhausted.\nRetry after 1s.]\nPlease wait and try again later.",
        ),
    ),
    "gemini-garbage-json": (
        "gemini",
        1,
        gemini_json("[API Error: Bad control character in string literal in JSON at position 12]"),
        Ending(kind="failed"),
    ),
    "gemini-garbage": (
        "gemini",
        1,
        f"{_GEMINI} SyntaxError: Bad control character in string literal in JSON at position 12",
        Ending(kind="failed"),
    ),
    "gemini-in-a-folder-that-is-not-trusted": (
        "gemini",
        55,
        "\x1b[31mGemini CLI is not running in a trusted directory. To proceed, either use `--skip-trust`\x1b[0m\n",
        Ending(
            kind="untrusted",
            said="Gemini CLI is not running in a trusted directory. To proceed, either use `--skip-trust`",
        ),
    ),
    "copilot-401": (
        "copilot",
        1,
        f"Authentication failed with provider at http://127.0.0.1:1/v1 (HTTP 401).\n  Check your key.{_COPILOT_END}",
        Ending(kind="no-login", said="Authentication failed with provider at http://127.0.0.1:1/v1 (HTTP 401)"),
    ),
    "copilot-without-a-login": (
        "copilot",
        1,
        "Error: No authentication information found.\n\nTo authenticate, you can use any of the following methods:",
        Ending(kind="no-login", said="Error: No authentication information found."),
    ),
    "copilot-402": (
        "copilot",
        1,
        f"402 You exceeded your current quota, please check your plan and billing details.{_COPILOT_END}",
        Ending(
            kind="no-credit", said="402 You exceeded your current quota, please check your plan and billing details."
        ),
    ),
    "copilot-429-for-money": (
        "copilot",
        1,
        f"{_COPILOT} Last error: 429 You exceeded your current quota, please check.{_COPILOT_END}",
        Ending(kind="no-credit", said=f"{_COPILOT} Last error: 429 You exceeded your current quota, please check."),
    ),
    "copilot-429": (
        "copilot",
        1,
        f"{_COPILOT} Last error: 429 Rate limit reached.{_COPILOT_END}",
        Ending(kind="busy", said=f"{_COPILOT} Last error: 429 Rate limit reached."),
    ),
    "copilot-529": (
        "copilot",
        1,
        f"{_COPILOT} Last error: 529 Our servers are currently overloaded.{_COPILOT_END}",
        Ending(kind="busy", said=f"{_COPILOT} Last error: 529 Our servers are currently overloaded."),
    ),
    "copilot-401-json": (
        "copilot",
        1,
        '{"type":"session.error","data":{"errorType":"authentication","message":"Authentication failed with provider '
        'at http://127.0.0.1:1/v1 (HTTP 401).\\n  Check your key.","statusCode":401}}\n{"type":"result","exitCode":1}',
        Ending(kind="no-login", said="Authentication failed with provider at http://127.0.0.1:1/v1 (HTTP 401)"),
    ),
    "copilot-529-json": (
        "copilot",
        1,
        f'{{"type":"session.error","data":{{"errorType":"query","message":"{_COPILOT} Last error: 529 Overloaded.",'
        '"statusCode":529}}\n{"type":"result","exitCode":1}',
        Ending(kind="busy", said=f"{_COPILOT} Last error: 529 Overloaded."),
    ),
    "copilot-garbage": (
        "copilot",
        1,
        f"{_COPILOT} Last error: Failed to parse chat-completions stream chunk: control character{_COPILOT_END}",
        Ending(kind="failed"),
    ),
}

#: What models and tests say is no error of the client's.
SAID = (
    "The server answered 429 Too Many Requests, so I wait.",
    "> ERROR: unexpected status 401 in the log of the app",
    "E   AssertionError: Credit balance is too low",
    'FAILED test_api.py - {"error":{"code":429}}',
    "rate limit: 402 payment required, please log in",
)


@pytest.mark.parametrize(("client", "code", "tail", "expected"), SEEN.values(), ids=SEEN)
def test_what_an_end_means(client: str, code: int, tail: str, expected: Ending) -> None:
    signs = load_agent(client).signs
    assert classify(signs, code, tail) == expected
    assert classify(signs, code, f"The tests fail.\n{tail}\n") == expected
    assert classify(signs, 0, tail) == Ending(kind="ended"), "one that ended well is not looked at"


@pytest.mark.parametrize("client", ["claude", "codex", "gemini", "copilot"])
@pytest.mark.parametrize("text", SAID)
def test_what_a_model_says_decides_nothing(client: str, text: str) -> None:
    assert classify(load_agent(client).signs, 1, text) == Ending(kind="failed")


def test_the_last_words_count() -> None:
    signs = load_agent("claude").signs
    rows = "Credit balance is too low\nAPI Error: 529 Overloaded.\n"
    assert classify(signs, 1, rows).kind == "busy"
    assert classify(signs, 1, rows + "x\n" * 100).kind == "failed", "that was long ago"


def test_one_that_was_ended_from_outside_failed() -> None:
    assert classify(load_agent("codex").signs, None, "") == Ending(kind="failed")
    assert classify(load_agent("codex").signs, -9, "") == Ending(kind="failed")


def test_words_are_capped() -> None:
    said = classify(load_agent("claude").signs, 1, "API Error: 529 " + "x" * 5000).said
    assert len(said) == 200
