"""Replaces parts of Python in a process of its own: what runs tests may have threads, which need them.

`python -m tests.recording.replacing` prints, for each row, what is wrong.
"""

from __future__ import annotations

import builtins
import codecs
import datetime
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys
import threading
import time
from typing import Any
from unittest import mock

from phase_gate.recording.tamper.own_work import OwnWork


def fail(*arguments: object, **options: object) -> Any:
    raise RuntimeError("left by a test")


KINDS = {"mock": mock.MagicMock(), "none": None, "raises": fail}
NAMES = [
    (os, "replace"),
    (os, "close"),
    (os.path, "realpath"),
    (io, "open"),
    (builtins, "open"),
    (builtins, "len"),
    (builtins, "map"),
    (builtins, "all"),
    (builtins, "type"),
    (builtins, "isinstance"),
    (json, "dumps"),
    (json.JSONEncoder, "encode"),
    (json._default_decoder, "decode"),  # type: ignore[attr-defined]
    (os.environ, "get"),
    (time, "time"),
    (datetime, "datetime"),
    (hashlib, "sha256"),
    (subprocess, "Popen"),
    (subprocess.Popen, "communicate"),
    (pathlib.Path, "exists"),
    (type(pathlib.Path()), "exists"),  # a name that hides the one of its base
    (threading, "Lock"),
    (codecs, "open"),
    (os, "sep"),
    (os, "environ"),
    (sys, "platform"),
    (sys, "exc_info"),
    (sys, "modules"),
    (json, "loads"),
]


def title(owner: object, name: str, kind: str) -> str:
    return f"{getattr(owner, '__name__', type(owner).__name__)}.{name}-{kind}"


ROWS = [title(owner, name, kind) for owner, name in NAMES for kind in KINDS]


def replace(work: OwnWork, owner: Any, name: str, left: object) -> list[str]:
    """Leave a name replaced, work, and return what is wrong with it."""
    own, real = vars(owner), vars(owner).get(name, left)
    names = list(own)
    try:
        setattr(owner, name, left)
        with work:
            found = own.get(name, left)
        laid_back = own.get(name)
    finally:
        if real is left:
            delattr(owner, name)
        else:
            setattr(owner, name, real)
    wrong = {
        "not its own while we work": found is not real,
        "not laid back": laid_back is not left,
        "in another order": list(own) != names,
    }
    return [text for text, is_so in wrong.items() if is_so]


def main() -> None:
    work = OwnWork()
    work.widen()
    found = {
        title(owner, name, kind): replace(work, owner, name, left)
        for owner, name in NAMES
        for kind, left in KINDS.items()
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
