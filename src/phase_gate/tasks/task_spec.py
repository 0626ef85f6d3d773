"""One verify task, as described in its file, and the name of its folder. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from phase_gate.values import Value, field
from phase_gate.workflow.settings import MAX_TIMEOUTS

#: Characters in the name of a task's folder.
_MAX_SLUG = 64
#: The task without a name, which is in the state folder itself.
_RESERVED = ("default",)


class TaskSpec(Value):
    """One task, as described in its file."""

    name: str = field(prose=True)
    #: Paths relative to the project's root, with `/`. Globs are allowed. The task may change only these files.
    files: tuple[str, ...] = field(or_one=True)
    action: str = field(strip=True)
    #: The command that proves it, as you would type it.
    verify: str = field(strip=True)
    #: The criteria for being done.
    done: str = field(strip=True)
    #: Names of tasks that have to be approved first.
    depends_on: tuple[str, ...] = field(default=(), or_one=True)
    #: Why a failing verify command may run once more; empty if the task does not declare it as flaky.
    flaky: str = ""
    #: Seconds by step, if they differ from the defaults.
    timeouts: Mapping[str, float] = field(default_factory=dict, minimum=1, most=MAX_TIMEOUTS)
    #: The group of tasks that it runs with.
    wave: str = ""
    #: Its place in the plan that it comes from.
    phase: str = ""
    plan: str = ""

    @property
    def slug(self) -> str:
        return task_slug(self.name)


def task_slug(name: str) -> str:
    """Return the name of the task's folder: `Task 3: Create PlannerId` is stored in `task-3-create-plannerid`."""
    slug = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")
    is_whole = name.isascii() and slug not in _RESERVED and 0 < len(slug) <= _MAX_SLUG
    if is_whole:
        return slug
    # Two names could have the same slug if letters were replaced or cut, so add a hash.
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return "-".join(filter(None, (slug[: _MAX_SLUG - 9].strip("-") or "task", mark)))
