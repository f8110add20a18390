"use strict";
// Sort a table by the column whose heading is pressed.
for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const button = heading.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const descending = heading.getAttribute("aria-sort") === "ascending";
      headings.forEach(other => other.hasAttribute("aria-sort") && other.setAttribute("aria-sort", "none"));
      heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const key = row => row.cells[column].dataset.sort ?? row.cells[column].textContent.trim();
      const compare = new Intl.Collator("en", { numeric: true }).compare;
      const rows = [...table.tBodies[0].rows].sort((a, b) => (descending ? -1 : 1) * compare(key(a), key(b)));
      table.tBodies[0].append(...rows);
    });
  });
}
// Show only the rows or cards that contain the searched text and have the selected values.
for (const filters of document.querySelectorAll(".filters")) {
  const list = document.getElementById(filters.dataset.items), count = filters.querySelector("output");
  const items = (list.tBodies?.[0] ?? list).children, fields = [...filters.querySelectorAll("input, select")];
  const apply = () => {
    let shown = 0;
    for (const row of items) {
      const matches = [...filters.querySelectorAll("select")].every(select => !select.value || row.dataset[select.name] === select.value);
      const text = filters.querySelector("input").value.toLowerCase();
      row.hidden = !(matches && row.textContent.toLowerCase().includes(text));
      shown += !row.hidden;
    }
    count.textContent = `${shown} of ${items.length} match`;
    list.classList.toggle("filtered", fields.some(field => field.value));
  };
  filters.addEventListener("input", apply);
  filters.addEventListener("change", apply);  // some browsers send no input event for a select
}
// Copy the command beside the button.
for (const button of document.querySelectorAll("button.copy")) {
  button.addEventListener("click", async () => {
    const text = button.parentElement.querySelector("code").textContent;
    try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; }
    catch { getSelection().selectAllChildren(button.parentElement.querySelector("code")); button.textContent = "Selected"; }
  });
}
for (const button of document.querySelectorAll("button.show-all")) {
  button.addEventListener("click", () => {
    const all = document.getElementById(button.getAttribute("aria-controls")).classList.toggle("all");
    button.setAttribute("aria-expanded", all);
    button.textContent = all ? button.dataset.fewer : button.dataset.more;
  });
}
// Open the section that a link points to, and the sections around it.
const reveal = () => {
  let element = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!element) return;
  for (let each = element; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
  element.scrollIntoView();
};
addEventListener("hashchange", reveal);
reveal();
