"""What has to hold in every shell."""

from __future__ import annotations

from tests.shells.driver import Shell
from tests.shells.table import Row


def check_row(shell: Shell, row: Row) -> None:
    offered = shell.offers(row.typed)
    assert [word for word in row.offered if word not in offered] == [], sorted(offered)
    assert [word for word in row.withheld if word in offered] == [], sorted(offered)
    # Reading the script costs no process, and what is known from the parser neither.
    assert set(shell.place.asked()) == ({f"completion --values {row.asks}"} if row.asks else set())
    assert len(shell.place.asked()) <= 1


def check_broken_project(shell: Shell) -> None:
    (shell.place.root / "phase-gate.yaml").write_text("workflow: [\n", encoding="utf-8")
    offered = shell.offers("rewind re")
    assert {"red", "refactor"} & offered == set()
    assert not [word for word in offered if "yaml" in word or "phase-gate:" in word], "and no error on the terminal"
    assert shell.place.asked() == ["completion --values phases"]


def check_hostile_task(shell: Shell) -> None:
    """A folder's name is no command, whoever wrote it."""
    for name in ("$(touch pwned)", "`touch pwned`", "x;touch pwned", "login$(touch pwned)"):
        folder = shell.place.root / ".phase-gate" / "tasks" / name
        folder.mkdir()
        (folder / "ledger.jsonl").write_text("", encoding="utf-8")
    assert "login" in shell.offers("status --task ")
    assert not (shell.place.root / "pwned").exists()
