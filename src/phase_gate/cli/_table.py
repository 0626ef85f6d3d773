"""All commands, by group and name: function, summary, example, exit codes and arguments.

Parser, help, completion, the reference page and many tests are made from this table. `look.check` is the function
`check` in `cli/look.py`. An argument is one line: its syntax, two spaces, its meaning. `--name` or the name of a
positional argument is followed by its value: `VALUE`, `[VALUE]` if optional, `VALUE*` and `VALUE+` for several, `a|b`
for a choice. Then `int`, `float`, `required`, `repeated`, `default=...`, or `either` (only one of them).
"""

from __future__ import annotations

from phase_gate.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Command(Value):
    #: File and function.
    run: str
    summary: str
    #: An example, without `phase-gate`.
    example: str
    #: Exit codes, in addition to those of every command.
    codes: Mapping[int, str]
    arguments: tuple[str, ...]


def command(run: str, summary: str, example: str, codes: Mapping[int, str], *arguments: str) -> Command:
    return Command(run=run, summary=summary, example=example, codes=codes, arguments=arguments)


#: Options of the command as a whole.
OF_ALL = ("-h", "--help", "--version")

#: Options that every command has.
COMMON = (
    "--json  answer as JSON",
    "--task NAME  which task (also PHASE_GATE_TASK)",
    "--dir DIR  other state folder (also PHASE_GATE_DIR)",
    "-q  print errors only; use the exit code",
    "-v  print every detail",
)
#: Exit codes that every command has.
COMMON_CODES = {2: "the command line, a file or the rules are invalid", 11: "the state can't be trusted or written"}

#: Groups of sub-commands, with a summary.
FEATURES: dict[str, str] = {
    "agent": "Settings and prompts for coding agents",
    "breaker": "Decide about an open circuit",
    "ci": "A suite that runs in shards",
    "pipeline": "Votes, change requests and recovery of a pipeline",
    "store": "Tasks in a shared store, for work on many machines",
    "verify": "Take a task through executor, verify command and reviewer",
    "workflow": "Workflow files and the schemas of all files",
}

_CLOSED, _NOT_NOW, _PERSON = "a gate is closed", "not allowed now: see the message", "a person is needed"
_LOOKS = {0: "the phase may end", 10: "it may not"}
_DONE = {0: "done"}
_DONE_OR_NOT = {0: "done", 13: _NOT_NOW}
_STEP = {0: "the step passed", 10: "it failed, or the task is not done yet", 12: _PERSON, 13: _NOT_NOW}

#: As `agents.agent_table` lists them.
_CLIENTS = "claude|codex|gemini|cursor|copilot|vscode"
_REASON = "--reason TEXT  why, in a sentence"
_BY_PERSON = "--by NAME  the person who decides"
_BY = "--by NAME  your name; the user's name by default"
_WORD = "--word WORD  OVERRIDE, if there is no terminal to ask for it"

