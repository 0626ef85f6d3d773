"""What a test leaves behind that is no name: umask, folders, streams, limits. And honest tests, which put all back."""

from __future__ import annotations

from phase_gate.values import Value


class Case(Value, kw_only=False):
    """A script that the last test runs, and what comes of it."""

    script: str
    words: tuple[str, ...] = ()
    #: Stands in what we say where the run is not recorded; it is where this is empty.
    problem: str = ""
    #: It may as well be said that the run is not recorded.
    may_be_refused: bool = False
    #: Words that only we understand.
    ours: tuple[str, ...] = ()


#: Closes the descriptor of the run's own lock, and takes its number for another file if it is told to.
_CLOSE_LOCK = """\
import os
from pathlib import Path

for lock in Path(".phase-gate/runs").glob("*.lock"):  # none without us
    for number in range(3, 256):
        try:
            is_it = os.path.samestat(os.fstat(number), lock.stat())
        except OSError:
            continue
        if is_it:
            os.close(number)
            {then}
            break
    else:
        raise AssertionError("it is not open")
"""

BEHIND = {
    "umask": Case("import os; os.umask(0o777)"),
    "a small recursion limit": Case("import sys; sys.setrecursionlimit(120)", may_be_refused=True),
    "another locale": Case("import locale; locale.setlocale(locale.LC_ALL, 'C')"),
    "no environment": Case("import os; os.environ.clear()"),
    "another environment": Case("import os; os.environ = {'GIT_DIR': '/nowhere'}"),
    "no current folder": Case("import os; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')"),
    "no places to import from": Case("import sys; sys.path[:] = []; sys.meta_path[:] = []"),
    "modules unloaded": Case("import sys; [sys.modules.pop(name) for name in ('json', 'zlib', 'hashlib')]"),
    "a module exchanged": Case("import sys; sys.modules['json'] = None", may_be_refused=True),
    "another output": Case("import io, sys; sys.stdout = sys.stderr = io.StringIO()", ("-s",)),
    "no output": Case("import sys; sys.stdout = sys.stderr = None", ("-s",)),
    "output closed": Case("import os; os.close(1)"),
    "output closed, not captured": Case("import os; os.close(1)", ("-s",)),
    "errors closed, not captured": Case("import os; os.close(2)", ("-s",)),
    "the run's lock closed": Case(_CLOSE_LOCK.format(then="pass")),
    "the run's lock closed, its number taken": Case(
        _CLOSE_LOCK.format(then="os.dup2(os.open(os.devnull, os.O_WRONLY), number)")
    ),
    "children ignored": Case("import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)"),
    "an alarm": Case("import signal; signal.alarm(1000)"),
    "the state folder removed": Case(
        "import shutil; shutil.rmtree('.phase-gate')", problem="was removed while the tests ran"
    ),
}

#: Honest tests.
TWINS = {
    "a block": """\
from unittest import mock
with mock.patch("os.replace"), mock.patch("builtins.open"):
    pass
""",
    "a patch that is stopped": """\
from unittest import mock
patch = mock.patch("time.time")
patch.start()
patch.stop()
""",
    "a monkeypatch": """\
import os
import pytest
with pytest.MonkeyPatch.context() as patch:
    patch.setattr(os, "replace", None)
""",
    "everywhere, and undone": """\
import sys
import time
real, fake = time.time, lambda: 0.0
modules = [each for each in sys.modules.values() if each is not None]
holders = [(each, name) for each in modules for name, value in list(vars(each).items()) if value is real]
for value in (fake, real):
    for module, name in holders:
        setattr(module, name, value)
""",
}
