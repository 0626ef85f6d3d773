"""Programs of verify commands, by what they do: data.

Pure. Words that are not here are taken for checks, so a gap in a table refuses no command.
"""

from __future__ import annotations

import re
from collections.abc import Mapping


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


IDLE = _words(
    "echo printf true : sleep pwd date whoami hostname uname id printenv env clear seq alias type wait times "
    "logger tput banner figlet cowsay say yes"
)
SHOWS = _words(
    "cat ls ll dir tree head tail less more bat nl wc stat file du df ps find sort uniq cut tr column fold paste tac "
    "rev xxd od hexdump strings base64 sed awk tee xargs sha256sum sha1sum md5sum realpath basename dirname"
)
PREPARES = _words(
    "cd pushd popd export unset set mkdir touch cp mv rm ln chmod chown trap umask ulimit local declare readonly "
    "shopt source ."
)
#: What makes a check of one that shows.
CHECKING = {
    "find": ("-exec", "-execdir", "-ok"),
    "sha256sum": ("-c", "--check"),
    "sha1sum": ("-c", "--check"),
    "md5sum": ("-c", "--check"),
}
GIT_SHOWS = _words("status log show branch add commit fetch pull push stash tag ls-files blame config")
GIT_CHECKING = ("--exit-code", "--quiet", "--check", "--error-unmatch")

#: Options of runners with which no test is run.
LISTS: Mapping[str, tuple[str, ...]] = {
    "pytest": (
        *("--collect-only", "--co", "--collectonly", "--fixtures", "--funcargs", "--fixtures-per-test", "--markers"),
        *("--setup-plan", "--cache-show"),
    ),
    "jest": ("--listTests", "--showConfig", "--init"),
    "vitest": ("list",),
    "mocha": ("--dry-run", "--list-files"),
    "playwright": ("--list",),
    "go": ("-list", "-c"),
    "cargo": ("--no-run", "--list"),
    "ctest": ("-N", "--show-only"),
    "dotnet": ("--list-tests", "-t"),
    "rspec": ("--dry-run",),
    "phpunit": ("--list-tests", "--list-suites", "--list-groups"),
    "make": ("-n", "--dry-run", "--just-print", "--recon"),
    "mvn": ("-DskipTests", "-Dmaven.test.skip"),
    "gradle": ("--dry-run", "-m"),
    "tox": ("-l", "--list", "--listenvs", "--notest", "-n", "list", "config"),
    "nox": ("-l", "--list", "--list-sessions"),
    "bats": ("-c", "--count"),
    "behave": ("-d", "--dry-run"),
    "robot": ("--dryrun",),
    "deno": ("--no-run",),
}
#: Options with which a check ends with 0 whatever it finds.
FORGIVES: Mapping[str, tuple[str, ...]] = {
    "": ("--exit-zero", "--suppress-tests-failed-exit-code"),
    "make": ("-i", "--ignore-errors"),
    "mvn": ("-fn", "--fail-never", "-Dmaven.test.failure.ignore"),
}
PASSES_EMPTY = (
    *("--passWithNoTests", "--pass-with-no-tests", "--if-present", "--suppress-no-test-exit-code"),
    *("--no-tests=pass", "-DfailIfNoTests=false", "-Dsurefire.failIfNoSpecifiedTests=false"),
)

#: Runners, and the words after which they run everything.
RUNNERS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    **dict.fromkeys(("pytest", "py.test", "unittest"), ((), (".",), ("tests",), ("test",), ("discover",))),
    **dict.fromkeys(
        ("npm", "pnpm", "yarn", "bun"), (("test",), ("t",), ("run", "test"), ("run", "tests"), ("run", "test:all"))
    ),
    "make": (("test",), ("tests",), ("check",)),
    **dict.fromkeys(("tox", "nox", "jest", "mocha", "ava", "rspec", "phpunit", "ctest", "behave", "nose2"), ((),)),
    **dict.fromkeys(("vitest", "playwright"), ((), ("run",), ("test",))),
    "go": (("test", "./..."),),
    **dict.fromkeys(("cargo", "dotnet", "swift", "mix", "deno", "sbt", "lein", "stack", "cabal"), (("test",),)),
    **dict.fromkeys(("flutter", "dart", "rails"), (("test",),)),
    "rake": ((), ("test",), ("spec",)),
    **dict.fromkeys(
        ("mvn", "gradle"), tuple((*clean, goal) for clean in ((), ("clean",)) for goal in ("test", "verify", "check"))
    ),
}
#: Options by which a runner chooses among its tests.
SELECTS = re.compile(
    r"(?:-k|-m|-t|-e|-s|-g|-f|-R|-L|-p|-run|--run|--lf|--last-failed|--grep|--filter|--filter-.*|--tests?|--example|"
    r"--testNamePattern|--testPathPatterns?|--package|--lib|--bins?|--doc|--only|--group|--testsuite|--project|-Dtest|"
    r"--changed|--related|--pyargs|--deselect|--ignore|--tags)(?:=.*)?"
)
#: Options of runners that take the next word with them.
WITH_VALUE = _words(
    "-n -p -W -o -c -r --tb --cov --maxfail --timeout --rootdir --reporter --config -j --jobs -C --prefix --color"
)

#: Programs that run another one: how many words of their own follow, beside options.
WRAPPERS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("env", "time", "nice", "nohup", "command", "exec", "sudo", "stdbuf", "xvfb-run", "npx"), ()),
    **dict.fromkeys(("bunx", "pnpx", "ionice", "caffeinate", "builtin"), ()),
    "timeout": ("*",),
    **dict.fromkeys(("uv", "poetry", "pipenv", "pdm", "hatch", "rye"), ("run",)),
    "bundle": ("exec",),
}
WRAPPER_VALUES = _words(
    "-n -u -k -s --signal --kill-after --with --python --extra --group --project --directory --package --env-file "
    "--with-requirements --with-editable -c"
)
PYTHON = re.compile(r"(?:python|pypy)[0-9.]*|py")
SHELLS = ("sh", "bash", "zsh", "dash", "ksh")


FILE_TESTS = _words("-e -f -d -s -r -w -x -L -h -S -p -b -c -g -u -k -O -G -N -nt -ot -ef -t -v")
ALWAYS_THERE = frozenset((".", "..", "/", "./", "/tmp", "/dev/null", "~"))
