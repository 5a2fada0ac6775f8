// ---- the gallery: groups of images, filters, and one image at a time ----

const FEW = 24;  // images of a group before "show more"
const out = name => document.querySelector(`[data-out="${name}"]`);
const KIND = {unseen: "new", seen: "seen", unknown: "unknown"};
const isWrong = sample => sample.t !== null && sample.t !== sample.c[0];
const sureness = p => p >= 99.95 ? "100 %" : p >= 9.95 ? Math.round(p) + " %" : p.toFixed(1) + " %";
const form = document.querySelector("[data-filters]");
const opened = new Set();  // groups that show all of their images
let visible = [];  // the samples that are shown, in the order of the page

// Wrong ones first, then the surest.
const byGroup = new Map(DATA.groups.map(group => [group.label, []]));
DATA.samples.forEach(sample => byGroup.get(sample.c[0]).push(sample));
byGroup.forEach(samples => samples.sort((a, b) => isWrong(b) - isWrong(a) || b.p[0] - a.p[0]));

function filters() {
  const values = new FormData(form);
  return {kind: values.get("kind"), label: values.get("class"), most: Number(values.get("most")), wrong: values.has("wrong")};
}

function passes(sample, chosen) {
  return sample.p[0] <= chosen.most && (!chosen.wrong || isWrong(sample));
}

function draw() {
  const chosen = filters(), sections = [];
  visible = [];
  for (const group of DATA.groups) {
    if ((chosen.kind && group.kind !== chosen.kind) || (chosen.label !== "" && group.label !== Number(chosen.label))) continue;
    const samples = byGroup.get(group.label).filter(sample => passes(sample, chosen));
    if (samples.length) sections.push(groupSection(group, samples));
  }
  out("groups").replaceChildren(...sections);
  out("most").textContent = chosen.most + " % sure";
  const found = sections.reduce((sum, section) => sum + Number(section.dataset.samples), 0);
  out("found").textContent = found === DATA.samples.length ? "" : `${count(found)} of ${count(DATA.samples.length)} images`;
}

function groupSection(group, samples) {
  const section = element("section", null, {class: "group", "data-samples": samples.length, "data-label": group.label});
  const id = "group-" + group.label, heading = element("h3", DATA.names[group.label], {id: id});
  heading.append(element("small", KIND[group.kind], {class: "kind is-" + group.kind}));
  section.setAttribute("aria-labelledby", id);
  section.append(heading, element("p", counts(group), {class: "note"}));
  const wrong = samples.filter(isWrong), right = samples.filter(sample => !isWrong(sample));
  if (wrong.length) section.append(...tiles(group, "wrong", wrong, "Wrong, with the true class"));
  if (right.length) section.append(...tiles(group, "right", right, wrong.length ? "Right" : ""));
  return section;
}

const count = n => n.toLocaleString("en");

function counts(group) {
  const right = group.right === null ? "" : `, ${count(group.right)} right`;
  const of = group.shown < group.samples ? `, ${count(group.shown)} shown` : "";
  return `${count(group.samples)} ${group.samples === 1 ? "image" : "images"}${right}${of}`;
}

// Some images of a group, a button for the others, and what they are.
function tiles(group, part, samples, title) {
  const key = group.label + part, few = title ? FEW / 2 : FEW;
  const shown = opened.has(key) ? samples : samples.slice(0, few), grid = element("div", null, {class: "tiles", "data-part": key});
  grid.append(...shown.map(tile));
  return [...(title ? [element("h4", title)] : []), grid,
    ...(shown.length < samples.length ? [moreButton(key, samples.length - shown.length)] : [])];
}

function moreButton(key, others) {
  const button = element("button", `Show ${count(others)} more`, {type: "button", class: "quiet more"});
  button.addEventListener("click", () => {
    const first = all(`[data-part="${key}"] .tile`).length;
    opened.add(key);
    draw();
    all(`[data-part="${key}"] .tile`)[first].focus();
  });
  return button;
}

