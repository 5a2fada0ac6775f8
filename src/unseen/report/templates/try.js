// ---- a class that does not exist: its description, and what it would claim ----

const LINES = {a1: [10, 10, 50, 10], a2: [50, 10, 90, 10], b: [90, 10, 90, 80], c: [90, 80, 90, 150], d1: [10, 150, 50, 150], d2: [50, 150, 90, 150],
  e: [10, 80, 10, 150], f: [10, 10, 10, 80], g1: [10, 80, 50, 80], g2: [50, 80, 90, 80], h: [10, 10, 50, 80], i: [50, 10, 50, 80],
  j: [90, 10, 50, 80], k: [50, 80, 10, 150], l: [50, 80, 50, 150], m: [50, 80, 90, 150]};
const SHOWN = 48;  // images

class TryPanel {
  // gamma: a function that gives the present gamma
  constructor(root, data, classes, gamma) {
    Object.assign(this, {root: root, data: data, classes: classes, gamma: gamma, form: new RowForm(data), z: numbers(data.z),
      prototypes: numbers(data.prototypes), like: null, row: null});
    this.n = data.attributes.length;
    this.recognizer = data.drawing && new Recognizer(data.drawing, this.form);
    this.drawing = data.drawing && new Drawing(root, data.drawing, () => this.recognize());
    this.makeInputs();
    root.querySelector("[data-in=like]").addEventListener("change", event => this.start(event.target.value));
    const find = root.querySelector("[data-in=find]");
    if (find) find.addEventListener("input", () => this.find(find.value));
    this.start("");
  }

  out(name) { return this.root.querySelector(`[data-out="${name}"]`); }

  makeInputs() {
    this.inputs = this.data.attributes.map((name, i) => {
      const low = this.data.low[i], high = this.data.high[i];
      const input = element("input", null, this.data.binary ? {type: "checkbox"} : {type: "range", min: low, max: high > low ? high : low + 1, step: "any"});
      input.addEventListener("input", () => this.describe());
      const label = element("label", null, {class: this.data.binary ? "switch" : "slide"});
      label.append(...(this.data.binary ? [input, element("span", name)] : [element("span", name), input]));
      this.out("attributes").append(label);
      return input;
    });
    if (this.data.segments) this.makeDisplay();
  }

  // The segments are also switches for a mouse.
  makeDisplay() {
    this.lines = this.data.segments.map((segment, i) => {
      const [x1, y1, x2, y2] = LINES[segment], made = document.createElementNS("http://www.w3.org/2000/svg", "line");
      const length = Math.hypot(x2 - x1, y2 - y1), dx = 8 * (x2 - x1) / length, dy = 8 * (y2 - y1) / length;
      for (const [name, value] of Object.entries({x1: x1 + dx, y1: y1 + dy, x2: x2 - dx, y2: y2 - dy})) made.setAttribute(name, value);
      made.addEventListener("click", () => this.inputs[i].click());
      this.out("display").append(made);
      return made;
    });
  }

  prototype(c) { return this.prototypes.subarray(c * this.n, (c + 1) * this.n); }

  start(c) {
    this.like = c === "" ? null : Number(c);
    const values = this.like === null ? this.data.low : this.prototype(this.like);
    this.inputs.forEach((input, i) => { if (this.data.binary) input.checked = values[i] > 0; else input.value = values[i]; });
    this.describe();
  }

  find(text) {
    this.inputs.forEach((input, i) => { input.parentElement.hidden = !this.data.attributes[i].toLowerCase().includes(text.trim().toLowerCase()); });
  }

  // Another description: everything follows from it. A slider that was not moved keeps the exact value of the class.
  describe() {
    const base = this.like === null ? null : this.prototype(this.like);
    this.s = this.inputs.map((input, i) => this.data.binary ? Number(input.checked)
      : base && Math.abs(Number(input.value) - base[i]) < 1e-9 * (Math.abs(base[i]) + 1) ? base[i] : Number(input.value));
    if (this.lines) this.lines.forEach((line, i) => line.classList.toggle("on", this.s[i] > 0));
    this.described = this.s.some((value, i) => value !== this.data.low[i]);
    this.row = this.described ? this.form.row(this.s) : null;
    this.sayChanges();
    this.update();
  }

