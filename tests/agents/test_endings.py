"""Why a client ended: every row is what a real client printed when a server refused it so."""

from __future__ import annotations

import re

import pytest

from phase_gate.agents.agent import load_agent
from phase_gate.agents.endings import Ending, classify

#: Words that clients put around the rest.
HEADS = {
    "CLAUDE": '{"duration_api_ms":0,"safety_stops":0,"is_error":true,"num_turns":1,"api_error_status":',
    "GEMINI": "Error when talking to Gemini API Full report available at: gemini-client-error.json",
    "EVENT": '{"type":"result","timestamp":"","status":"error","error":{"type":"unknown","message":"',
    "COPILOT": "Failed to get response from the AI model; retried 5 times (total retry wait time: 5.49 seconds)",
    "ERROR": '{"type":"session.error","data":{"errorType":"query","message":"',
    "END": "\n\n\nChanges    +0 -0\nDuration   11s\nResume     copilot --resume=13b815ab",
}
#: The client, what its end means, and what it printed, with the words that people are told between marks.
SEEN = r"""
claude  no-login  «Invalid API key · Fix external API key»
claude  no-login  «Not logged in · Please run /login»
claude  no-credit «Credit balance is too low»
claude  busy      «API Error: Request rejected (429) · This request would exceed your organization's rate limit.»
claude  busy      «API Error: 529 Overloaded. This is a server-side issue — try again in a moment.»
claude  busy      «API Error: Repeated 529 Overloaded errors. The API is at capacity — this is usually temporary.»
claude  failed    API Error: API returned an empty or malformed response (HTTP 200) — check for a proxy or gateway
claude  no-login  <CLAUDE>401,"result":"«Invalid API key · Fix external API key»","type":"result"}
claude  no-login  <CLAUDE>null,"result":"«Not logged in · Please run /login»","type":"result"}
claude  no-credit <CLAUDE>402,"result":"«Credit balance is too low»","type":"result"}
claude  busy      <CLAUDE>529,"result":"«API Error: 529 Overloaded.»","type":"result"}
claude  failed    <CLAUDE>null,"result":"API Error: API returned an empty","type":"result"}
codex   no-login  ERROR: Reconnecting... 1/1\nERROR: «unexpected status 401 Unauthorized: Incorrect API key provided.»
codex   no-login  ERROR: «Missing environment variable: `OWN_KEY`.»
codex   no-credit ERROR: «unexpected status 402 Payment Required: You exceeded your current quota»
codex   no-credit ERROR: «Quota exceeded. Check your plan and billing details.»
codex   busy      ERROR: «exceeded retry limit, last status: 429 Too Many Requests»
codex   busy      ERROR: «Selected model is at capacity. Please try a different model.»
codex   busy      ERROR: «unexpected status 529 <unknown status code>: Our servers are currently overloaded.»
codex   untrusted «Not inside a trusted directory and --skip-git-repo-check was not specified.»
codex   failed    ERROR: stream disconnected before completion: UTF8 error: invalid utf-8 sequence of 1 bytes
codex   busy      {"type":"turn.failed","error":{"message":"«exceeded retry limit, last status: 429 Too Many»"}}
gemini  no-login  <GEMINI> «_ApiError: {"error":{"code":401,"message":"API key not valid."}}»\n    at throw (a.js:1:1) {
gemini  no-login  <GEMINI> «_ApiError: {"error":{"code":400,"message":"API key not valid. Pass a valid one."}}»
gemini  no-login  «When using Gemini API, you must specify the GEMINI_API_KEY environment variable.»\nUpdate it
gemini  no-login  «Please set an Auth method in your settings.json or specify one of the following variables»
gemini  no-credit <GEMINI> «_ApiError: {"error":{"code":402,"message":"Billing is not enabled"}}»
gemini  busy      <GEMINI> «RetryableQuotaError: Resource has been exhausted.»\nSuggested retry after 1s.\n  status: 429
gemini  busy      <GEMINI> «_ApiError: {"error":{"code":529,"message":"The model is overloaded."}}»
gemini  failed    <GEMINI> SyntaxError: Bad control character in string literal in JSON at position 12
gemini  no-login  <EVENT>«[API Error: {\"error\":{\"code\":401,\"message\":\"API key not valid.\"}}]»"}}
gemini  busy      <EVENT>«[API Error: Resource is exhausted.] Please wait and try again later.»"}}
gemini  failed    <EVENT>[API Error: Bad control character in string literal in JSON at position 12]"}}
gemini  untrusted \x1b[31m«Gemini CLI is not running in a trusted directory. To proceed, use `--skip-trust`»\x1b[0m
copilot no-login  «Authentication failed with provider at http://127.0.0.1:1/v1 (HTTP 401)».\n  Check your key.<END>
copilot no-login  «Error: No authentication information found.»\n\nTo authenticate, you can use any of the following:
copilot no-credit «402 You exceeded your current quota, please check your plan and billing details.»<END>
copilot no-credit «<COPILOT> Last error: 429 You exceeded your current quota, please check.»<END>
copilot busy      «<COPILOT> Last error: 429 Rate limit reached.»<END>
copilot busy      «<COPILOT> Last error: 529 Our servers are currently overloaded.»<END>
copilot failed    <COPILOT> Last error: Failed to parse chat-completions stream chunk: control character<END>
copilot no-login  <ERROR>«Authentication failed with provider at http://127.0.0.1:1/v1 (HTTP 401)».","statusCode":401}}
copilot busy      <ERROR>«<COPILOT> Last error: 529 Overloaded.»","statusCode":529}}\n{"type":"result","exitCode":1}
"""


@pytest.mark.parametrize("row", SEEN.strip().splitlines())
def test_what_an_end_means(row: str) -> None:
    client, kind, text = row.split(maxsplit=2)
    text = re.sub("<([A-Z]+)>", lambda found: HEADS[found[1]], text).replace("\\n", "\n").replace("\\x1b", "\x1b")
    said = re.search("«(.*)»", text)
    expected = Ending(kind=kind, said=said[1] if said else "")  # type: ignore[arg-type]
    signs, tail = load_agent(client).signs, re.sub("[«»]", "", text)
    assert classify(signs, 1, tail) == expected
    assert classify(signs, 1, f"The tests fail.\n{tail}\n") == expected
    assert classify(signs, 0, tail) == Ending(kind="ended"), "one that ended well is not looked at"


@pytest.mark.parametrize("client", ["claude", "codex", "gemini", "copilot"])
@pytest.mark.parametrize(
    "text",
    [
        "The server answered 429 Too Many Requests, so I wait.",
        "> ERROR: unexpected status 401 in the log of the app",
        "E   AssertionError: Credit balance is too low",
        'FAILED test_api.py - {"error":{"code":429}}',
        "rate limit: 402 payment required, please log in",
    ],
)
def test_what_a_model_says_decides_nothing(client: str, text: str) -> None:
    assert classify(load_agent(client).signs, 1, text) == Ending(kind="failed")


def test_the_last_words_count() -> None:
    signs = load_agent("claude").signs
    rows = "Credit balance is too low\nAPI Error: 529 Overloaded.\n"
    assert classify(signs, 1, rows).kind == "busy"
    assert classify(signs, 1, rows + "x\n" * 100).kind == "failed", "that was long ago"
    assert classify(signs, -9, "") == Ending(kind="failed")
    assert len(classify(signs, 1, "API Error: 529 " + "x" * 5000).said) == 200
