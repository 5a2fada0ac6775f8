// ---- the slider for gamma; its state is a model, named by its lambda or its samples, and a gamma ----

class Explorer {
  // others: a function that gives the curves to draw faintly behind the own one
  constructor(root, others) {
    this.root = root;
    this.others = others;
    this.drawn = new Set();  // charts so far: they are drawn one after another
    this.listen();
  }

  get model() { return this.data.models[this.name]; }
  out(name) { return this.root.querySelector(`[data-out="${name}"]`); }
  input(name) { return this.root.querySelector(`[data-in="${name}"]`); }
  chart(name) { return this.root.querySelector(`[data-chart="${name}"]`); }

  listen() {
    all("[data-point]", this.root).forEach(button => button.addEventListener("click", () => this.jump(button.dataset.point)));
    all("[data-lambda]", this.root).forEach(radio => radio.addEventListener("change", () => this.jump(radio.dataset.start)));
    this.input("slider").addEventListener("input", event => this.move(this.model.gammas[Number(event.target.value)]));
    this.input("gamma").addEventListener("input", event => {
      if (event.target.value !== "") this.move(Number(event.target.value));
    });
  }

  // data: {models, points}; look: {name, color}; means: point -> H over all runs, where there are several
  choose(data, look, start, means) {
    Object.assign(this, {data: data, look: look, means: means || {}, name: null});
    const names = Object.keys(data.points);
    all("[data-point]", this.root).forEach(button => {
      button.hidden = button.dataset.point !== "best" && !names.includes(button.dataset.point);
    });
    all("[data-lambda]", this.root).forEach(radio => { radio.disabled = !(radio.value in data.models); });
    this.jump(start);
  }

  jump(name) {
    const point = name === "best" ? {model: this.name, gamma: this.model.best} : this.data.points[name];
    this.setModel(point.model || this.name);
    this.move(point.gamma);
  }

  setModel(name) {
    if (this.name === name) return;
    this.name = name;
    this.input("slider").max = this.model.gammas.length - 1;
    this.out("ausuc").textContent = this.model.ausuc.toFixed(3);
    all("[data-lambda]", this.root).forEach(radio => { radio.checked = radio.value === name; });
    this.draw();
  }

  move(gamma) {
    const point = curveAt(this.model, gamma), slider = this.input("slider");
    this.gamma = gamma;
    slider.value = point.k;
    slider.setAttribute("aria-valuetext",
      `gamma ${number(gamma)}: unseen ${percent(point.U)}, seen ${percent(point.S)}, harmonic mean ${percent(point.H)} percent`);
    if (document.activeElement !== this.input("gamma")) this.input("gamma").value = number(gamma);
    for (const name of ["U", "S", "H"]) this.out(name).textContent = percent(point[name]);
    this.fillConfusion();
    this.markNamed();
    this.mark(point);
  }

  // Which named point this is, and its mean over all runs, the number of the tables.
  markNamed() {
    const here = Object.keys(this.data.points).find(name => this.at(this.data.points[name]));
    all("[data-point]", this.root).forEach(button => button.setAttribute("aria-pressed", String(
      button.dataset.point === here || (button.dataset.point === "best" && !here && this.gamma === this.model.best))));
    this.out("mean").textContent = here && this.means[here] ? this.means[here] : "";
  }

  at(point) { return (point.model || this.name) === this.name && point.gamma === this.gamma; }

  fillConfusion() {
    if (!this.model.flips || !this.out("seen-seen")) return;
    for (const kind of ["seen", "unseen"]) {
      const flips = this.model.flips[kind], unseen = predictedUnseen(flips, this.gamma);
      for (const [predicted, count] of [["seen", flips.total - unseen], ["unseen", unseen]]) {
        const share = flips.total ? 100 * count / flips.total : 0, cell = this.out(kind + "-" + predicted);
        cell.textContent = `${count.toLocaleString("en")} (${share.toFixed(1)}\u00a0%)`;
        cell.style.backgroundImage = bar(share, kind === predicted ? "h" : "unseen");
      }
    }
  }

  show(name) { this.drawn.add(name); this.drawOne(name); }
  draw() { this.drawn.forEach(name => this.drawOne(name)); }

  drawOne(name) {
    const place = this.chart(name), first = !place.data;
    plot(place, name === "trade" ? tradeChart(this.model, this.look, this.others()) : overChart(this.model, this.chance));
    if (first && name === "trade") place.on("plotly_click", event => this.follow(event));
    this.mark(curveAt(this.model, this.gamma));
  }

  follow(event) {
    const point = event.points.find(each => each.customdata !== undefined);
    if (point) this.move(point.customdata);
  }

  // Move the point of the curve and the line over gamma, where they are drawn.
  mark(point) {
    const trade = this.chart("trade"), over = this.chart("over");
    if (trade.data) Plotly.restyle(trade, {x: [[point.U]], y: [[point.S]]}, [trade.data.length - 1]);
    if (over.data) Plotly.relayout(over, {shapes: [gammaLine(this.gamma), ...chanceLine(this.chance, "H")]});
  }
}

function bar(share, color) {
  const paint = `color-mix(in srgb, ${tone(color)} 22%, transparent)`;
  return `linear-gradient(to right, ${paint} ${share}%, transparent ${share}%)`;
}
