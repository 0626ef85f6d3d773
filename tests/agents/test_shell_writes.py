"""Which files a shell command writes: what is seen, and what is honestly not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phase_gate.agents.shell_writes import Kind, find_writes, patched_paths


def look(path: str) -> Kind:
    if path in ("tests", "sub"):
        return "folder"
    return "file" if path in ("a.py", "tests/test_a.py") else ""


PATCH = """\
*** Begin Patch
*** Update File: tests/test_a.py
@@
-x
+y
*** Move to: b.py
*** Delete File: c.py
*** End Patch"""

DIFF = "--- a/tests/test_a.py\n+++ b/tests/test_a.py\t2026-01-01\n@@ -1 +1 @@\n-x\n+y"

SEEN = {
    "diff-by-git": (f"git apply <<'EOF'\n{DIFF}\nEOF", "tests/test_a.py"),
    "diff-by-git-elsewhere": (f"cd sub && git apply -p2 - <<EOF\n{DIFF}\nEOF", "sub/test_a.py"),
    "diff-by-patch": (f"patch -p1 <<'EOF'\n{DIFF}\nEOF", "tests/test_a.py"),
    "diff-by-patch-without-folders": (f"patch <<'EOF'\n{DIFF}\nEOF", "test_a.py"),
    "diff-in-a-pipe": (f"cat <<'EOF' | git apply --index\n{DIFF}\nEOF", "tests/test_a.py"),
    "diff-in-a-word": (f"printf '%s' '\n{DIFF}' | patch -p1", "tests/test_a.py"),
    "diff-of-a-new-file": ("git apply <<EOF\n--- /dev/null\n+++ b/a.py\n@@ -0,0 +1 @@\n+x\nEOF", "a.py"),
    "redirection": ("echo x > a.py", "a.py"),
    "appending": ("echo x >> a.py", "a.py"),
    "without-spaces": ("echo x>a.py", "a.py"),
    "clobbering": ("echo x >| a.py", "a.py"),
    "both-streams": ("make &> log.txt", "log.txt"),
    "errors": ("make 2> err.txt", "err.txt"),
    "heredoc": ("cat <<'EOF' > tests/test_a.py\nassert x > y\nEOF\nls > list", "tests/test_a.py list"),
    "heredoc-behind": ("cat > a.py <<EOF\nx > b.py\nEOF", "a.py"),
    "tee": ("make | tee -a log.txt", "log.txt"),
    "tee-with-errors": ("make |& tee log.txt", "log.txt"),
    "sed-in-place": ("sed -i 's/a/b/' a.py b.py", "a.py b.py"),
    "sed-with-a-backup": ("sed -i.bak -e 's/a/b/' -e 's/c/d/' a.py", "a.py"),
    "sed-long": ("sed --in-place --expression='s/a/b/' a.py", "a.py"),
    "sed-glob": ("sed -i s/a/b/ tests/*.py", "tests/*.py"),
    "perl": ("perl -pi -e 's/a/b/' a.py", "a.py"),
    "move": ("mv a.py b.py", "a.py b.py"),
    "move-into": ("mv a.py tests", "a.py tests/a.py"),
    "copy": ("cp x.py a.py", "a.py"),
    "copy-into": ("cp -r x.py y.py tests/", "tests/x.py tests/y.py"),
    "copy-to": ("cp -t tests x.py", "tests/x.py"),
    "link": ("ln -sf x.py a.py", "a.py"),
    "remove": ("rm -rf tests .phase-gate", "tests .phase-gate"),
    "remove-odd-name": ("rm -- -x.py", "-x.py"),
    "truncate": ("truncate -s 0 a.py", "a.py"),
    "dd": ("dd if=/dev/zero of=a.py", "a.py"),
    "find-and-delete": ("find tests -name '*.py' -delete", "tests/**/*.py"),
    "find-and-remove": ("find tests sub -exec rm {} +", "tests sub"),
    "another-folder": ("cd tests && rm test_a.py", "tests/test_a.py"),
    "two-folders-down": ("cd sub; cd deep; echo > x", "sub/deep/x"),
    "several": ("rm a.py; echo > b.py && mv c.py d.py || true", "a.py b.py c.py d.py"),
    "lines": ("rm a.py\nrm b.py", "a.py b.py"),
    "continued": ("rm \\\n  a.py", "a.py"),
    "behind-a-comment": ("# don't\nrm a.py # and not b.py", "a.py"),
    "subshell": ("(rm a.py)", "a.py"),
    "condition": ("if true; then rm a.py; fi", "a.py"),
    "substitution": ('echo "$(rm a.py)" `rm b.py`', "a.py b.py"),
    "inner-shell": ("bash -lc 'rm a.py > b.py'", "b.py a.py"),
    "eval": ("eval 'rm a.py'", "a.py"),
    "wrapped": ("sudo -u me env X=1 nice -n 5 timeout 10 rm a.py", "a.py"),
    "assigned": ("X=1 Y=2 rm a.py", "a.py"),
    "by-path": ("/bin/rm a.py", "a.py"),
    "patch": (f"apply_patch <<'EOF'\n{PATCH}\nEOF", "tests/test_a.py b.py c.py"),
    "patch-in-a-word": (f"apply_patch '{PATCH}'", "tests/test_a.py b.py c.py"),
    "git-removes": ("git rm -q a.py", "a.py"),
    "git-elsewhere": ("git -C sub mv x.py y.py", "sub/x.py sub/y.py"),
    "git-cleans-what-it-ignores": ("git clean -fdx", "."),
}
SEEN |= {
    "behind-a-quote-that-is-escaped": (r"echo $(echo \' ) > a.py", "a.py"),
    "with-a-number-in-front": ("make 2>errors.txt 1>>out.txt", "errors.txt out.txt"),
    "behind-another-text": ("echo `date` && echo ${x:-y} | tee -a a.py", "a.py"),
}
PUT_BACK = {
    "checkout": ("git checkout -- tests/test_a.py", "tests/test_a.py"),
    "checkout-by-name": ("git checkout HEAD~1 tests/test_a.py", "tests/test_a.py"),
    "checkout-all": ("git checkout .", "."),
    "restore": ("git restore --source HEAD tests", "tests"),
    "restore-both": ("git restore --staged --worktree a.py", "a.py"),
    "stash": ("git stash", "."),
    "stash-pop": ("git stash pop", "."),
    "reset": ("git reset --hard HEAD~1", "."),
    "clean": ("git clean -fd", "."),
}
NOTHING = {
    "reading": "cat a.py | grep x | head -3",
    "a-sign-in-quotes": "grep '>' tests/test_a.py",
    "a-sign-that-is-escaped": r"echo a \> a.py",
    "a-text-with-signs": "git commit -m 'a > b; rm a.py'",
    "devices": "pytest > /dev/null 2>&1",
    "sed-that-prints": "sed -n 1,3p a.py",
    "input": "python x.py < a.py",
    "a-branch": "git checkout main",
    "a-new-branch": "git checkout -b tests",
    "the-index-only": "git restore --staged a.py",
    "looking-at-stashes": "git stash list",
    "a-soft-reset": "git reset HEAD~1",
    "find-that-looks": "find . -name a.py",
    "a-copy-to-nowhere": "cp a.py",
    "nothing": "",
    "only-a-comment": "# rm a.py",
    "a-diff-that-is-only-checked": f"git apply --check <<'EOF'\n{DIFF}\nEOF",
    "a-diff-that-is-shown": f"cat <<'EOF'\n{DIFF}\nEOF",
    "a-diff-for-another-command": f"git commit -m 'apply' -F - <<'EOF'\n{DIFF}\nEOF",
}
#: The docs say so: what a program does by itself can't be seen.
NOT_SEEN = {
    "python": "python -c \"open('a.py', 'w')\"",
    "a-script": "./change.sh a.py",
    "a-build": "make clean",
    "names-from-elsewhere": "cat list | xargs rm",
    "diff-from-a-file": "git apply change.patch",
    "an-open-quote": "rm 'a.py",
}


@pytest.mark.parametrize(("command", "expected"), SEEN.values(), ids=SEEN)
def test_what_is_written(command: str, expected: str) -> None:
    found = find_writes(command, look)
    assert [each.path for each in found] == expected.split()
    assert not any(each.is_put_back for each in found)


@pytest.mark.parametrize(("command", "expected"), PUT_BACK.values(), ids=PUT_BACK)
def test_what_git_puts_back(command: str, expected: str) -> None:
    assert [(each.path, each.is_put_back) for each in find_writes(command, look)] == [(expected, True)]


@pytest.mark.parametrize("command", [*NOTHING.values(), *NOT_SEEN.values()], ids=[*NOTHING, *NOT_SEEN])
def test_nothing_is_written(command: str) -> None:
    assert find_writes(command, look) == ()


def test_a_variable_stays_what_it_is() -> None:
    assert [each.path for each in find_writes("for f in a b; do rm $f; done")] == ["$f"]


def test_a_patch_names_its_files() -> None:
    assert patched_paths(PATCH) == ("tests/test_a.py", "b.py", "c.py")


PIECES = st.sampled_from(
    [
        *"'\"`\\\n><|;&()$# ",
        "rm",
        "a.py",
        "cd",
        "git",
        "-C",
        "stash",
        "bash",
        "-c",
        "$(",
        "<<EOF",
        "EOF",
        "sed",
        "-i",
        "-t",
    ]
)


@given(st.lists(PIECES, max_size=20).map("".join) | st.lists(PIECES, max_size=20).map(" ".join) | st.text(max_size=40))
def test_no_command_is_too_odd(command: str) -> None:
    assert all(isinstance(each.path, str) for each in find_writes(command, look))
