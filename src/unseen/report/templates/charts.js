// ---- charts: each function gives [traces, layout] ----

const CONFIG = {responsive: true, displayModeBar: false};

// Draw a chart, and offer to save it once it is there.
function plot(place, made) {
  Plotly.react(place, made[0], made[1], CONFIG);
  const save = place.parentElement.querySelector("[data-save]");
  if (save.hidden) {
    save.hidden = false;
    save.addEventListener("click", () => Plotly.downloadImage(place, {format: "svg", filename: "unseen-" + save.dataset.save,
      width: place.clientWidth, height: place.clientHeight}));
  }
}

// The color of a method; on a dark page nearer to white, as the style sheet has it for marks.
function methodColor(color) {
  const light = document.documentElement.dataset.theme !== "dark";
  const mixed = [1, 3, 5].map(at => parseInt(color.slice(at, at + 2), 16)).map(part => light ? part : Math.round(.6 * part + .4 * 255));
  return `rgb(${mixed.join(", ")})`;
}

const narrow = () => innerWidth < 640;
const shorten = (text, most) => text.length > most ? text.slice(0, most - 1) + "…" : text;

// Fixed axes: a finger that scrolls the page must not zoom a chart.
function axis(title, more) {
  return Object.assign({title: {text: title, standoff: 8}, fixedrange: true, gridcolor: tone("line"),
    zerolinecolor: tone("faint"), linecolor: tone("faint"), automargin: true}, more);
}

function layout(more) {
  return Object.assign({paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", dragmode: false,
    font: {family: "inherit", size: 13, color: tone("soft")}, margin: {t: 36, r: 12, b: 48, l: 56},
    legend: {orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: {color: tone("ink")}},
    hoverlabel: {bgcolor: tone("card"), bordercolor: tone("soft"), font: {color: tone("ink")}}}, more);
}

const line = (name, x, y, color, more) =>
  Object.assign({name: name, x: x, y: y, mode: "lines", line: {color: color, width: 2.5},
    hovertemplate: "%{y:.1f} %<extra>" + name + "</extra>"}, more);

// The score of guessing, as a dotted line across or up a chart.
function chanceLine(level, text, upright) {
  if (!level) return [];
  const along = upright ? {x0: level, x1: level, yref: "paper", y0: 0, y1: 1} : {y0: level, y1: level, xref: "paper", x0: 0, x1: 1};
  return [{type: "line", ...along, line: {color: tone("soft"), width: 1, dash: "dot"}, layer: "below",
    label: {text: text + " of guessing", textposition: "start", textangle: 0, yanchor: "bottom", xanchor: "left", font: {color: tone("soft"), size: 11}}}];
}

// H of every method: an open circle without calibration, a full one with it, a line between them.
function gainChart(experiment) {
  const methods = experiment.methods.slice().sort((a, b) =>
    a.steps["calibrated+lambda"].mean - b.steps["calibrated+lambda"].mean);
  const names = methods.map(m => m.name), colors = methods.map(m => methodColor(m.color));
  const h = step => methods.map(m => m.steps[step].mean);
  const joined = methods.map(m => ({x: [m.steps.none.mean, m.steps["calibrated+lambda"].mean],
    y: [m.name, m.name], mode: "lines", line: {color: methodColor(m.color), width: 3}, hoverinfo: "skip", showlegend: false}));
  const before = {showlegend: false, cliponaxis: false, x: h("none"), y: names, mode: "markers", hovertemplate: "%{x:.1f} %<extra></extra>",
    marker: {size: 11, color: tone("card"), line: {color: colors, width: 2.5}}};
  const reach = sign => methods.map(m => m.interval ? Math.max(0, sign * (m.interval[sign > 0 ? 1 : 0] - m.steps["calibrated+lambda"].mean)) : 0);
  const after = {showlegend: false, cliponaxis: false, x: h("calibrated+lambda"), y: names, mode: "markers",
    hovertemplate: "%{x:.1f} %<extra></extra>", marker: {size: 14, color: colors},
    error_x: {type: "data", thickness: 1, width: 3, color: tone("soft"), symmetric: false, array: reach(1), arrayminus: reach(-1)}};
  const legend = (name, marker) => ({name: name, x: [null], y: [null], mode: "markers", marker: marker});
  const legends = [legend("no calibration", {size: 11, color: tone("card"), line: {color: tone("soft"), width: 2.5}}),
    legend(narrow() ? "calibrated + λ" : "calibrated, with λ chosen for it", {size: 14, color: tone("soft")})];
  return [[...joined, before, after, ...legends], layout({height: 130 + 34 * methods.length,
    shapes: chanceLine(experiment.chance.h, "H", true),
    xaxis: axis("harmonic mean H (%)", {rangemode: "tozero"}),
    yaxis: axis("", {tickfont: {color: tone("ink")}, ticklabelstandoff: 10, gridcolor: "rgba(0,0,0,0)"})})];
}

