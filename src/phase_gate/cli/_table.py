"""Every command, by group and name: who answers it, its one line, an example, its exit codes, its arguments.

Parser, help, completion, the reference page and many tests are made from this table. `look.check` is the function
`check` in `cli/look.py`. An argument is one line: what is typed, two spaces, what it means. Behind `--name` or the name
of a place stands its value: `VALUE`, `[VALUE]` if it may be left out, `VALUE*` and `VALUE+` for several, `a|b` for one
of these words. Then `int`, `float`, `required`, `repeated`, `default=...`, or `either`: only one of those may be given.
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
    #: What can be typed as it is, behind `phase-gate`.
    example: str
    #: Exit codes, beside those that every command has.
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
    "-q  print only what went wrong: the exit code answers",
    "-v  print every detail",
)
#: Exit codes that every command has.
COMMON_CODES = {2: "the command line, a file or the rules are invalid", 11: "the state can't be trusted or written"}

#: Features whose commands stand below their name, each with its one line.
FEATURES: dict[str, str] = {
    "agent": "Settings and prompts for coding agents",
    "breaker": "Decide what becomes of an open circuit",
    "ci": "A suite that runs in shards",
    "pipeline": "Votes, change requests and recovery of a pipeline",
    "store": "Tasks in a shared store, for work on many machines",
    "verify": "Take a task through executor, verify command and reviewer",
    "workflow": "Workflow files and the schemas of all files",
}

_CLOSED, _NOT_NOW, _PERSON = "a gate is closed", "not now: the message says why", "a person is needed"
_LOOKS = {0: "the phase may end", 10: "it may not"}
_DONE = {0: "done"}
_DONE_OR_NOT = {0: "done", 13: _NOT_NOW}
_STEP = {0: "the step passed", 10: "it failed, or the task is not done yet", 12: _PERSON, 13: _NOT_NOW}

#: As `agents.agent` lists them.
_CLIENTS = "claude|codex|gemini|cursor|copilot|vscode"
_REASON = "--reason TEXT  why, in a sentence"
_BY_PERSON = "--by NAME  who answers for it"
_BY = "--by NAME  who says so; the user's name by default"
_WORD = "--word WORD  OVERRIDE, where there is no terminal to ask for it"

#: By group and name, in the order in which help lists them.
GROUPS: dict[str, dict[str, Command]] = {
    "begin with these": {
        "demo": command(
            "demo.demo",
            "Show the whole thing on a sample project, with real pytest runs",
            "demo --keep sample",
            {0: "every step went as told", 1: "a step did not"},
            "--keep FOLDER  build the project here and leave it, instead of a temporary one",
        ),
        "status": command(
            "look.status",
            "Say where the task stands and what to type next",
            "status --criteria",
            _LOOKS,
            "--criteria  print the acceptance criteria and their tests",
            "--block  print the last verdict as a PRP_PHASE_STATUS block",
            "--watch  show it again whenever something changes, until Ctrl-C",
        ),
        "check": command(
            "look.check",
            "Exit 0 if the phase may end, 10 if not (read-only)",
            "check --gate1",
            _LOOKS,
            "--gate1  leave Gate 2 out: the metrics alone",
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
            "--next  speak of the next evaluation instead of the last run",
            "--not-done either  say that it is explicitly not done: a veto",
            "--blocked either  say that a person is needed",
            "--test-wrong either  say that a test is wrong",
        ),
        "report": command(
            "story.report",
            "Tell the whole story of the task as one HTML file, or as Markdown",
            "report -o report.html",
            _DONE,
            "-o --output FILE  write .html or .md, by suffix (default: print it as Markdown)",
        ),
        "prove": command(
            "ci.prove",
            "Show that new tests fail without the change and pass with it",
            "prove --base origin/main",
            {0: "nothing was disproven", 10: "a test passes without the change, or a check can't fail", 13: _NOT_NOW},
            "--base REV  compare with this git revision; needs no phases",
            "--suite PATH*  find tests whose checks can't fail; needs neither phases nor git",
            "--exclude GLOB repeated  leave these test files out",
            "--strict  with --base: exit 10 unless every test needs the change",
            "--seconds N float  processor time of each run (30, with --base 300); with --suite, time for all of it",
            "--markdown  print Markdown, for the summary of a CI job",
        ),
    },
    "go on": {
        "history": command(
            "story.history",
            "List every run of the task, oldest first",
            "history --last 10",
            _DONE,
            "--last N int  only the last N",
            "--events  list every event, not only the runs",
            "--calibration  how often claims of completion were true later",
        ),
        "declare": command(
            "steps.declare",
            "Declare a fact that the workflow asks for",
            'declare refactoring_complete=true --reason "nothing is left to move"',
            _DONE_OR_NOT,
            "fact NAME=VALUE  a name from the workflow's facts, and its value",
            "--reason TEXT required  why it is so, in a sentence",
            _BY,
        ),
        "withdraw": command(
            "steps.withdraw",
            "Take back a waiting signal, or a declared fact",
            "withdraw refactoring_complete",
            _DONE_OR_NOT,
            "fact [FACT]  a declared fact; without it, the waiting signal",
        ),
        "advance": command(
            "steps.advance",
            "Enter the next phase, or evaluate a phase that needs no tests",
            "advance",
            {0: "the next phase begins, or this one has ended", 10: _CLOSED, 13: _NOT_NOW},
            "--template  in a pipeline: begin each file that the phase asks for and that is missing",
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
            "--rev REV  take it from this git revision, in a worktree of its own",
            "arguments -- ARGS*  arguments for pytest",
        ),
    },
    "decide against the evidence (people only)": {
        "waive": command(
            "people.waive",
            "Let one guard's present findings pass: a person, with a reason",
            'waive tests-kept --reason "the vendor dropped the call" --by Ada --days 7',
            _DONE_OR_NOT,
            "guard GUARD  the guard that the last verdict names",
            _REASON,
            _BY_PERSON,
            "--days N float  let it expire after so many days; without, with the cycle",
        ),
        "breaker reset": command(
            "people.reset",
            "Let an open circuit try once more: a person, with a reason",
            'breaker reset --reason "the rounding was explained to me" --by Ada',
            _DONE_OR_NOT,
            _REASON,
            _BY_PERSON,
        ),
        "breaker skip": command(
            "people.skip",
            "Give the phase up while its circuit is open: a person, with a reason",
            'breaker skip --reason "the vendor is down until Monday" --by Ada',
            _DONE_OR_NOT,
            _REASON,
            _BY_PERSON,
        ),
        "force": command(
            "people.force",
            "End a phase against everything that was measured: a person, with a word",
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
            "Let an agent work through the phases until it is done, or a person is needed",
            "drive -- claude -p",
            {
                0: "the cycle is done, or the phase of --until has exited",
                10: "the budget is spent",
                12: "the circuit is open, or the agent is stuck",
                13: "a person has to answer, or not now",
                130: "interrupted",
            },
            "--goal TEXT  what is to be built, for every prompt",
            "--goal-file FILE  a file that says it",
            "--until PHASE  end when this phase has exited; by default when all have",
            "--iterations N int  budget: how often the agent is started at most",
            "--time SPAN  budget: how long all of it may take, as in 4h",
            "--time-limit SPAN  how long one iteration of the agent may take, as in 20m",
            "--signal ask|agent  who gives the signal of Gate 2; ask: a person",
            "--resume  go on with a drive that was interrupted or killed",
            "--executor COMMAND  who works on verify tasks: a client's name, or a command",
            "--reviewer COMMAND  who reviews them: another command than the executor's",
            "--commit  commit verify tasks that are approved",
            "arguments -- COMMAND*  the agent's command; in it {prompt} is a file with the prompt, {text} the prompt",
        ),
        "claim": command(
            "claim.run",
            "Compare what an agent says with what was measured, and decide whether it is done",
            "claim session.jsonl --transcript",
            {0: "it is done", 10: "it is not", 12: _PERSON, 13: _NOT_NOW},
            "file FILE  what the agent printed; - reads it from standard input",
            "--transcript  read JSON lines: the assistant's texts only",
            "--as-signal  give the block's answer as the signal of Gate 2, where that is set",
            "--threshold N int  indicators that it takes, for this call",
            "--kind NAME  kind of task: its threshold in exit_gate.thresholds",
            _BY,
            "--reason TEXT  why a person lowers the threshold for this claim",
        ),
        "hook": command(
            "hook.run",
            "Done a coding agent that is about to stop, or to use a tool",
            "hook stop --agent claude",
            {0: "answered; some agents are told by 2 to go on"},
            "event stop|pre-tool  what the agent is about to do",
            f"--agent {_CLIENTS}  who asks; told from the event by default",
        ),
        "agent prompt": command(
            "agent.prompt",
            "Print the rules of a phase for an agent, and the block that it is to print",
            "agent prompt --phase green",
            _DONE,
            "--phase NAME  which phase; the present one, or the first, by default",
            "--style exit|prp|doyaken|ralph default=exit  which status block to ask for",
        ),
        "agent uninstall": command(
            "agent.uninstall",
            "Take back what init wrote for coding agents",
            "agent uninstall --agent claude",
            _DONE_OR_NOT,
            f"--agent {_CLIENTS}+  of these agents only; of all by default",
            "--dry-run  print what would change, and write nothing",
        ),
    },
    "verify tasks, pipelines, CI": {
        "verify start": command(
            "_verify_steps.start",
            "Take tasks from a file, or begin an attempt of one; by itself, of the next",
            "verify start --task-file tasks.xml",
            _STEP,
            "--task-file FILE  tasks as XML or YAML (phase-gate workflow schema task), or a PLAN.md with them",
            "--wave NAME  the group that the tasks run with; three that fail halt it",
            "--timeout-executor S float  seconds for the executor",
            "--timeout-verify S float  seconds for the verify command",
            "--timeout-review S float  seconds for the reviewer",
            "--untimed  no time limit for executor and reviewer",
            "--by NAME  the worker that takes the task, where one begins",
        ),
        "verify next": command(
            "_verify_steps.next_task",
            "Take the next task of the list for one worker of many, and begin an attempt of it",
            "verify next --by worker-1",
            _STEP,
            "--by NAME  the worker that takes it; the user's name by default",
            "--wave NAME  only the tasks of this wave, whatever the others are",
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
            "--by NAME  who gives the verdict; must not be who executed the task",
        ),
        "verify commit": command(
            "_verify_steps.commit",
            "Commit the files of an approved task, and nothing else",
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
            "Print what the executor is told, or what the reviewer looks at",
            "verify show",
            _STEP,
        ),
        "verify status": command(
            "_verify_show.status",
            "Say where a task stands; or all of them, with numbers and failures",
            "verify status",
            _STEP,
        ),
        "verify resume": command(
            "_verify_steps.resume",
            "Go on after a halt, or on the same files: a person, with a reason",
            'verify resume --reason "the server is back" --by Ada',
            _STEP,
            "--wave NAME  the halted wave; without it and --task, the tasks without a wave",
            _REASON,
            _BY_PERSON,
        ),
        "verify skip": command(
            "_verify_steps.skip",
            "Complete a task unverified: a person, with a kind and a reason",
            'verify skip --task fare --kind unavailable --reason "no device here" --by Ada',
            _STEP,
            "--kind KIND  unavailable, false-negative or time-pressure (user risk)",
            _REASON,
            _BY_PERSON,
        ),
        "verify force": command(
            "_verify_steps.force",
            "Complete a task against everything: a person, with a word",
            'verify force --task fare --reason "shown on the device" --by Ada',
            _STEP,
            _REASON,
            _BY_PERSON,
            _WORD,
        ),
        "pipeline vote": command(
            "pipeline.vote",
            "Vote in a consensus phase, or show how the votes stand",
            "pipeline vote vote.yaml --by Ada",
            {0: "the vote counts", 10: "no consensus yet", 13: _NOT_NOW},
            "files FILE*  votes as YAML, one a reviewer (phase-gate workflow schema vote); - for stdin; none: look",
            "--by NAME  who votes",
        ),
        "pipeline request": command(
            "pipeline.request",
            "Make, list and decide on change requests",
            'pipeline request new --type scope --title "refunds are wanted, too"',
            _DONE_OR_NOT,
            "action new|list|approve|reject  what to do",
            "id [ID]  which one to decide on, like CR-1",
            "--type scope|architecture|dependency|config|requirement  what has to change, and so where it leads",
            "--title TEXT  what has to change, in a sentence",
            "--blocking  close every gate until a person decides",
            "--reason TEXT default=  why it is decided so",
            _BY,
        ),
        "pipeline recover": command(
            "pipeline.recover",
            "Show what the recovery asks for, begin one, or begin anew where the pipeline is stuck",
            "pipeline recover status",
            {0: "nothing is to be recovered", 10: _CLOSED, 12: "the work is stuck", 13: _NOT_NOW},
            "action [status|start|resume|restart] default=status  look; enter the recovery; if stuck, go on or restart",
            "--markdown  print the stuck report as Markdown",
            "--reason TEXT default=  why, in a sentence",
            "--by NAME  who says so",
        ),
        "ci combine": command(
            "ci.combine",
            "Make one run of the records that shards wrote",
            "ci combine shards --report verdict.md",
            {0: "the gate that was asked for is open", 10: _CLOSED, 12: "the breaker is open", 13: _NOT_NOW},
            "folder [DIR]  where the records are, at any depth; phase-gate-shards in the root by default",
            "--exit gate1|dual  what 0 means: Gate 1 (default), or both gates",
            "--exit-signal REASON  give the exit signal 'done' for this very run",
            "--report FILE repeated  write the verdict to FILE (.json, .md, .html, .xml, .env); may be repeated",
        ),
    },
    "set up and look after it": {
        "init": command(
            "agent.init",
            "Write a commented phase-gate.yaml, or tell coding agents to ask the gate",
            "init --agent claude codex --dry-run",
            _DONE_OR_NOT,
            "--dry-run  print what would be written, and write nothing",
            f"--agent {_CLIENTS}+  add hooks to the settings of these agents instead",
            "--program COMMAND  how agents call us, with --agent; phase-gate by default",
        ),
        "doctor": command(
            "doctor.doctor",
            "Look at the installation",
            "doctor",
            {0: "all is well", 1: "something is not"},
            "--program COMMAND default=phase-gate  how agents call us, as with init (default: %(default)s)",
        ),
        "audit": command(
            "audit.run",
            "Verify every line of the ledger; repair a damaged one",
            "audit --repair",
            {0: "the ledger is intact, or is now", 11: "it is not", 13: _NOT_NOW},
            "--repair  keep a copy and go on from the last good line",
            "--accept-rollback  accept a folder or a store that was put back",
            "--reason TEXT  why, with --accept-rollback",
            "--by NAME  who, with --accept-rollback",
        ),
        "store status": command(
            "store.run_store_status",
            "Say which store the tasks are in, and whether this machine has what it has",
            "store status",
            {0: "the store answers", 11: "it does not"},
        ),
        "store trust": command(
            "store.run_store_trust",
            "Agree to the store that the settings name: a person",
            "store trust",
            _DONE_OR_NOT,
            "--word WORD  TRUST, without being asked",
        ),
        "store init": command(
            "store.run_store_init",
            "Make what a store needs, and show what others will be able to read",
            "store init git:origin#shop",
            _DONE_OR_NOT,
            "store [STORE]  its address; without: the one that is named already",
            "--writer USER repeated  a database's user who may add (again for more)",
        ),
        "workflow check": command(
            "workflow.check",
            "Find everything that is wrong with workflow files",
            "workflow check pipeline",
            {0: "nothing is wrong", 2: "something is, or the command line is invalid"},
            "files FILE*  a workflow file, or the name of a shipped workflow; the project's own by default",
        ),
        "workflow schema": command(
            "workflow.schema",
            "Print a JSON Schema of our files, or a workflow as a diagram",
            "workflow schema workflow",
            _DONE,
            "name [NAME]  which schema (evaluation by default); with --mermaid a workflow, or the path of its file",
            "--mermaid  print a workflow as a Mermaid state diagram",
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
