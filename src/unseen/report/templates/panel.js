// ---- one experiment on the page: its state, and everything that follows from it ----

class Panel {
  constructor(root) {
    this.root = root;
    this.experiment = DATA[Number(root.dataset.experiment)];
    this.fold = 0;
    this.drawn = new Set();  // charts so far: they are drawn one after another
    this.explorer = new Explorer(root.querySelector("[data-explorer]"), () => this.otherCurves());
    this.explorer.chance = this.experiment.chance.h;
    this.listen();
    this.choose(Number(root.querySelector("[data-method]:checked").value));
  }

  out(name) { return this.root.querySelector(`[data-out="${name}"]`); }
  chart(name) { return this.root.querySelector(`[data-chart="${name}"]`); }

  listen() {
    all("[data-method]", this.root).forEach(radio => radio.addEventListener("change", () => this.choose(Number(radio.value))));
    all("[data-fold]", this.root).forEach(button => button.addEventListener("click", () => this.chooseFold(button)));
    all("[data-copy]", this.root).forEach(button => makeCopyable(button, this.experiment.copy));
    all("table.sortable", this.root).forEach(makeSortable);
    this.root.querySelector("[data-in=find]").addEventListener("input", () => this.find());
  }

  // The curves of the other methods, each with the lambda that the slider shows of this one.
  otherCurves() {
    return this.experiment.methods.filter(each => each !== this.method).map(each =>
      ({name: each.name, color: methodColor(each.color), ...(each.explorer.models[this.explorer.name] || each.explorer.models.gzsl)}));
  }

  choose(index) {
    const method = this.method = this.experiment.methods[index];
    for (const name of ["zsl", "gzsl"]) this.out("params-" + name).textContent = method.params[name] ? ": " + method.params[name] : "";
    this.explorer.choose(method.explorer, {name: method.name, color: methodColor(method.color)}, "calibrated+lambda", method.runs > 1 ? meansOf(method) : {});
    this.describe();
    this.fillClasses();
    this.draw();
  }

  describe() {
    const runs = this.method.runs, figure = this.method.selection;
    this.out("which").textContent = runs > 1 ? `Shown is seed ${this.method.seed} of ${runs} runs; the tables above have the means.` : "";
    this.chart("selection").parentElement.hidden = !figure;
    this.out("hardest").hidden = !this.method.hardest.length;
    this.out("reliability").hidden = !this.method.reliability;
    this.out("reliability-note").textContent = this.method.reliability ? calibrationErrors(this.method.reliability) : "";
    this.out("selection-note").textContent = !figure ? "This method has no parameter to choose." :
      "Means over the validation folds. The dotted lines mark the best value for unseen classes alone and for seen and unseen classes together: often not the same."
      + (figure.others.length ? ` Each point is the best over ${figure.others.join(", ")}.` : "");
  }

  fillClasses() {
    const table = this.method.classes, names = this.experiment.classes.names;
    const tested = names.map((_, c) => c).filter(c => table.accuracy[c] !== null);
    tested.sort((a, b) => table.accuracy[a] - table.accuracy[b]);
    const body = this.out("classes");
    body.replaceChildren(...tested.map(c => classRow(c, table, names, this.experiment.classes.unseen[c])));
    all("th", body.parentElement.tHead).forEach(th => th.removeAttribute("aria-sort"));
    body.parentElement.tHead.querySelector("[data-first]").setAttribute("aria-sort", "ascending");
    this.find();
  }

  // Show the classes whose name has the text in it.
  find() {
    const text = this.root.querySelector("[data-in=find]").value.trim().toLowerCase();
    const rows = Array.from(this.out("classes").rows);
    rows.forEach(row => { row.hidden = !row.cells[0].textContent.toLowerCase().includes(text); });
    this.out("found").textContent = text ? `${rows.filter(row => !row.hidden).length} of ${rows.length} classes` : "";
  }

  chooseFold(button) {
    all("[data-fold]", this.root).forEach(each => each.setAttribute("aria-pressed", String(each === button)));
    this.fold = Number(button.dataset.fold);
    this.drawOne("splits");
  }

  show(name) {
    if (!CHARTS[name]) return this.explorer.show(name);
    this.drawn.add(name);
    this.drawOne(name);
  }

  draw() {
    this.drawn.forEach(name => this.drawOne(name));
    this.explorer.draw();
  }

  drawOne(name) {
    const place = this.chart(name);
    if (!place.closest("[hidden]")) plot(place, CHARTS[name](this.experiment, this.method, this.fold, place.clientWidth));
  }

  // The colors of the page have changed.
  refresh() {
    this.explorer.look.color = methodColor(this.method.color);
    this.draw();
    this.fillClasses();
    this.explorer.fillConfusion();
  }
}

// What the tables say of a method's named points: the mean over its runs.
function meansOf(method) {
  return Object.fromEntries(Object.entries(method.steps).map(([name, h]) =>
    [name, `Seed ${method.seed} alone. Mean of ${method.runs} runs: H ${percent(h.mean)}${h.std > 1e-9 ? " ± " + percent(h.std) : ""} %.`]));
}

// How far probabilities are from the share of right answers, without and with the temperature.
function calibrationErrors(sure) {
  const change = kind => `${kind} ${sure.before[kind].ece.toFixed(3)} → ${sure.after[kind].ece.toFixed(3)}`;
  return `Expected calibration error without and with the temperature: ${change("seen")}, ${change("unseen")}.`;
}

function classRow(c, table, names, unseen) {
  const row = element("tr"), taken = table.confusion[c];
  const cell = (text, value) => element("td", text, value === undefined ? {} : {"data-value": value, class: "number"});
  const accuracy = cell(percent(table.accuracy[c]), table.accuracy[c]);
  accuracy.classList.add("bar");
  accuracy.style.backgroundImage = bar(table.accuracy[c], unseen ? "unseen" : "seen");
  row.append(element("th", names[c], {scope: "row"}), cell(unseen ? "unseen" : "seen"), cell(table.samples[c], table.samples[c]),
    accuracy, cell(taken === null ? "" : names[taken]), taken === null ? cell("") : cell(percent(table.confused[c]) + " %", table.confused[c]));
  return row;
}