function equalH(H) {
  const u = [], s = [];
  for (let x = H / 2 + 0.5; x <= 100; x += 0.5) { u.push(x); s.push(H * x / (2 * x - H)); }
  return {x: u, y: s, mode: "lines", line: {color: tone("line"), width: 1}, hoverinfo: "skip", showlegend: false};
}

const LEVELS = [10, 20, 30, 40, 50, 60, 70, 80, 90];

// A curve over the faint curves of others; its two last traces are gamma = 0 and the gamma of the slider.
function tradeChart(model, look, others) {
  const faint = others.map(other => line(other.name, other.unseen, other.seen, other.color, {opacity: 0.35, showlegend: false,
    hoverinfo: "skip", hovertemplate: undefined, line: {color: other.color, width: 1.2}}));
  const zero = curveAt(model, 0);
  const own = line(look.name, model.unseen, model.seen, look.color, {customdata: model.gammas,
    hovertemplate: "gamma %{customdata:.4g}<br>U %{x:.1f}, S %{y:.1f}<extra></extra>"});
  const open = {name: "gamma = 0", x: [zero.U], y: [zero.S], mode: "markers", hoverinfo: "skip",
    marker: {size: 11, color: tone("card"), line: {color: look.color, width: 2.5}}};
  const here = {name: "this gamma", x: [zero.U], y: [zero.S], mode: "markers", hoverinfo: "skip",
    marker: {size: 15, color: look.color, line: {color: tone("card"), width: 2}}};
  const top = name => Math.min(101, 1.05 * Math.max(1, ...[model, ...others].map(curve => largest(curve[name]))));
  return [[...LEVELS.map(equalH), ...faint, own, open, here], layout({
    annotations: LEVELS.map(H => ({x: H, y: H, text: "H " + H, showarrow: false, font: {size: 10, color: tone("soft")}})),
    xaxis: axis("accuracy on unseen samples, U (%)", {range: [0, top("unseen")], showgrid: false}),
    yaxis: axis("accuracy on seen samples, S (%)", {range: [0, top("seen")], showgrid: false})})];
}

const largest = values => values.reduce((a, b) => Math.max(a, b), 0);

// The outermost segments reach to infinity: they are drawn up to their own gamma.
function overChart(model, chance) {
  const last = model.gammas.length - 1;
  const ends = [model.gammas[0], ...model.breakpoints, model.gammas[last]];
  const h = model.unseen.map((u, k) => harmonic(u, model.seen[k]));
  const steps = (name, values, color) => line(name, ends, [...values, values[last]], color,
    {line: {shape: "hv", color: color, width: 2}, hovertemplate: "%{y:.1f} %<extra>" + name + "</extra>"});
  return [[steps("unseen, U", model.unseen, tone("unseen")), steps("seen, S", model.seen, tone("seen")),
    steps("H", h, tone("h"))], layout({hovermode: "x", shapes: [gammaLine(0), ...chanceLine(chance, "H")],
    xaxis: axis("gamma", {range: busyRange(model, h)}), yaxis: axis("accuracy (%)", {rangemode: "tozero"})})];
}

// The gammas where something happens: far outside, nearly all samples go to one kind of class.
function busyRange(model, h) {
  const enough = 0.05 * largest(h), busy = model.gammas.filter((_, k) => h[k] > enough);
  const low = Math.min(0, ...busy.slice(0, 1)), high = Math.max(0, ...busy.slice(-1)), margin = 0.1 * (high - low) || 1;
  return [low - margin, high + margin];
}

