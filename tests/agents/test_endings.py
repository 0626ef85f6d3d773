"""Why a client ended: every row is what a real client printed when a server refused it so."""

from __future__ import annotations

import re

import pytest

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
#: What an end means, and what a client printed, with the words that people are told between marks.
SEEN = r"""
no-login  «Invalid API key · Fix external API key»
no-login  «Not logged in · Please run /login»
no-credit «Credit balance is too low»
busy      «API Error: Request rejected (429) · This request would exceed your organization's rate limit.»
busy      «API Error: 529 Overloaded. This is a server-side issue — try again in a moment.»
busy      «API Error: Repeated 529 Overloaded errors. The API is at capacity — this is usually temporary.»
failed    API Error: API returned an empty or malformed response (HTTP 200) — check for a proxy or gateway
no-login  <CLAUDE>401,"result":"«Invalid API key · Fix external API key»","type":"result"}
no-login  <CLAUDE>null,"result":"«Not logged in · Please run /login»","type":"result"}
no-credit <CLAUDE>402,"result":"«Credit balance is too low»","type":"result"}
busy      <CLAUDE>529,"result":"«API Error: 529 Overloaded.»","type":"result"}
failed    <CLAUDE>null,"result":"API Error: API returned an empty","type":"result"}
no-login  ERROR: Reconnecting... 1/1\n«ERROR: unexpected status 401 Unauthorized: Incorrect API key provided.»
no-login  «ERROR: Missing environment variable: `OWN_KEY`.»
no-credit «ERROR: unexpected status 402 Payment Required: You exceeded your current quota»
no-credit «ERROR: Quota exceeded. Check your plan and billing details.»
busy      «ERROR: exceeded retry limit, last status: 429 Too Many Requests»
busy      «ERROR: Selected model is at capacity. Please try a different model.»
busy      «ERROR: unexpected status 529 <unknown status code>: Our servers are currently overloaded.»
untrusted «Not inside a trusted directory and --skip-git-repo-check was not specified.»
failed    ERROR: stream disconnected before completion: UTF8 error: invalid utf-8 sequence of 1 bytes
busy      {"type":"turn.failed","error":{"message":"«exceeded retry limit, last status: 429 Too Many»"}}
no-login  «<GEMINI> _ApiError: {"error":{"code":401,"message":"API key not valid."}}»\n    at throw (a.js:1:1) {
no-login  «<GEMINI> _ApiError: {"error":{"code":400,"message":"API key not valid. Pass a valid one."}}»
no-login  «When using Gemini API, you must specify the GEMINI_API_KEY environment variable.»\nUpdate it
no-login  «Please set an Auth method in your settings.json or specify one of the following variables»
no-credit «<GEMINI> _ApiError: {"error":{"code":402,"message":"Billing is not enabled"}}»
busy      «<GEMINI> RetryableQuotaError: Resource has been exhausted.»\nSuggested retry after 1s.\n  status: 429
busy      «<GEMINI> _ApiError: {"error":{"code":529,"message":"The model is overloaded."}}»
failed    <GEMINI> SyntaxError: Bad control character in string literal in JSON at position 12
no-login  <EVENT>«[API Error: {\"error\":{\"code\":401,\"message\":\"API key not valid.\"}}]»"}}
busy      <EVENT>«[API Error: Resource is exhausted.] Please wait and try again later.»"}}
busy      <EVENT>«[API Error: Resource is exhausted.] Try again later, or switch to another /auth method»"}}
failed    <EVENT>[API Error: Bad control character in string literal in JSON at position 12]"}}
untrusted \x1b[31m«Gemini CLI is not running in a trusted directory. To proceed, use `--skip-trust`»\x1b[0m
no-login  «Authentication failed with provider at http://127.0.0.1:1/v1 (HTTP 401).»\n  Check your key.<END>
no-login  «Error: No authentication information found.»\n\nTo authenticate, you can use any of the following:
no-credit «402 You exceeded your current quota, please check your plan and billing details.»<END>
no-credit «<COPILOT> Last error: 429 You exceeded your current quota, please check.»<END>
busy      «<COPILOT> Last error: 429 Rate limit reached.»<END>
busy      «<COPILOT> Last error: 529 Our servers are currently overloaded.»<END>
failed    <COPILOT> Last error: Failed to parse chat-completions stream chunk: control character<END>
no-login  <ERROR>«Authentication failed with provider at http://127.0.0.1:1/v1 (HTTP 401).»","statusCode":401}}
busy      <ERROR>«<COPILOT> Last error: 529 Overloaded.»","statusCode":529}}\n{"type":"result","exitCode":1}
"""


@pytest.mark.parametrize("row", SEEN.strip().splitlines())
def test_what_an_end_means(row: str) -> None:
    kind, text = row.split(maxsplit=1)
    text = re.sub("<([A-Z]+)>", lambda found: HEADS[found[1]], text).replace("\\n", "\n").replace("\\x1b", "\x1b")
    said = re.search("«(.*)»", text)
    expected = Ending(kind=kind, message=said[1] if said else "")  # type: ignore[arg-type]
    tail = re.sub("[«»]", "", text)
    assert classify(1, tail, is_known=True) == expected
    assert classify(1, f"The tests fail.\n{tail}\n", is_known=True) == expected
    assert classify(0, tail, is_known=True) == Ending(kind="ended"), "one that ended well is not looked at"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The server answered 429 Too Many Requests, so I wait.", "busy"),
        ("> ERROR: unexpected status 401 in the log of the app", "no-login"),
        ("E   AssertionError: Credit balance is too low", "no-credit"),
        ('FAILED test_api.py - {"error":{"code":429}}', "busy"),
    ],
)
def test_what_a_model_says_decides_nothing_where_the_client_is_known(text: str, kind: str) -> None:
    assert classify(1, text, is_known=True) == Ending(kind="failed")
    assert classify(1, text, is_known=False).kind == kind


def test_the_last_words_count() -> None:
    rows = "Credit balance is too low\nAPI Error: 529 Overloaded.\n"
    assert classify(1, rows, is_known=True).kind == "busy"
    assert classify(1, rows + "x\n" * 100, is_known=True).kind == "failed", "that was long ago"
    assert classify(None, rows, is_known=True) == Ending(kind="failed"), "it was ended from outside"
    assert len(classify(1, "API Error: 529 " + "x" * 5000, is_known=True).message) == 200
