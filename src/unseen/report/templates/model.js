// ---- the page of a model: the slider, what classes gain and lose by it, and the charts ----

const CHANGES = 8;  // classes in each list

class ModelExplorer extends Explorer {
  move(gamma) {
    super.move(gamma);
    if (this.moved) this.moved();
  }
}

class ModelPanel {
  constructor(root) {
    this.root = root;
    this.drawn = new Set();
    this.explorer = new ModelExplorer(root.querySelector("[data-explorer]"), () => []);
    this.explorer.choose(DATA.explorer, {name: "every gamma", color: tone("accent")}, "held");
    const place = root.querySelector("[data-try]");
    this.attempt = place && new TryPanel(place, DATA.attempt, DATA, () => this.explorer.gamma);
    this.explorer.moved = () => this.follow();
    all("table.sortable", root).forEach(makeSortable);
    root.querySelector("[data-in=find-class]").addEventListener("input", () => this.find());
    this.fillClasses();
    this.follow();
  }

  out(name) { return this.root.querySelector(`[data-out="${name}"]`); }
  get k() { return curveAt(this.explorer.model, this.explorer.gamma).k; }
  get zero() { return curveAt(this.explorer.model, 0).k; }

  // gamma has moved: once for every frame.
  follow() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = null;
      this.fillChanges();
      this.updateClasses();
      if (this.attempt) this.attempt.update();
    });
  }

  fillChanges() {
    const held = this.explorer.name === "held", tables = this.explorer.model.by_class;
    const gains = this.changes(held ? tables.new : tables.seen, held).filter(each => each.after > each.before).reverse();
    const losses = this.changes(tables.seen, false).filter(each => each.after < each.before);
    this.out("gain-note").textContent = held ? "Held-out classes, recognized by their descriptions alone." : "Compared with no calibration.";
    const lost = losses.filter(each => each.after < each.before / 2).length;
    this.out("lose-note").textContent = lost ? `${lost} ${lost === 1 ? "class keeps" : "classes keep"} less than half of the accuracy without calibration.` : "No class loses more than half.";
    for (const [name, list] of [["gain", gains], ["lose", losses]])
      this.out(name).replaceChildren(...(list.length ? list.slice(0, CHANGES).map(changeRow) : [element("li", "none", {class: "note"})]));
  }

  // Classes from the largest loss to the largest gain against gamma = 0.
  changes(table, asNew) {
    return DATA.names.map((name, c) => ({name: name, before: table[this.zero][c], after: table[this.k][c], kind: asNew || DATA.unseen[c] ? "unseen" : "seen"}))
      .filter(each => each.before !== null).sort((a, b) => (a.after - a.before) - (b.after - b.before));
  }

  fillClasses() {
    const order = DATA.names.map((_, c) => c), {held, measured} = DATA.explorer.models;
    const value = c => (measured || held).by_class.seen[this.k][c] ?? 101;
    const wrong = new Map(DATA.hardest.map(each => [each.index, each.taken_for]));
    this.rows = order.sort((a, b) => value(a) - value(b)).map(c => this.classRow(c, wrong.get(c)));
    this.out("classes").replaceChildren(...this.rows.map(each => each.row));
  }

  classRow(c, takenFor) {
    const row = element("tr"), kind = DATA.unseen[c] ? "unseen" : "seen";
    const cells = {expected: element("td", null, {class: "number bar"}), new: element("td", null, {class: "number bar"})};
    row.append(element("th", DATA.names[c], {scope: "row", class: "name"}), element("td", kind === "unseen" ? "new" : "seen"), cells.expected, cells.new);
    if (DATA.samples) {
      cells.measured = element("td", null, {class: "number bar"});
      const names = (takenFor || []).slice(0, 3).map(([other, share]) => `${DATA.names[other]} ${Math.round(share)} %`).join(", ");
      row.append(cells.measured, element("td", DATA.samples[c], {class: "number", "data-value": DATA.samples[c]}), element("td", names, {class: "words"}));
    }
    return {c: c, row: row, cells: cells, kind: kind};
  }

  updateClasses() {
    const {held, measured} = DATA.explorer.models, k = this.k;
    for (const {c, cells, kind} of this.rows) {
      fillCell(cells.expected, held.by_class.seen[k][c], "seen");
      fillCell(cells.new, held.by_class.new[k][c], "unseen");
      if (cells.measured) fillCell(cells.measured, measured.by_class.seen[k][c], kind);
    }
  }

  find() {
    const text = this.root.querySelector("[data-in=find-class]").value.trim().toLowerCase();
    this.rows.forEach(each => { each.row.hidden = !DATA.names[each.c].toLowerCase().includes(text); });
    this.out("found").textContent = text ? `${this.rows.filter(each => !each.row.hidden).length} of ${this.rows.length} classes` : "";
  }

  show(name) {
    if (!MODEL_CHARTS[name]) return this.explorer.show(name);
    this.drawn.add(name);
    this.drawOne(name);
  }

  drawOne(name) {
    const place = this.root.querySelector(`[data-chart="${name}"]`);
    plot(place, MODEL_CHARTS[name](place));
  }

  // The colors of the page have changed.
  refresh() {
    this.explorer.look.color = tone("accent");
    this.explorer.draw();
    this.drawn.forEach(name => this.drawOne(name));
    this.updateClasses();
  }
}