function gammaLine(gamma) {
  return {type: "line", x0: gamma, x1: gamma, yref: "paper", y0: 0, y1: 1, line: {color: tone("ink"), width: 1.5}};
}

const LOG = {type: "log", exponentformat: "power", dtick: 1};

// The paper's Fig. 1: validation accuracies against lambda with both optima.
function selectionChart(experiment, method) {
  const figure = method.selection;
  if (!figure) return null;
  const side = x => 2 * figure.x.indexOf(x) < figure.x.length ? "left" : "right";  // names stay inside
  const optimum = (x, color, text, end) => ({type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1,
    line: {color: color, width: 1.5, dash: "dot"}, label: {text: text, textposition: end, textangle: 0,
      xanchor: side(x), font: {color: color, size: 12}}});
  const more = {mode: "lines+markers", marker: {size: 6}};
  return [[line("unseen among unseen", figure.x, figure.zsl, tone("unseen"), more),
    line("seen among seen", figure.x, figure.seen, tone("seen"), more), line("best H", figure.x, figure.h, tone("h"), more)],
    layout({shapes: [...chanceLine(experiment.chance.validation, "ZSL"), optimum(figure.best_zsl, tone("unseen"), " ZSL ", "start"), optimum(figure.best, tone("h"), " GZSL ", "middle")], hovermode: "x",
      xaxis: axis(figure.parameter, figure.scale === "log" ? LOG : {type: figure.scale}),
      yaxis: axis("validation accuracy (%)", {rangemode: "tozero"})})];
}

// The paper's Fig. 3a.
function errorChart(experiment) {
  const error = experiment.attribute_error;
  const of = (kind, color) => line(kind + " samples", error.alpha, error[kind], color,
    {mode: "lines+markers", hovertemplate: "%{y:.4g}<extra>" + kind + "</extra>"});
  return [[of("unseen", tone("unseen")), of("seen", tone("seen"))], layout({hovermode: "x",
    xaxis: axis("alpha of Linear V→S", LOG),
    yaxis: axis("squared error of attributes", {rangemode: "tozero", exponentformat: "power"})})];
}

// How right predictions are against how sure. Each series is [name, bins, hollow]; larger circles stand for more samples.
function sureChart(kind, series) {
  const circles = series.map(([name, bins, hollow]) => {
    const filled = bins.samples.map((_, i) => i).filter(i => bins.samples[i]), most = largest(bins.samples);
    const color = hollow ? tone("soft") : tone(kind), pick = values => filled.map(i => values[i]);
    return {name: name, x: pick(bins.confidence).map(p => 100 * p), y: pick(bins.accuracy).map(p => 100 * p), mode: "markers", cliponaxis: false,
      customdata: pick(bins.samples), hovertemplate: "%{x:.0f} % sure, %{y:.0f} % right<br>%{customdata} samples<extra>" + name + "</extra>",
      marker: {color: hollow ? tone("card") : color, line: {color: color, width: 1.5}, opacity: 1, size: pick(bins.samples).map(n => 4 + 14 * Math.sqrt(n / most))}};
  });
  const right = {x: [0, 100], y: [0, 100], mode: "lines", line: {color: tone("faint"), width: 1.5}, hoverinfo: "skip", showlegend: false};
  const sure = text => axis(text, {range: [0, 102], dtick: 20});
  const look = layout({showlegend: true, xaxis: sure(`how sure, ${kind} classes (%)`), yaxis: sure("how right (%)")});
  look.legend.itemsizing = "constant";
  return [[right, ...circles], look];
}

