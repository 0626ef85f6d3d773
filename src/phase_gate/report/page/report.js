"use strict";
// Filters, pages, and a cursor on the timeline. Texts are only ever put in as text.
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const word = (index) => data.words[index];
  const element = (name, text, kind) => {
    const made = document.createElement(name);
    // A line may break between the words of a name.
    const parts = text === undefined ? [] : String(text).split(/(?<=[_/:.[-])(?=\w)/);
    parts.forEach((part, at) => made.append(...(at ? [document.createElement("wbr"), part] : [part])));
    if (kind) made.className = kind;
    return made;
  };
  const phaseKind = (name) => {
    const known = ["RED", "GREEN", "REFACTOR", "DOCUMENT"].includes(name);
    return known ? "phase-" + name.toLowerCase() : "phase-other";
  };

  const runs = data.runs.map((row) => ({
    number: row[0], at: row[1].replace("T", " "), phase: word(row[2]), cycle: row[3], ended: word(row[4]),
    iteration: row[5], passed: row[6], failed: row[7], skipped: row[8], streak: row[9], resets: row[10] === 1,
    seconds: row[11], exits: row[12] === 1, says: word(row[13]), changed: row[14], files: word(row[15]),
  }));
  const happened = new Map();
  for (const [run, kind, text] of data.happenings) {
    if (!happened.has(run)) happened.set(run, []);
    happened.get(run).push([kind, word(text)]);
  }
  const counts = (run) =>
    [[run.passed, "passed"], [run.failed, "failed"], [run.skipped, "skipped"]]
      .filter(([number]) => number).map(([number, name]) => `${number} ${name}`).join(", ") || "no tests";

  // Runs
  let page = 0;
  let shown = [];
  let picked = null;
  const hasTable = byId("runs-table") !== null;

  function fits(run) {
    const phase = byId("run-phase").value;
    const kind = byId("run-kind").value;
    if (phase && run.phase !== phase) return false;
    if (kind === "uncounted") return run.iteration === null;
    if (kind === "exit") return run.exits;
    return !kind || (run.iteration !== null && run.ended === kind);
  }

  function row(run) {
    const made = element("tr");
    made.dataset.number = run.number;
    const head = element("th", run.number);
    head.scope = "row";
    const phase = element("td");
    phase.append(element("span", run.phase, "dot " + phaseKind(run.phase)), run.iteration === null ? "" : ` ${run.iteration}`);
    const streak = element("td", run.iteration === null ? "" : run.streak);
    if (run.resets) streak.append(element("span", " lost", "tone-bad"));
    made.append(head, element("td", run.at.slice(0, 16)), phase,
      element("td", run.ended, run.iteration === null ? "quiet" : ""), element("td", counts(run)), streak,
      element("td", run.says, "says"));
    made.classList.toggle("picked", picked !== null && picked.number === run.number);
    return made;
  }

  function draw() {
    const pages = Math.max(1, Math.ceil(shown.length / data.page));
    page = Math.min(Math.max(page, 0), pages - 1);
    const rows = shown.slice(page * data.page, (page + 1) * data.page);
    byId("runs-table").tBodies[0].replaceChildren(...rows.map(row));
    const all = shown.length === runs.length;
    byId("runs-said").textContent = all ? `${runs.length} runs` : `${shown.length} of ${runs.length} runs`;
    byId("page").textContent = `page ${page + 1} of ${pages}`;
    byId("newer").disabled = page === 0;
    byId("older").disabled = page === pages - 1;
    byId("newer").parentElement.hidden = pages === 1;
    byId("run-all").hidden = !(byId("run-phase").value || byId("run-kind").value);
  }

  function filter() {
    shown = runs.filter(fits).reverse();
    page = 0;
    draw();
  }

  function tell(run) {
    const box = byId("picked");
    const lines = [];
    const iteration = run.iteration === null ? "does not count" : `iteration ${run.iteration}`;
    lines.push(element("h3", `Run ${run.number}: ${run.phase}, ${iteration}, ${run.ended}`));
    if (run.says) lines.push(element("p", run.says));
    const seconds = run.seconds === null ? "" : `, ${run.seconds.toFixed(1)} s`;
    const streak = run.iteration === null ? "" : `; streak ${run.streak}${run.resets ? " (lost)" : ""}`;
    lines.push(element("p", `${counts(run)}${seconds}${streak}. Began ${run.at} UTC, cycle ${run.cycle}.`, "quiet"));
    if (run.changed !== null) {
      const more = run.changed > 5 ? ` and ${run.changed - 5} more` : "";
      lines.push(element("p", run.changed ? `Changed before it: ${run.files}${more}` : "Nothing was changed before it.", "quiet"));
    }
    for (const [kind, text] of happened.get(run.number) || []) lines.push(element("p", text, "what " + kind));
    box.replaceChildren(...lines);
  }

  // Timeline: a click or the arrow keys pick a column.
  const timeline = byId("timeline");
  const columns = timeline ? [...timeline.querySelectorAll(".column")] : [];
  let cursor = -1;

  function pick(index) {
    if (!columns.length) return;
    cursor = Math.min(Math.max(index, 0), columns.length - 1);
    columns.forEach((each, at) => each.classList.toggle("picked", at === cursor));
    const column = columns[cursor];
    const number = Number(column.dataset.run);
    picked = runs.find((run) => run.number === number);
    tell(picked);
    const at = shown.findIndex((run) => run.number === number);
    if (at >= 0) page = Math.floor(at / data.page);
    draw();
    timeline.setAttribute("aria-valuenow", String(cursor + 1));
    timeline.setAttribute("aria-valuetext", column.querySelector("title").textContent);
    const box = column.getBoundingClientRect();
    const frame = timeline.getBoundingClientRect();
    if (box.left < frame.left || box.right > frame.right) timeline.scrollLeft += box.left - frame.left - frame.width / 2;
  }

  if (columns.length) {
    timeline.setAttribute("role", "slider");
    timeline.setAttribute("aria-label", "Runs: arrow keys pick one");
    timeline.setAttribute("aria-valuemin", "1");
    timeline.setAttribute("aria-valuemax", String(columns.length));
    timeline.setAttribute("aria-valuenow", String(columns.length));
    timeline.setAttribute("aria-valuetext", columns[columns.length - 1].querySelector("title").textContent);
    columns.forEach((each, at) => each.addEventListener("click", () => pick(at)));
    timeline.addEventListener("keydown", (event) => {
      const from = cursor < 0 ? columns.length : cursor;
      const moves = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: columns.length - 1, PageUp: from - 10, PageDown: from + 10 };
      if (!(event.key in moves)) return;
      event.preventDefault();
      pick(moves[event.key]);
    });
    timeline.scrollLeft = timeline.scrollWidth;
  }

  if (hasTable) {
    byId("run-phase").addEventListener("change", filter);
    byId("run-kind").addEventListener("change", filter);
    byId("run-all").addEventListener("click", () => {
      byId("run-phase").value = "";
      byId("run-kind").value = "";
      filter();
      byId("run-phase").focus();
    });
    byId("newer").addEventListener("click", () => { page -= 1; draw(); });
    byId("older").addEventListener("click", () => { page += 1; draw(); });
    byId("runs-table").addEventListener("click", (event) => {
      const line = event.target.closest("tr[data-number]");
      if (!line) return;
      picked = runs.find((run) => run.number === Number(line.dataset.number));
      tell(picked);
      draw();
    });
    filter();
  }

  // Tests
  const tests = byId("tests");
  if (tests) {
    const lines = [...tests.tBodies[0].rows];
    const choose = () => {
      const name = byId("test-name").value.toLowerCase();
      const kind = byId("test-kind").value;
      let left = 0;
      for (const line of lines) {
        const isShown = line.cells[0].textContent.toLowerCase().includes(name) &&
          (kind === "all" || line.dataset.kinds.split(" ").includes(kind));
        line.hidden = !isShown;
        left += isShown ? 1 : 0;
      }
      byId("tests-said").textContent = left === lines.length ? "" : `${left} of ${lines.length} tests`;
    };
    byId("test-name").addEventListener("input", choose);
    byId("test-kind").addEventListener("change", choose);
    tests.addEventListener("mousemove", (event) => {
      const strip = event.target.closest("svg");
      if (!strip) return;
      const box = strip.getBoundingClientRect();
      const at = Math.min(data.tests.length - 1, Math.max(0, Math.floor((event.clientX - box.left) / box.width * data.tests.length)));
      const text = `run ${data.tests[at]}: ${data.cells[strip.dataset.cells[at]]}`;
      if (strip.parentElement.title !== text) strip.parentElement.title = text;
    });
  }

  byId("copy")?.addEventListener("click", async () => {
    const next = byId("next");
    try {
      await navigator.clipboard.writeText(next.textContent);
      byId("copy").textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(next);
    }
    setTimeout(() => { byId("copy").textContent = "Copy"; }, 1500);
  });

  byId("theme").addEventListener("click", () => {
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
  });

  addEventListener("beforeprint", () => document.querySelectorAll(".gates details").forEach((each) => { each.open = true; }));
})();
