"""Real processes that start fast: each is forked from one that has pytest and the plugin imported.

The tables need some thousand runs of pytest; most of a small run's time is the interpreter's start and the imports. A
forked child is a process of its own in every other respect: it may crash, patch, leave early or be killed. Where there
is no fork, the warm process itself becomes the command, and the next one starts.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import pkgutil
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import IO, Any, NoReturn, cast

#: Set in the environment of a child that is to make proofs; `copied`: in sandboxes that are copied folders.
WITH_PROOF = "TESTS_WITH_PROOF"

#: In front of `PYTHONPATH`, this takes the extras away.
WITHOUT_EXTRAS = str(Path(__file__).parent / "data" / "absent")

#: Modules of Python that a run imports as it goes.
_LATER = (
    *("cmd", "code", "codeop", "email.feedparser", "email.parser", "faulthandler", "pdb", "tomllib"),
    *("unittest", "xml.etree.ElementTree"),
)

#: Windows has no fork.
CAN_FORK = hasattr(os, "fork")

#: What the server itself runs first.
_FIRST_TESTS = "def test_one():\n    assert [1] == [2]\n\n\ndef test_two():\n    import absent\n"


def clean_environment(home: Path) -> dict[str, str]:
    """Return an environment for commands of a user who has nothing but this home folder."""
    kept = ("LANG", "TMPDIR", "SYSTEMROOT")
    paths = (str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))
    return {
        **{name: os.environ[name] for name in kept if name in os.environ},
        **{f"GIT_{role}_NAME": "dev" for role in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{role}_EMAIL": "dev@example.org" for role in ("AUTHOR", "COMMITTER")},
        "GIT_CEILING_DIRECTORIES": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "USER": "dev",
        "COLUMNS": "200",
        "PATH": os.pathsep.join(paths),
        "PYTHONPATH": os.pathsep.join(filter(None, (WITHOUT_EXTRAS, os.environ.get("PYTHONPATH")))),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


class WarmServer:
    """A warm process that forks one child an order: `words`, `root`, `environment`, and what `prepare` wants to know.

    :param script: a file with a function `prepare(order)`, which the child calls before it becomes its command.
    """

    def __init__(self, folder: Path, script: str = "", *, forks: bool = CAN_FORK) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._out, self._err = folder / "out.txt", folder / "err.txt"
        self._script, self._forks = script, forks
        self._server = self._start()

    def _start(self) -> subprocess.Popen[str]:
        # A file of its own, not `-m tests...`: nothing of this project may be importable in the children.
        return subprocess.Popen(
            # No bytecode, as in the environment that the children get.
            [sys.executable, "-P", "-B", __file__, self._script, *(["forks"] if self._forks else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self, root: Path, words: tuple[str, ...], environment: dict[str, str], **more: object
    ) -> tuple[int, str, str]:
        """Run `pytest ...` or `phase-gate ...` in a forked child; return its exit code, output and errors."""
        code = self._order(root=str(root), words=words, environment=environment, **more)
        return code, _text_of(self._out), _text_of(self._err)

    def run_mixed(self, root: Path, words: tuple[str, ...], environment: dict[str, str]) -> tuple[int, str]:
        """Do the same with output and errors in one, as at a terminal."""
        code = self._order(root=str(root), words=words, environment=environment, err=str(self._out))
        return code, _text_of(self._out)

    def _order(self, **order: object) -> int:
        requests, answers = cast(IO[str], self._server.stdin), cast(IO[str], self._server.stdout)
        try:
            print(json.dumps({"out": str(self._out), "err": str(self._err), **order}), file=requests, flush=True)
            if self._forks:
                return int(answers.readline())
            code = self._server.wait()
            self.close()
            self._server = self._start()
            return code
        except BaseException:  # a test that took too long: its answer would be taken for that of the next one
            self._server.kill()
            self.close()
            self._server = self._start()
            raise

    def close(self) -> None:
        cast(IO[str], self._server.stdin).close()
        cast(IO[str], self._server.stdout).close()
        self._server.wait()


def lasting_server(name: str, script: str) -> WarmServer:
    """Return a server that is there until this process ends.

    A test may fork a child that ends as this process would: it must not take the folder away.
    """
    folder, owner = tempfile.mkdtemp(prefix=f"phase-gate-{name}-"), os.getpid()
    server = WarmServer(Path(folder), script)

    def close() -> None:
        if os.getpid() == owner:
            server.close()
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(close)
    return server


def _text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def begin_sessions_fast() -> None:
    """Spare inner sessions what each of them looks up in vain."""
    import functools

    import pluggy
    from _pytest.fixtures import FixtureFunctionDefinition, FixtureManager

    look_through: Any = FixtureManager.pytest_plugin_registered
    load: Any = pluggy.PluginManager.load_setuptools_entrypoints

    @functools.cache
    def has_fixtures(plugin: object) -> bool:
        return any(type(each) is FixtureFunctionDefinition for each in vars(plugin).values())

    def pytest_plugin_registered(self: FixtureManager, plugin: object, plugin_name: str) -> None:
        # Of the modules of pytest itself few have fixtures, and all have hundreds of names.
        if not getattr(plugin, "__name__", "").startswith("_pytest.") or has_fixtures(plugin):
            look_through(self, plugin, plugin_name)

    def load_setuptools_entrypoints(self: pluggy.PluginManager, group: str, name: str | None = None) -> int:
        # A module, after which every installed distribution would be asked.
        return 0 if name == "phase_gate.plugin" else load(self, group, name)

    FixtureManager.pytest_plugin_registered = pytest_plugin_registered  # type: ignore[method-assign]
    pluggy.PluginManager.load_setuptools_entrypoints = load_setuptools_entrypoints  # type: ignore[method-assign]


def load_package() -> list[ModuleType]:
    """Import every module of the package; of proofs only what can be read on Windows, which knows no `resource`."""
    import phase_gate

    found = []
    for module in pkgutil.walk_packages(phase_gate.__path__, "phase_gate."):
        if not module.name.endswith("__main__"):
            try:
                found.append(importlib.import_module(module.name))
            except ModuleNotFoundError as error:
                if error.name != "resource":
                    raise
    return found


def load_file(path: Path) -> Any:
    """Import a file without its package."""
    from importlib.util import module_from_spec, spec_from_file_location

    found = spec_from_file_location(path.stem, path)
    assert found is not None
    assert found.loader is not None
    module = module_from_spec(found)
    found.loader.exec_module(module)
    return module


def _serve(script: str, *, forks: bool) -> None:
    import gc

    import filelock  # noqa: F401
    import pytest  # noqa: F401
    import yaml  # noqa: F401
    from _pytest.config import default_plugins

    from phase_gate import bound

    for name in (*(f"_pytest.{plugin}" for plugin in default_plugins), *_LATER):
        importlib.import_module(name)
    load_package()
    sys.modules["ruff"] = None  # type: ignore[assignment]  # a plain installation; see `_give_extras`
    bound.os.fsync = lambda fd: None  # nobody pulls the plug here
    begin_sessions_fast()
    _warm_up()
    # What is there now stays: a child that collects garbage need not look through it, and does not copy its pages.
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        order = json.loads(line)
        if not forks:
            _become(order, script)
        child = os.fork()
        if child == 0:
            _become(order, script)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _warm_up() -> None:
    """Run pytest once: what it compiles, looks up and specialises need not be done, and copied, in each child."""
    import contextlib
    import functools
    import tempfile

    import pytest

    before = set(sys.modules), sys.path[:], dict(os.environ), os.getcwd()
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nowhere:
        (project := Path(folder, "project")).mkdir()
        (project / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")  # whatever lies above
        (project / "test_warm.py").write_text(_FIRST_TESTS, encoding="utf-8")
        # What the first test that needs a process has set is not for this run: a summary of CI, say.
        for name in [name for name in os.environ if name.startswith(("GITHUB_", "GITLAB_", "PHASE_GATE_", "CI"))]:
            del os.environ[name]
        os.environ |= {
            "HOME": folder,
            "USERPROFILE": folder,
            "XDG_STATE_HOME": folder,
            "GIT_CEILING_DIRECTORIES": folder,
        }
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        os.chdir(project)
        with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
            pytest.main(["-p", "phase_gate.plugin", "-p", "no:cacheprovider", "--phase=red"])
        os.chdir(before[3])
    # Nothing of it is left: neither modules nor answers about folders, installed distributions and the last failure.
    for name in sys.modules.keys() - before[0]:
        del sys.modules[name]
    sys.path[:] = before[1]
    os.environ.clear()
    os.environ.update(before[2])
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        vars(sys).pop(name, None)
    tempfile.tempdir = None
    for name, module in list(sys.modules.items()):
        if name.startswith("phase_gate."):
            for value in vars(module).values():
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()


def _give_extras() -> None:
    """Be an installation with extras."""
    del sys.modules["ruff"]
    sys.path[:] = [path for path in sys.path if path != WITHOUT_EXTRAS]


def _give_proofs_time() -> None:
    """Let a proof take as long as it takes on a busy machine."""
    from phase_gate.workflow.settings import ProofSettings

    ProofSettings._defaults["seconds"] = 600.0


def _allow_no_mount() -> None:
    """Be a system that refuses to mount a sandbox, as many containers are."""
    from phase_gate.proof import sandbox

    sandbox._refused.add("mounted")


def _make_no_proofs() -> None:
    """Do without what starts pytest three times and more wherever a phase ends."""
    from phase_gate.evidence import gathering

    unproven = sys.modules["unproven"] = ModuleType("unproven")
    unproven.prove = lambda *given, **named: None  # type: ignore[attr-defined]
    gathering.PROVER = "unproven"


def _main_of(program: str) -> Callable[[], int]:
    if program == "pytest":
        import pytest

        return pytest.main
    from phase_gate.cli import main

    return main


def _leave(code: int) -> None:
    """End as the interpreter does, but leave memory to the system: to take it down takes longer than a short command.

    Return where the interpreter has to do it itself, for it has something to say: streams are lost.
    """
    import atexit
    import threading

    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except Exception:
        return
    os._exit(code)


def _become(order: dict[str, Any], script: str) -> NoReturn:
    """Be that command from here on, up to the interpreter's own end."""
    os.chdir(order["root"])
    os.environ.clear()
    os.environ.update(order["environment"])
    if WITHOUT_EXTRAS not in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        _give_extras()
    proofs = os.environ.pop(WITH_PROOF, "")
    if proofs:
        _give_proofs_time()
        if proofs == "copied":
            _allow_no_mount()
    else:
        _make_no_proofs()
    if order.get("at_terminal"):
        import pty

        source = pty.openpty()[1]
    else:
        source = os.open(os.devnull, os.O_RDONLY)
    os.dup2(source, 0)
    for name, number in (("out", 1), ("err", 2)):
        # Both may be one file: neither writes over what the other wrote.
        file = os.open(order[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        os.dup2(file, number)
        os.close(file)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    if script:
        load_file(Path(script)).prepare(order)
    program, *arguments = order["words"]
    sys.argv = [program, *arguments]
    given = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path not in ("", WITHOUT_EXTRAS)]
    sys.path[:0] = [path for path in map(os.path.abspath, given) if path not in sys.path]
    sys.path.insert(0, os.getcwd())  # before xdist is imported, which keeps the path for its workers
    try:
        code: Any = _main_of(program)()
    except SystemExit as left:
        code = left.code
    if isinstance(code, int):
        _leave(code)
    sys.exit(code)


if __name__ == "__main__":
    _serve(sys.argv[1], forks="forks" in sys.argv[2:])
