// ---- one experiment on the page: its state, and everything that follows from it ----

class Panel {
  constructor(root) {
    this.root = root;
    this.experiment = DATA[Number(root.dataset.experiment)];
    this.fold = 0;
    this.visible = new Set();  // charts are drawn when somebody gets near them
    this.listen();
    this.choose(Number(this.root.querySelector(".choose input:checked").value));
  }

  get curve() { return this.method.explorer; }
  out(name) { return this.root.querySelector(`[data-out="${name}"]`); }
  input(name) { return this.root.querySelector(`[data-in="${name}"]`); }
  chart(name) { return this.root.querySelector(`[data-chart="${name}"]`); }

  listen() {
    all(".choose input", this.root).forEach(radio => radio.addEventListener("change", () => this.choose(Number(radio.value))));
    all("[data-jump]", this.root).forEach(button =>
      button.addEventListener("click", () => this.move(this.curve.jumps[button.dataset.jump])));
    all("[data-fold]", this.root).forEach(button => button.addEventListener("click", () => this.chooseFold(button)));
    all("[data-copy]", this.root).forEach(button => makeCopyable(button, this.experiment.copy));
    all("table.sortable", this.root).forEach(makeSortable);
    this.input("slider").addEventListener("input", event => this.move(this.curve.gammas[Number(event.target.value)]));
    this.input("gamma").addEventListener("input", event => {
      if (event.target.value !== "") this.move(Number(event.target.value));
    });
  }

  choose(index) {
    this.method = this.experiment.methods[index];
    this.input("slider").max = this.curve.gammas.length - 1;
    this.out("ausuc").textContent = this.curve.ausuc.toFixed(3);
    this.describe();
    this.fillClasses();
    this.move(this.curve.jumps.chosen);
    this.draw();
  }

  describe() {
    const runs = this.method.runs;
    this.out("which").textContent = runs > 1 ? `Shown is seed ${this.method.seed} of ${runs} runs; the tables above have the means.` : "";
    const figure = this.method.selection;
    this.chart("selection").hidden = !figure;
    this.out("selection-note").textContent = !figure ? "This method has no parameter to choose." :
      "Means over the validation folds. The dotted lines mark the best value for unseen classes alone and for seen and unseen classes together: often not the same."
      + (figure.others.length ? ` Each point is the best over ${figure.others.join(", ")}.` : "");
  }

  move(gamma) {
    const point = curveAt(this.curve, gamma), slider = this.input("slider");
    this.gamma = gamma;
    slider.value = point.k;
    slider.setAttribute("aria-valuetext",
      `gamma ${number(gamma)}: unseen ${percent(point.U)}, seen ${percent(point.S)}, harmonic mean ${percent(point.H)} percent`);
    if (document.activeElement !== this.input("gamma")) this.input("gamma").value = number(gamma);
    for (const name of ["U", "S", "H"]) this.out(name).textContent = percent(point[name]);
    this.fillConfusion(gamma);
    this.mark(point);
  }

  fillConfusion(gamma) {
    for (const kind of ["seen", "unseen"]) {
      const flips = this.curve.flips[kind], unseen = takenForUnseen(flips, gamma);
      for (const [taken, count] of [["seen", flips.total - unseen], ["unseen", unseen]]) {
        const share = 100 * count / flips.total, cell = this.out(kind + "-" + taken);
        cell.textContent = `${count.toLocaleString("en")} (${share.toFixed(1)} %)`;
        cell.style.backgroundImage = bar(share, kind === taken ? "h" : "unseen");
      }
    }
  }

  fillClasses() {
    const table = this.method.classes, names = this.experiment.classes.names;
    const tested = names.map((_, c) => c).filter(c => table.accuracy[c] !== null);
    tested.sort((a, b) => table.accuracy[a] - table.accuracy[b]);
    const body = this.out("classes");
    body.replaceChildren(...tested.map(c => classRow(c, table, names, this.experiment.classes.unseen[c])));
    all("th", body.parentElement.tHead).forEach(th => th.removeAttribute("aria-sort"));
    body.parentElement.tHead.querySelector("[data-first]").setAttribute("aria-sort", "ascending");
  }

  chooseFold(button) {
    all("[data-fold]", this.root).forEach(each => each.setAttribute("aria-pressed", String(each === button)));
    this.fold = Number(button.dataset.fold);
    this.draw();
  }

  show(name) {
    this.visible.add(name);
    this.drawOne(name);
  }

  draw() { this.visible.forEach(name => this.drawOne(name)); }

  drawOne(name) {
    const made = CHARTS[name](this.experiment, this.method, this.fold);
    if (!made) return;
    const place = this.chart(name), first = !place.data;
    Plotly.react(place, made[0], made[1], CONFIG);
    if (first && name === "trade") place.on("plotly_click", event => this.follow(event));
    if (name === "trade" || name === "over") this.mark(curveAt(this.curve, this.gamma));
  }

  follow(event) {
    const point = event.points.find(each => each.customdata !== undefined);
    if (point) this.move(point.customdata);
  }

  // Move the point of the curve and the line over gamma, where they are drawn.
  mark(point) {
    const trade = this.chart("trade"), over = this.chart("over");
    if (trade.data) Plotly.restyle(trade, {x: [[point.U]], y: [[point.S]]}, [trade.data.length - 1]);
    if (over.data) Plotly.relayout(over, {shapes: [gammaLine(this.gamma)]});
  }
}

function bar(share, color) {
  const paint = `color-mix(in srgb, ${tone(color)} 22%, transparent)`;
  return `linear-gradient(to right, ${paint} ${share}%, transparent ${share}%)`;
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
