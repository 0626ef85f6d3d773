"""Why a client ended, from its exit status and the last lines of its output. Pure.

The formats were recorded with a server that refuses requests as the vendors' servers do. Only the output of a failed
client is examined, and only lines in which the client itself reports errors: a model's text decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from phase_gate.values import Literal, Value
from phase_gate.visible import show_line

#: `ended`: it worked, and stopped. `busy`: it was refused for now, and the same call works later. `no-login`,
#: `no-credit`, `untrusted`: only a person can fix it. `failed`: anything else.
Kind = Literal["ended", "busy", "no-login", "no-credit", "untrusted", "failed"]

#: Characters and lines at the end of the output in which a client reports why it failed.
LAST_WORDS, _LAST_ROWS = 8000, 60
_COLOUR = r"\x1b\[[0-9;]*m"
#: Characters kept of its message.
_KEPT = 200

#: The beginnings of lines in which known clients report an error as text, and the fields of events in which they
#: report one.
_REPORT = re.compile(
    r"API Error|ERROR: |Error: |Error when talking to|Not logged in|Invalid API key|Please run /login|Credit balance"
    r"|Not inside a trusted|.{0,20}is not running in a trusted|When using Gemini|Please set an Auth|402 "
    r"|Authentication failed with provider|Failed to get response from the AI model"
)
_EVENT = re.compile(r'\{.*(?:"is_error":true|"type":"turn\.failed"|"status":"error"|"type":"session\.error")')
_MESSAGE = re.compile(r'"(?:result|message)":"((?:[^"\\]|\\.)*)"')
_STATUS = re.compile(r'"(?:api_error_status|statusCode)":(\d+)')

#: The kind of an error, by its text. The first match wins.
_MEANINGS: Mapping[Kind, re.Pattern[str]] = {
    "untrusted": re.compile(r"trusted directory"),
    "no-login": re.compile(
        r"(?i)\b401\b|not logged in|please (?:log|sign) ?in|/login|api key not valid|invalid api key|unauthorized"
        r"|(?<!/)auth method|no authentication|authentication[ _]?(?:error|failed|required)"
        r"|missing environment variable|must specify"
    ),
    "no-credit": re.compile(
        r"(?i)\b402\b|credit balance|out of credits?|insufficient_quota|payment required|quota exceeded|exceeded your"
        r" current quota"
    ),
    "busy": re.compile(
        r"(?i)\b(?:429|5\d\d)\b|rate.?limit|too many requests|overloaded|at capacity|exhausted|retryablequota"
        r"|try again later"
    ),
}


class Ending(Value):
    kind: Kind
    #: The client's own words about why it could not work; empty if it worked, or failed for any other reason.
    message: str = ""


def classify(code: int | None, tail: str, *, is_known: bool) -> Ending:
    """Return how a client ended. If several lines report a reason, the last one counts.

    :param code: its exit status; None if it was ended from outside.
    :param tail: the end of its whole output.
    :param is_known: whether we know how it reports errors. Other programs may report them anywhere in a line.
    """
    if not code:
        return Ending(kind="failed" if code is None else "ended")
    for row in reversed(re.sub(_COLOUR, "", tail[-LAST_WORDS:]).splitlines()[-_LAST_ROWS:]):
        row, message = row.strip(), row.strip()
        if _EVENT.match(row):
            message = " ".join(_MESSAGE.findall(row)[-1:])
            row = " ".join((*_STATUS.findall(row), message))
        elif is_known and not _REPORT.match(row):
            continue
        for kind, meaning in _MEANINGS.items():
            if meaning.search(row):
                return Ending(kind=kind, message=show_line(message)[:_KEPT])
    return Ending(kind="failed")