function fillCell(cell, value, color) {
  const known = value !== null && value !== undefined;
  cell.textContent = known ? percent(value) : "";
  if (known) cell.dataset.value = value; else delete cell.dataset.value;
  cell.style.backgroundImage = known ? bar(value, color) : "none";
}

function changeRow(each) {
  const made = element("li", null, {class: each.after < each.before / 2 ? "lost" : ""});
  const track = element("span", null, {class: "track"}), from = Math.min(each.before, each.after), to = Math.max(each.before, each.after);
  const part = (name, left, width) => { const piece = element("span", null, {class: name + " is-" + each.kind}); piece.style.left = left + "%"; piece.style.width = width + "%"; return piece; };
  track.append(part("kept", 0, from), part(each.after > each.before ? "gained" : "gone", from, to - from));
  made.append(element("span", each.name, {class: "who"}), element("span", `${Math.round(each.before)} → ${Math.round(each.after)} %`, {class: "number"}), track);
  return made;
}

// Held-out and measured predictions: how right against how sure.
function reliabilityChart(kind) {
  const names = {held: "held-out samples", measured: "measured"}, found = Object.entries(DATA.reliability).filter(([, kinds]) => kinds[kind]);
  return sureChart(kind, found.map(([source, kinds]) => [names[source], kinds[kind], source === "held"]));
}

// Attributes from the most to the least readable; of very many, both ends.
function attributesChart() {
  const sorted = DATA.attributes.slice().sort((a, b) => a.correlation - b.correlation), most = 40;
  const shown = sorted.length > most ? [...sorted.slice(0, most / 2), ...sorted.slice(-most / 2)] : sorted;
  const bars = {type: "bar", orientation: "h", x: shown.map(each => each.correlation), y: shown.map((_, i) => i), cliponaxis: false,
    customdata: shown.map(each => each.name), hovertemplate: "%{customdata}: %{x:.2f}<extra></extra>",
    marker: {color: shown.map(each => each.correlation < .3 ? tone("unseen") : tone("seen"))}};
  return [[bars], layout({height: 90 + 21 * shown.length, bargap: .35, margin: {t: 10, r: 12, b: 48, l: 56},
    xaxis: axis(narrow() ? "correlation" : "correlation of predicted and true value", {range: [Math.min(0, sorted[0].correlation), 1]}),
    yaxis: axis("", {tickmode: "array", tickvals: shown.map((_, i) => i), ticktext: shown.map(each => shorten(each.name, narrow() ? 18 : 40)), showgrid: false, zeroline: false, ticklabelstandoff: 6, tickfont: {color: tone("ink"), size: 12}})})];
}

const MODEL_CHARTS = {"sure-seen": () => reliabilityChart("seen"), "sure-unseen": () => reliabilityChart("unseen"), attributes: attributesChart,
  hardest: () => hardestChart({classes: DATA}, DATA)};
const panels = all("[data-model]").map(root => new ModelPanel(root));
