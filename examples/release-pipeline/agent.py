"""All roles of the pipeline without a model: `python agent.py ROLE` does what its prompt asks for, from `written`.

The debugger finds out what the author forgot, and mends it inside the recovery.
"""

import json
import re
import sys
from pathlib import Path

FOLDER = Path("docs/pipeline")
SURCHARGE = "return 300 + 100 * kilograms + (1000 if kilograms > 20 else 0)"


def main() -> int:
    role, prompt = sys.argv[1], sys.stdin.read()
    if role.startswith("voter"):
        file = re.search(r"^`(.*\.yaml)`:$", prompt, re.MULTILINE)[1]
        Path(file).write_text("vote: approve\nconfidence: 0.97\nby: a voter\n", encoding="utf-8")
        return 0
    for asked in re.findall(r"^- artifact: ([a-z-]+): (\S+)", prompt, re.MULTILINE):
        write(*asked, prompt)
    if role == "debugger":
        source = Path("parcel.py").read_text(encoding="utf-8")
        Path("parcel.py").write_text(source.replace("return 300 + 100 * kilograms", SURCHARGE), encoding="utf-8")
    signal(prompt)
    return 0


def write(name: str, path: str, prompt: str) -> None:
    """Write an artifact, anew in every iteration: what was left from an earlier attempt does not count."""
    number = re.search(r"This is iteration (\d+)", prompt)[1]
    if name == "role-plans":
        for each in ("developer", "reviewer"):
            copy(f"roles/{each}.md", FOLDER / "roles" / f"{each}.md", number)
        (FOLDER / "roles" / "first.md").unlink(missing_ok=True)
    elif name == "root-cause":
        record = {
            "failed_phase": re.search(r"^- failed: ([A-Z_]+)", prompt, re.MULTILINE)[1],
            "summary": "the test of heavy parcels fails",
            "root_cause": f"the surcharge was forgotten, as iteration {number} shows",
            "requires_phase_rewind_to": None,
        }
        Path(path).write_text(json.dumps(record, indent=2), encoding="utf-8")
    elif name != "repository-snapshot":  # the drive makes that
        copy(Path(path).name, Path(path), number)


def copy(name: str, target: Path, number: str) -> None:
    text = Path("written", name).read_text(encoding="utf-8")
    target.parent.mkdir(parents=True, exist_ok=True)
    if name.endswith(".md"):
        text += f"\nThis is iteration {number}.\n"
    else:
        text = text.replace("nothing.", f"nothing, in iteration {number}.")
    target.write_text(text, encoding="utf-8")


def signal(prompt: str) -> None:
    """Give the signal of Gate 2 in the file that the prompt names."""
    file = re.search(r"^`(.*\.yaml)`:$", prompt, re.MULTILINE)[1]
    rows = ("exit_signal: true", "reason: the role has done what the phase asks for")
    Path(file).write_text("\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
