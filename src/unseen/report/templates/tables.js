// ---- tables: sort by any column, copy in three formats ----

function sortValue(row, column) {
  const cell = row.cells[column];
  if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
  const text = cell.textContent.trim();
  return text === "" ? null : text;
}

// Empty cells come last either way; numbers compare as numbers, all else as text.
function compareValues(a, b, sign) {
  if (a === null || b === null) return (a === null) - (b === null);
  const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
  return sign * order;
}

function sortTable(table, column, direction) {
  const sign = direction === "ascending" ? 1 : -1;
  for (const body of table.tBodies) {  // groups stay apart
    const rows = Array.from(body.rows);
    rows.sort((a, b) => compareValues(sortValue(a, column), sortValue(b, column), sign));
    body.append(...rows);
  }
  all("thead .headings th", table).forEach((th, i) => {
    if (i === column) th.setAttribute("aria-sort", direction); else th.removeAttribute("aria-sort");
  });
}

// Numbers start with the largest, names with the first.
function nextDirection(th) {
  const now = th.getAttribute("aria-sort");
  if (now) return now === "ascending" ? "descending" : "ascending";
  return th.classList.contains("number") ? "descending" : "ascending";
}

function makeSortable(table) {
  all("thead .headings th", table).forEach((th, column) => {
    th.querySelector("button").addEventListener("click", () => sortTable(table, column, nextDirection(th)));
  });
}

// Pages from disk may not use the clipboard everywhere: then the text is selected and copied the old way.
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = element("textarea", text);
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

function makeCopyable(button, copies) {
  const label = button.textContent;
  button.addEventListener("click", async () => {
    await copyText(copies[Number(button.dataset.table)][button.dataset.copy]);
    button.textContent = "Copied";
    say(label + ": done");
    setTimeout(() => { button.textContent = label; }, 1500);
  });
}
