"use strict";
(function () {
  const FEW = 150;
  const data = JSON.parse(document.getElementById("cell-data").textContent);
  const body = document.querySelector("#cell-table tbody");
  const selects = Array.from(document.querySelectorAll("#filters select"));
  const more = document.getElementById("more");
  let order = { key: null, down: false };
  let all = false;

  const number = (x) => (x === null || x === undefined ? "–" : x.toFixed(3).replace(/^-(0\.000)$/, "$1").replace(/^(-?)0\./, "$1."));
  const chance = (p) => (p === null ? "–" : p < 0.001 ? p.toExponential(1) : p.toPrecision(2));
  const pair = (p) => (p ? number(p[0]) + " ± " + number(p[1]) : "–");

  function element(name, text, attributes) {
    const made = document.createElement(name);
    if (text !== undefined && text !== null) made.textContent = text;
    for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
    return made;
  }

  for (const select of selects) {
    select.append(element("option", "all", { value: "" }));
    for (const value of new Set(data.map((row) => row[select.dataset.key]))) {
      select.append(element("option", value, { value: value }));
    }
    select.addEventListener("change", draw);
  }
  document.getElementById("filters").addEventListener("reset", () => setTimeout(draw));

  function value(row, key) {
    const found = row[key];
    if (Array.isArray(found)) return found[0];
    return key === "delta" && found !== null ? Math.abs(found) : found;
  }

  function compare(a, b) {
    const x = value(a, order.key), y = value(b, order.key);
    if (x === null || y === null) return (x === null) - (y === null); // what is not there comes last
    const sign = typeof x === "number" ? x - y : String(x).localeCompare(String(y));
    return order.down ? -sign : sign;
  }

  function details(row) {
    const outer = element("td", null, { colspan: 8 });
    const cell = element("div", null, { class: "box" });
    outer.append(cell);
    if (row.note) cell.append(element("p", row.note));
    if (!row.folds) {
      cell.append(element("p", "Not run: there is nothing behind this cell."));
      return outer;
    }
    cell.append(element("p", "Method id " + row.run + (row.hint ? "; " + row.hint : "")));
    const table = element("table", null, { class: "plain folds" });
    const head = table.createTHead().insertRow();
    for (const name of ["fold", row.metric, "seed", "seconds"]) head.append(element("th", name, { scope: "col" }));
    const rows = table.createTBody();
    for (const [fold, result, seed, seconds] of row.folds) {
      const line = rows.insertRow();
      for (const text of [fold, result === null ? "–" : result.toFixed(6), seed, seconds === null ? "–" : seconds.toPrecision(3)]) line.append(element("td", text));
    }
    cell.append(table);
    for (const [name, values] of Object.entries(row.variants || {})) cell.append(element("p", name + ": " + pair(values)));
    if (row.test) {
      const t = row.test;
      cell.append(element("p", "Against " + t.reference + ": difference " + number(t.difference) + ", corrected paired t p = " +
        chance(t.p) + ", after Holm " + chance(t.p_holm)));
    }
    return outer;
  }

  function toggle(line, row, button) {
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    if (open) {
      line.nextElementSibling.remove();
    } else {
      const extra = element("tr", null, { class: "detail" });
      extra.append(details(row));
      line.after(extra);
    }
  }

  function draw() {
    const wanted = selects.filter((s) => s.value).map((s) => [s.dataset.key, s.value]);
    let rows = data.filter((row) => wanted.every(([key, v]) => row[key] === v));
    if (order.key) rows = rows.slice().sort(compare);
    const shown = all ? rows : rows.slice(0, FEW);
    const fragment = document.createDocumentFragment();
    for (const row of shown) {
      const line = element("tr");
      const first = element("td");
      const button = element("button", row.task, { type: "button", class: "open", "aria-expanded": "false" });
      button.addEventListener("click", () => toggle(line, row, button));
      first.append(button);
      line.append(first);
      for (const text of [row.method, row.metric, pair(row.ours), pair(row.published), number(row.delta)]) line.append(element("td", text));
      line.append(element("td", row.verdict, { class: "v-" + row.verdict.replace(/ /g, "-") }));
      line.append(element("td", row.table));
      fragment.append(line);
    }
    body.replaceChildren(fragment);
    document.getElementById("shown").textContent = rows.length + " of " + data.length + " cells" +
      (shown.length < rows.length ? ", the first " + shown.length + " shown" : "");
    more.hidden = shown.length === rows.length;
  }

  for (const button of document.querySelectorAll("[data-sort]")) {
    button.addEventListener("click", () => {
      order = { key: button.dataset.sort, down: order.key === button.dataset.sort && !order.down };
      for (const head of document.querySelectorAll("#cell-table thead th")) head.setAttribute("aria-sort", "none");
      button.parentElement.setAttribute("aria-sort", order.down ? "descending" : "ascending");
      draw();
    });
  }
  more.addEventListener("click", () => { all = true; draw(); });

  // A link to a folded piece opens it.
  function unfold() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const box = target && target.closest("details");
    if (box) { box.open = true; target.scrollIntoView(); }
  }
  window.addEventListener("hashchange", unfold);
  document.addEventListener("click", (event) => { if (event.target.matches('a[href^="#"]')) setTimeout(unfold); });

  const root = document.documentElement;
  try { if (localStorage.getItem("theme")) root.dataset.theme = localStorage.getItem("theme"); } catch (error) { /* not kept */ }
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch (error) { /* not kept */ }
  });

  draw();
  unfold();
})();