#: By group and name, in the order in which help lists them.
GROUPS: dict[str, dict[str, Command]] = {
    "begin with these": {
        "demo": command(
            "demo.demo",
            "Show a cycle on a sample project, with real pytest runs",
            "demo --keep sample",
            {0: "every step worked", 1: "a step did not"},
            "--keep FOLDER  build the project in this folder, and keep it",
        ),
        "status": command(
            "look.status",
            "Show the status of the task and the next command",
            "status --criteria",
            _LOOKS,
            "--criteria  print the acceptance criteria and their tests",
            "--block  print the last verdict as a PRP_PHASE_STATUS block",
            "--watch  update the output when something changes, until Ctrl-C",
        ),
        "check": command(
            "look.check",
            "Exit 0 if the phase may end, 10 if not (read-only)",
            "check --gate1",
            _LOOKS,
            "--gate1  ignore the exit signal (Gate 2)",
        ),
        "explain": command(
            "explain.explain",
            "Explain the last verdict, or a metric, guard, message or phase by its name",
            "explain tests-unchanged",
            _LOOKS,
            "name [NAME]  a metric, guard, phase or message; none: the last verdict",
            "--gate-result  print the last verdict as a gate result",
            "--merge FILE  keep the scores of this gate result, with --gate-result",
        ),
        "signal": command(
            "steps.signal",
            "Give the explicit exit signal (Gate 2) for the last complete run",
            'signal --reason "both tests pass, twice"',
            {0: "the phase has ended", 10: _CLOSED, 13: "the signal is stale, contradictory or early"},
            "--reason TEXT default=  why it is done, in a sentence",
            _BY,
            '--remaining-work TEXT default=none  remaining work; must be "none" for a done signal',
            "--next  apply to the next run instead of the last one",
            "--not-done either  the phase is not done: a veto",
            "--blocked either  a person is needed",
            "--test-wrong either  a test is wrong",
        ),
        "report": command(
            "story.report",
            "Write the history of the task as one HTML file, or as Markdown",
            "report -o report.html",
            _DONE,
            "-o --output FILE  write .html or .md, by suffix (default: print it as Markdown)",
        ),
        "prove": command(
            "ci.prove",
            "Show that new tests fail without the change and pass with it",
            "prove --base origin/main",
            {0: "no test was refuted", 10: "a test passes without the change, or a check can't fail", 13: _NOT_NOW},
            "--base REV  compare with this git revision; needs no phases",
            "--suite PATH*  find tests whose checks can't fail; needs neither phases nor git",
            "--exclude GLOB repeated  leave these test files out",
            "--strict  with --base: exit 10 unless every test needs the change",
            "--seconds N float  processor time of each run (30, with --base 300); with --suite, time for all of it",
            "--markdown  print Markdown, for the summary of a CI job",
        ),
    },
    "continue": {
        "history": command(
            "story.history",
            "List every run of the task, oldest first",
            "history --last 10",
            _DONE,
            "--last N int  only the last N",
            "--events  list every event, not only the runs",
            "--calibration  show how often claims of completion turned out true",
        ),
        "declare": command(
            "steps.declare",
            "Declare a fact that the workflow requires",
            'declare refactoring_complete=true --reason "nothing is left to move"',
            _DONE_OR_NOT,
            "fact NAME=VALUE  a name from the workflow's facts, and its value",
            "--reason TEXT required  why, in a sentence",
            _BY,
        ),
        "withdraw": command(
            "steps.withdraw",
            "Take back a waiting signal, or a declared fact",
            "withdraw refactoring_complete",
            _DONE_OR_NOT,
            "fact [FACT]  a declared fact; by default the waiting signal",
        ),
        "advance": command(
            "steps.advance",
            "Enter the next phase, or evaluate a phase that needs no tests",
            "advance",
            {0: "the next phase begins, or this one has ended", 10: _CLOSED, 13: _NOT_NOW},
        ),
        "rewind": command(
            "steps.rewind",
            "Go back to an earlier phase",
            'rewind red --reason "a case is missing"',
            _DONE_OR_NOT,
            "phase PHASE  the earlier phase to go back to",
            "--reason TEXT required  why, in a sentence",
            _BY,
        ),
        "baseline": command(
            "steps.baseline",
            "Record the tests and outcomes that the next cycle starts from",
            "baseline --rev HEAD~1",
            _DONE_OR_NOT,
            "--rev REV  take it from this git revision, in a separate worktree",
            "arguments -- ARGS*  arguments for pytest",
        ),
    },
    "decide against the evidence (people only)": {
        "waive": command(
            "people.waive",
            "Accept the current findings of a guard, with a reason",
            'waive tests-kept --reason "the vendor dropped the call" --by Ada --days 7',
            _DONE_OR_NOT,
            "guard GUARD  the guard that the last verdict names",
            _REASON,
            _BY_PERSON,
            "--days N float  expire after N days; by default with the cycle",
        ),
        "breaker reset": command(
            "people.reset",
            "Allow one more run while the circuit is open, with a reason",
            'breaker reset --reason "the rounding was explained to me" --by Ada',
            _DONE_OR_NOT,
            _REASON,
            _BY_PERSON,
        ),
        "breaker skip": command(
            "people.skip",
            "Skip the phase while its circuit is open, with a reason",
            'breaker skip --reason "the vendor is down until Monday" --by Ada',
            _DONE_OR_NOT,
            _REASON,
            _BY_PERSON,
        ),
        "force": command(
            "people.force",
            "End a phase against the evidence; asks for a confirmation word",
            'force --reason "shown on the device" --by Ada',
            _DONE_OR_NOT,
            _REASON,
            _BY_PERSON,
            _WORD,
        ),
    },
    "work with agents": {
        "drive": command(
            "drive.run",
            "Let an agent work through the phases until it is done or needs you",
            "drive -- claude -p",
            {
                0: "the cycle is done, or the phase of --until has exited",
                10: "the budget is spent",
                12: "the circuit is open, or the agent is stuck",
                13: "a person has to answer, or not now",
                130: "interrupted",
            },
            "--goal TEXT  what to build, for every prompt",
            "--goal-file FILE  a file with the goal",
            "--until PHASE  end when this phase has exited; by default after the last one",
            "--iterations N int  budget: at most N starts of the agent",
            "--time SPAN  budget: total time, like 4h",
            "--time-limit SPAN  time for one iteration of the agent, like 20m",
            "--signal ask|agent  who gives the signal of Gate 2; ask: a person",
            "--resume  continue a drive that was interrupted or killed",
            "--executor COMMAND  executor of verify tasks: a client's name, or a command",
            "--reviewer COMMAND  their reviewer: a different command",
            "--commit  commit approved verify tasks",
            "arguments -- COMMAND*  the agent's command; in it {prompt} is a file with the prompt, {text} the prompt",
        ),
        "claim": command(
            "claim.run",
            "Compare an agent's claim with the measurements, and decide whether it is done",
            "claim session.jsonl --transcript",
            {0: "it is done", 10: "it is not", 12: _PERSON, 13: _NOT_NOW},
            "file FILE  the agent's output; - for standard input",
            "--transcript  read JSON lines: the assistant's texts only",
            "--as-signal  use the status block as the signal of Gate 2, if the settings allow it",
            "--threshold N int  number of required indicators, for this call",
            "--kind NAME  kind of task, with its own threshold in exit_gate.thresholds",
            _BY,
            "--reason TEXT  why a person lowers the threshold for this claim",
        ),
        "hook": command(
            "hook.run",
            "Answer a coding agent that is about to stop, or to use a tool",
            "hook stop --agent claude",
            {0: "answered; for some agents 2 means continue"},
            "event stop|pre-tool  what the agent is about to do",
            f"--agent {_CLIENTS}  which agent; by default recognized by its event",
        ),
        "agent prompt": command(
            "agent.prompt",
            "Print the rules of a phase for an agent, and its status block",
            "agent prompt --phase green",
            _DONE,
            "--phase NAME  which phase; by default the current or the first one",
            "--style exit|prp|doyaken|ralph default=exit  form of the status block",
        ),
        "agent uninstall": command(
            "agent.uninstall",
            "Remove the hooks that init wrote for coding agents",
            "agent uninstall --agent claude",
            _DONE_OR_NOT,
            f"--agent {_CLIENTS}+  only for these agents; by default for all",
            "--dry-run  print the changes without writing them",
        ),
    },
    "verify tasks, pipelines, CI": {
        "verify start": command(
            "_verify_steps.start",
            "Take tasks from a file, or start an attempt; by default of the next task",
            "verify start --task-file tasks.xml",
            _STEP,
            "--task-file FILE  tasks as XML or YAML (phase-gate workflow schema task), or a PLAN.md with them",
            "--untimed  no time limit for executor and reviewer",
            "--by NAME  the worker that takes the task",
        ),
        "verify next": command(
            "_verify_steps.next_task",
            "Take the next free task for a worker, and start an attempt",
            "verify next --by worker-1",
            _STEP,
            "--by NAME  the worker that takes it; the user's name by default",
        ),
        "verify executor": command(
            "_verify_steps.executor",
            "Step 1: hand in the executor's report",
            "verify executor report.yaml --by Ada",
            _STEP,
            "file FILE  the report as YAML (phase-gate workflow schema executor-result); - for stdin",
            "--by NAME  who executed it; the user's name by default",
        ),
        "verify run": command(
            "_verify_steps.run",
            "Step 2: run the task's verify command",
            "verify run --timeout 60",
            _STEP,
            "--timeout S float  seconds for this run, up to the maximum",
        ),
        "verify review": command(
            "_verify_steps.review",
            "Step 3: give the reviewer's verdict",
            "verify review verdict.yaml --by Grace",
            _STEP,
            "file FILE  the verdict as YAML (phase-gate workflow schema verdict); - for stdin",
            "--by NAME  the reviewer; must not be the executor",
        ),
        "verify commit": command(
            "_verify_steps.commit",
            "Commit only the files of an approved task",
            'verify commit --message "children pay half"',
            _STEP,
            "--message -m TEXT  the first line of the message; the task's name by default",
        ),
        "verify abandon": command(
            "_verify_steps.abandon",
            "End an attempt on purpose, with a reason",
            'verify abandon --reason "the task is obsolete"',
            _STEP,
            _REASON,
            "--by NAME  who ends it; the user's name by default",
        ),
        "verify show": command(
            "_verify_show.show",
            "Print the instructions of the executor, or the evidence for the reviewer",
            "verify show",
            _STEP,
        ),
        "verify status": command(
            "_verify_show.status",
            "Show the status of a task, or of all tasks with their failures",
            "verify status",
            _STEP,
        ),
        "verify resume": command(
            "_verify_steps.resume",
            "Continue after a halt, or on the same files, with a reason",
            'verify resume --reason "the server is back" --by Ada',
            _STEP,
            "--wave NAME  the halted wave; without it and --task, the tasks without a wave",
            _REASON,
            _BY_PERSON,
        ),
        "verify skip": command(
            "_verify_steps.skip",
            "Complete a task without verification, with a kind and a reason",
            'verify skip --task fare --kind unavailable --reason "no device here" --by Ada',
            _STEP,
            "--kind KIND  unavailable, false-negative or time-pressure (user risk)",
            _REASON,
            _BY_PERSON,
        ),
        "verify force": command(
            "_verify_steps.force",
            "Complete a task against the evidence; asks for a confirmation word",
            'verify force --task fare --reason "shown on the device" --by Ada',
            _STEP,
            _REASON,
            _BY_PERSON,
            _WORD,
        ),
        "pipeline vote": command(
            "pipeline.vote",
            "Vote in a consensus phase, or show the votes",
            "pipeline vote vote.yaml --by Ada",
            {0: "the vote counts", 10: "no consensus yet", 13: _NOT_NOW},
            "files FILE*  votes as YAML, one per reviewer (phase-gate workflow schema vote); - for stdin",
            "--by NAME  who votes",
        ),
        "pipeline request": command(
            "pipeline.request",
            "Make, list and decide on change requests",
            'pipeline request new --type scope --title "refunds are wanted, too"',
            _DONE_OR_NOT,
            "action new|list|approve|reject  what to do",
            "id [ID]  which one to decide on, like CR-1",
            "--type scope|architecture|dependency|config|requirement  what has to change",
            "--title TEXT  what has to change, in a sentence",
            "--blocking  close every gate until it is decided",
            "--reason TEXT default=  the reason for the decision",
            _BY,
        ),
        "pipeline recover": command(
            "pipeline.recover",
            "Show or start the recovery, or continue a pipeline that is stuck",
            "pipeline recover status",
            {0: "there is nothing to recover", 10: _CLOSED, 12: "the work is stuck", 13: _NOT_NOW},
            "action [status|start|resume] default=status  show it, start it, or continue if stuck",
            "--markdown  print the stuck report as Markdown",
            "--reason TEXT default=  why, in a sentence",
            "--by NAME  who decides",
        ),
        "ci combine": command(
            "ci.combine",
            "Combine the records of shards into one run",
            "ci combine shards --report verdict.md",
            {0: "the gate is open", 10: _CLOSED, 12: "the breaker is open", 13: _NOT_NOW},
            "folder [DIR]  folder with the records, at any depth; by default phase-gate-shards in the root",
            "--exit gate1|dual  what 0 means: Gate 1 (default), or both gates",
            "--exit-signal REASON  give the exit signal 'done' for this run",
            "--report FILE repeated  write the verdict to FILE (.json, .md, .html, .xml, .env); may be repeated",
        ),
    },
    "set up and maintain": {
        "init": command(
            "agent.init",
            "Write a commented phase-gate.yaml, or install hooks for coding agents",
            "init --agent claude codex --dry-run",
            _DONE_OR_NOT,
            "--dry-run  print the changes without writing them",
            f"--agent {_CLIENTS}+  add hooks to the settings of these agents instead",
            "--program COMMAND  the command that agents call, with --agent; phase-gate by default",
        ),
        "doctor": command(
            "doctor.doctor",
            "Check the installation",
            "doctor",
            {0: "everything works", 1: "a check failed"},
            "--program COMMAND default=phase-gate  the command that agents call, as with init (default: %(default)s)",
        ),
        "audit": command(
            "audit.run",
            "Verify every line of the ledger; repair a damaged one",
            "audit --repair",
            {0: "the ledger is intact, or is now", 11: "it is not", 13: _NOT_NOW},
            "--repair  keep a copy and continue after the last good line",
            "--accept-rollback  accept a folder or a store that was restored",
            "--reason TEXT  why, with --accept-rollback",
            "--by NAME  who, with --accept-rollback",
        ),
        "store status": command(
            "store.run_store_status",
            "Show the store of the tasks, and whether this machine is up to date",
            "store status",
            {0: "the store answers", 11: "it does not"},
        ),
        "store trust": command(
            "store.run_store_trust",
            "Agree to the store that the settings name",
            "store trust",
            _DONE_OR_NOT,
            "--word WORD  TRUST, without being asked",
        ),
        "store init": command(
            "store.run_store_init",
            "Set up a store, and show what others will be able to read",
            "store init git:origin#shop",
            _DONE_OR_NOT,
            "store [STORE]  its address; by default the configured one",
            "--writer USER repeated  a database user who may append; may be repeated",
        ),
        "workflow check": command(
            "workflow.check",
            "Check workflow files and report every mistake",
            "workflow check pipeline",
            {0: "no mistakes", 2: "mistakes, or an invalid command line"},
            "files FILE*  a workflow file, or the name of a shipped workflow; the project's own by default",
        ),
        "workflow schema": command(
            "workflow.schema",
            "Print the JSON Schema of a file format",
            "workflow schema workflow",
            _DONE,
            "name [NAME]  which schema (evaluation by default)",
        ),
        "completion": command(
            "completion.completion",
            "Print the completion script of a shell",
            "completion bash",
            _DONE,
            "shell bash|zsh|fish  one of: bash, zsh, fish",
        ),
    },
}

#: By name.
COMMANDS: dict[str, Command] = {name: each for group in GROUPS.values() for name, each in group.items()}
