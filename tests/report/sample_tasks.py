"""A project's tasks to look at: every state, workers, waves, names that are long and names that are hostile."""

from __future__ import annotations

from phase_gate.report.all_tasks import TaskLine, TaskList, Tone

_STATES: tuple[tuple[str, Tone, str], ...] = (
    ("approved", "good", ""),
    ("executing", "open", "the report of {by}"),
    ("verifying", "open", "the verify command"),
    ("reviewing", "open", "a reviewer"),
    ("blocked", "bad", "a person: three attempts failed"),
    ("untrusted", "bad", "phase-gate audit --task {task}"),
    ("pending", "odd", "Task 1: Say hello, Task 2: Say goodbye"),
)
_HOSTILE = '</script><script>window.hit = 1</script><img src=x onerror="window.hit = 1">'
_LONG = "Move_the_checkout_to_the_new_payment_provider_without_losing_a_single_order_of_the_old_one_" * 2


def build_tasks(number: int = 60) -> TaskList:
    """Return that many tasks, the last two with odd names."""
    lines = [_line(index, f"Task {index}: Write part {index} of the shop") for index in range(1, number - 1)]
    lines += [_line(number - 1, _LONG), _line(number, _HOSTILE)]
    return TaskList(root="/home/a/shop", at="2026-01-02T03:04:05.678Z", lines=tuple(lines))


def _line(index: int, name: str) -> TaskLine:
    state, tone, waits_for = _STATES[index % len(_STATES)]
    is_held = state in ("executing", "verifying")
    task, by = f"task-{index}", f"worker-{index % 5}" if is_held else ""
    return TaskLine(
        task=task,
        name=name,
        workflow="verification",
        state=state,
        shown=state,
        tone=tone,
        wave=f"wave {index % 3}",
        by=by,
        since="2026-01-02T03:00:00.000Z" if is_held else "",
        waits_for=waits_for.format(by=by, task=task),
        is_finished=state == "approved",
        asks_person=state == "blocked",
    )
