"use strict";
// Sorting: a click on a heading, numbers high to low first.
for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => heading.addEventListener("click", () => {
    const up = heading.getAttribute("aria-sort") === "descending" || (column === 0 && !heading.hasAttribute("aria-sort"));
    for (const other of headings) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    const body = table.tBodies[0];
    body.classList.add("sorted");
    const key = (row) => column === 0 ? row.cells[0].textContent : parseFloat(row.cells[column].dataset.sort);
    const rows = [...body.rows].sort((a, b) => {
      const x = key(a), y = key(b);
      const order = column === 0 ? x.localeCompare(y) : x - y;
      return up ? order : -order;
    });
    body.append(...rows);
  }));
}
// Lines: the legend shows, hides, and lights them.
for (const box of document.querySelectorAll("input[data-line]")) {
  const line = document.getElementById(box.dataset.line);
  const show = () => line.classList.toggle("hidden", !box.checked);
  show(); // a browser may remember what was checked before
  box.addEventListener("change", show);
  box.closest("li").addEventListener("pointerenter", () => line.classList.add("lit"));
  box.closest("li").addEventListener("pointerleave", () => line.classList.remove("lit"));
}