// The hardest classes that fit the width (rows) and what they are taken for (columns).
function hardestChart(experiment, method) {
  const names = experiment.classes.names, most = narrow() ? 12 : 26, hardest = [], columns = [];
  for (const each of method.hardest) {
    const wider = [...new Set([...columns, each.index, ...each.taken_for.slice(0, 3).map(pair => pair[0])])];
    if (hardest.length && wider.length > (narrow() ? 12 : 40)) break;
    hardest.push(each);
    columns.splice(0, columns.length, ...wider);
  }
  columns.sort((a, b) => place(hardest, a) - place(hardest, b));  // the diagonal first
  const share = (each, c) => c === each.index ? each.accuracy : (each.taken_for.find(pair => pair[0] === c) || [c, null])[1];
  const rows = hardest.slice().reverse();  // the first row is drawn at the bottom
  const z = rows.map(each => columns.map(c => share(each, c)));
  const label = c => shorten(names[c], most) + (experiment.classes.unseen[c] ? " *" : "");
  const ticks = (classes, angle) => ({tickmode: "array", tickvals: classes.map((_, i) => i), ticktext: classes.map(label), tickangle: angle,
    tickfont: {size: 11, color: tone("ink")}, showgrid: false, zeroline: false});
  const top = document.documentElement.dataset.theme === "dark" ? 160 : 100;  // light numbers need a dark ground
  const map = (right, color) => {
    const shown = z.map((row, i) => row.map((value, k) => (columns[k] === rows[i].index) === right ? value : null));
    return {type: "heatmap", z: shown, x: columns.map((_, i) => i), y: rows.map((_, i) => i), zmin: 0, zmax: top, showscale: false,
      xgap: 1, ygap: 1, text: shown.map(row => row.map(value => value >= 1 ? String(Math.round(value)) : "")), texttemplate: "%{text}",
      textfont: {size: 10}, customdata: rows.map(each => columns.map(c => [names[each.index], names[c]])), hoverongaps: false,
      hovertemplate: "%{customdata[0]} predicted as %{customdata[1]}: %{z:.1f} %<extra></extra>",
      colorscale: [[0, tone("card")], [1, color]]};
  };
  const longest = largest(columns.map(c => label(c).length));  // slanted names need room on the right
  return [[map(false, tone("unseen")), map(true, tone("h"))], layout({height: 110 + 28 * rows.length + 6 * longest, margin: {t: 20, r: 12 + 3 * longest, b: 10, l: 40},
    xaxis: axis("", {...ticks(columns, -60), side: "top"}), yaxis: axis("", ticks(rows.map(each => each.index), 0))})];
}

function place(hardest, c) {
  const at = hardest.findIndex(each => each.index === c);
  return at < 0 ? hardest.length : at;
}

// The paper's Fig. 2: the samples of each class by part; names as many as fit.
function splitChart(experiment, method, fold, width) {
  const figure = experiment.splits.folds[fold], names = figure.order.map(c => experiment.classes.names[c]);
  const kind = color => names.length > 1000  // one shape for all bars: thousands of them take the browser a minute
    ? {type: "scatter", mode: "lines", stackgroup: "parts", line: {shape: "hvh", width: 0}, fillcolor: color}
    : {type: "bar", marker: {color: color}};
  const traces = Object.entries(experiment.splits.names).map(([part, name]) => ({...kind(experiment.splits.colors[part]), name: name,
    x: figure.order.map((_, i) => i), y: figure.parts[part], customdata: names,
    hovertemplate: "%{customdata}: %{y}<extra>" + name + "</extra>"}));
  const step = Math.ceil(14 * names.length / Math.max(200, width - 80));
  const shown = names.map((_, i) => i).filter(i => i % step === 0);
  const look = layout({barmode: "stack", bargap: names.length > 60 ? 0 : 0.15, yaxis: axis("samples"),
    xaxis: axis("", {tickmode: "array", tickvals: shown, ticktext: shown.map(i => shorten(names[i], 20)), showgrid: false,
      tickangle: largest(names.map(name => name.length)) > 3 ? -60 : 0, tickfont: {size: 10}})});
  look.legend.traceorder = "normal";
  return [traces, look];
}

function sureOfMethod(method, kind) {
  const found = method.reliability;
  return found && sureChart(kind, [["plain softmax", found.before[kind], true], ["with temperature", found.after[kind], false]]);
}

const CHARTS = {gain: gainChart, selection: selectionChart, error: errorChart, hardest: hardestChart, splits: splitChart,
  "sure-seen": (experiment, method) => sureOfMethod(method, "seen"), "sure-unseen": (experiment, method) => sureOfMethod(method, "unseen")};