  sayChanges() {
    if (this.like === null) { this.out("but").textContent = ""; return; }
    const base = this.prototype(this.like), changed = this.data.attributes.filter((_, i) => this.s[i] !== base[i]);
    this.out("but").textContent = changed.length ? "but: " + changed.slice(0, 4).join(", ") + (changed.length > 4 ? ` and ${changed.length - 4} more` : "") : "";
  }

  // The score of the described class for each sample.
  scores() {
    return Array.from(this.data.true, (_, i) => dot(this.z, i * this.form.size, this.row.k) + this.row.intercept);
  }

  // The samples that it would claim, the surest first: [sample, margin].
  claims() {
    const gamma = this.gamma(), {best_seen, best_unseen} = this.data;
    return this.scores().map((score, i) => [i, score - Math.max(best_seen[i] - gamma, best_unseen[i] === null ? -Infinity : best_unseen[i])])
      .filter(pair => pair[1] > 0).sort((a, b) => b[1] - a[1]);
  }

  update() {
    const claims = this.row ? this.claims() : [], of = this.data.true;
    this.out("claim").textContent = this.row ? `It would claim ${claims.length} of ${of.length} samples at gamma ${Number(this.gamma().toPrecision(4))}.` : "Switch on an attribute, or start from a class.";
    this.out("twin").textContent = this.row ? this.nearest() : "";
    const from = new Map();
    claims.forEach(([i]) => from.set(of[i], (from.get(of[i]) || 0) + 1));
    const most = [...from].sort((a, b) => b[1] - a[1]).slice(0, 8);
    this.out("from").replaceChildren(...most.map(([c, n]) => this.bar(c, 100 * n / of.filter(each => each === c).length, `${n} of ${of.filter(each => each === c).length}`)));
    this.out("claimed").replaceChildren(...claims.filter(([i]) => this.data.images[i]).slice(0, SHOWN).map(([i]) =>
      element("img", null, {src: this.data.images[i], alt: this.classes.names[of[i]], title: this.classes.names[of[i]]})));
    this.recognize();
  }

  // Which known class it is most like.
  nearest() {
    const distances = this.classes.names.map((_, c) => Math.hypot(...this.prototype(c).map((value, i) => value - this.s[i])));
    const c = distances.indexOf(Math.min(...distances)), name = this.classes.names[c], other = this.prototype(c);
    const differ = this.data.attributes.filter((_, i) => other[i] !== this.s[i]);
    if (!differ.length) return `It is a twin of ${name}: their descriptions are the same` + (this.classes.unseen[c] ? ", and so are their scores of every sample." : ".");
    return `Nearest to ${name}, from which it differs in ${differ.slice(0, 4).join(", ")}${differ.length > 4 ? ` and ${differ.length - 4} more` : ""}.`;
  }

  bar(c, share, text) {
    const kind = c === null ? "own" : this.classes.unseen[c] ? "unseen" : "seen", made = element("li");
    const words = element("span", c === null ? "the class you describe " : this.classes.names[c] + " "), bar = element("span", null, {class: "bar is-" + kind});
    words.append(element("small", {own: "yours", unseen: "new", seen: "seen"}[kind], {class: "kind is-" + kind}));
    bar.style.width = share + "%";
    made.append(words, element("span", text, {class: "number"}), bar);
    return made;
  }

  // Probabilities of all classes and of the described one for the drawing, the most probable first.
  probabilities(x) {
    const {classes, described} = this.recognizer.scores(x, this.row), gamma = this.gamma(), T = this.recognizer.temperature;
    const scores = classes.map((score, c) => [c, (score - (this.classes.unseen[c] ? 0 : gamma)) / T]);
    if (described !== null) scores.push([null, described / T]);
    const top = Math.max(...scores.map(pair => pair[1])), total = scores.reduce((sum, pair) => sum + Math.exp(pair[1] - top), 0);
    return scores.map(([c, score]) => [c, Math.exp(score - top) / total]).sort((a, b) => b[1] - a[1]);
  }

  recognize() {
    if (!this.drawing) return;
    const x = this.drawing.x;
    this.out("drawn-note").hidden = Boolean(x);
    this.out("drawn").replaceChildren(...(x ? this.probabilities(x).slice(0, 5).map(([c, p]) => this.bar(c, 100 * p, percent(100 * p) + " %")) : []));
  }
}
