"use strict";
// Filters of the page with all tasks. Without it every task is shown.
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const byId = (id) => document.getElementById(id);
  const table = byId("tasks-table");

  byId("theme").addEventListener("click", () => {
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
  });
  if (table === null) return;

  const rows = [...table.tBodies[0].rows];
  const value = (id) => (byId(id) === null ? "" : byId(id).value);
  const choose = () => {
    const [state, wave, by, name] = ["task-state", "task-wave", "task-by", "task-name"].map(value);
    let left = 0;
    for (const row of rows) {
      const fits = (!state || row.dataset.state === state) && (!wave || row.dataset.wave === wave)
        && (!by || row.dataset.by === by) && row.cells[0].textContent.toLowerCase().includes(name.toLowerCase());
      row.hidden = !fits;
      if (fits) left += 1;
    }
    byId("tasks-said").textContent = left === rows.length ? `${left} tasks` : `${left} of ${rows.length} tasks`;
  };
  for (const id of ["task-state", "task-wave", "task-by", "task-name"]) {
    for (const kind of ["input", "change"]) byId(id)?.addEventListener(kind, choose);
  }
  choose();
})();
