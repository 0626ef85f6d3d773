// The menu of versions. Each version is a folder of the site, and versions.json beside them lists the folders.
document.addEventListener("DOMContentLoaded", async () => {
  const home = document.querySelector("a.sidebar-brand");
  if (!home || location.protocol === "file:") return;
  const answer = await fetch(new URL("../versions.json", new URL(".", home.href)));
  if (!answer.ok) return;
  const names = await answer.json();
  const here = new URL(".", home.href).pathname.split("/").filter(Boolean).pop();
  const menu = document.createElement("select");
  menu.className = "versions";
  menu.setAttribute("aria-label", "Version");
  for (const name of names) menu.add(new Option(name, name, name === here, name === here));
  menu.addEventListener("change", () => {
    location.href = new URL(`../${menu.value}/`, new URL(".", home.href)).href;
  });
  home.after(menu);
});

// What scrolls sideways can be reached by the keyboard.
document.addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll(".highlight pre, table.docutils, .diagram")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
});