function picture(sample) {
  return sample.i ? element("img", null, {src: sample.i, alt: "", decoding: "async"}) : element("span", sample.n, {class: "no-image"});
}

function tile(sample) {
  const wrong = isWrong(sample), said = `${sample.n}: ${DATA.names[sample.c[0]]}, ${sureness(sample.p[0])} sure`;
  const made = element("button", null, {type: "button", class: wrong ? "tile wrong" : "tile",
    "aria-label": wrong ? `${said}, wrong: it is ${DATA.names[sample.t]}` : said, title: sample.n});
  const caption = element("span", null, {class: "caption"});
  if (wrong) caption.append(element("b", DATA.names[sample.t]));
  caption.append(element("span", sureness(sample.p[0])));
  made.append(picture(sample), caption);
  const position = visible.push(sample) - 1;
  made.addEventListener("click", () => show(position));
  return made;
}

// ---- one image ----

const dialog = out("dialog");
let current = 0;

function show(position) {
  current = position;
  const sample = visible[position];
  out("name").textContent = sample.n;
  out("image").hidden = !sample.i;
  if (sample.i) out("image").src = sample.i;
  out("verdict").textContent = sample.t === null ? "" : isWrong(sample) ? `Wrong: it is ${DATA.names[sample.t]}.` : "Right.";
  out("verdict").className = isWrong(sample) ? "bad" : "good";
  out("top").replaceChildren(...sample.c.map((c, rank) => topClass(c, sample.p[rank])));
  out("reasons").replaceChildren(...reasons(sample));
  all("[data-step]").forEach(button => { button.disabled = !visible[current + Number(button.dataset.step)]; });
  if (!dialog.open) dialog.showModal();
}

function topClass(c, p) {
  const kind = c >= DATA.unseen.length ? "unknown" : DATA.unseen[c] ? "unseen" : "seen";
  const made = element("li"), bar = element("span", null, {class: "bar is-" + kind});
  bar.style.width = p + "%";
  const words = element("span", DATA.names[c] + " ");
  words.append(element("small", KIND[kind], {class: "kind is-" + kind}));
  made.append(words, element("span", sureness(p), {class: "number"}), bar);
  return made;
}

// Why this class and not the next one: what spoke for it, and against it; or what both are combined from.
function reasons(sample) {
  const reason = sample.e;
  const heading = element("h4", `Why ${reason.c} and not ${reason.r}`), words = reason.s.map(line => element("p", line));
  if (reason.p.length < 2) return [heading, ...words];
  const most = Math.max(...reason.p.map(part => Math.abs(part[1]))), list = element("ul", null, {class: "reasons"});
  list.append(...reason.p.map(([name, contribution, value, rival]) => {
    const row = element("li"), bar = element("span", null, {class: contribution > 0 ? "bar for" : "bar against"}), track = element("span", null, {class: "track"});
    bar.style.width = 50 * Math.abs(contribution) / most + "%";
    track.append(bar);
    row.append(element("span", name), element("span", value === null ? "" : `${value} against ${rival}`, {class: "number"}), track);
    return row;
  }));
  return [heading, ...words, element("p", "Contributions to the difference of the two scores: to the right for it, to the left against it.", {class: "note"}), list];
}

function step(by) {
  if (visible[current + by]) show(current + by);
}

all("[data-step]").forEach(button => button.addEventListener("click", () => step(Number(button.dataset.step))));
document.querySelector("[data-close]").addEventListener("click", () => dialog.close());
dialog.addEventListener("click", event => { if (event.target === dialog) dialog.close(); });
dialog.addEventListener("keydown", event => {
  if (event.key === "ArrowRight") step(1);
  if (event.key === "ArrowLeft") step(-1);
});
dialog.addEventListener("close", () => { const tiles = all(".tile"); if (tiles[current]) tiles[current].focus(); });
form.addEventListener("input", draw);
form.addEventListener("submit", event => event.preventDefault());
draw();
