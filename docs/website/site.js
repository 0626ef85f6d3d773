// What scrolls sideways can be reached by the keyboard.
document.addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll(".highlight pre, table.docutils, .diagram")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
});
