// ---- charts: each function gives [traces, layout] for one experiment and its chosen method ----

const CONFIG = {responsive: true, displaylogo: false, modeBarButtons: [["toImage"]],
  toImageButtonOptions: {format: "svg", filename: "unseen"}};

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

// H of every method: an open circle without calibration, a full one with it, a line between them.
function gainChart(experiment) {
  const methods = experiment.methods.slice().sort((a, b) =>
    a.steps["calibrated+lambda"].mean - b.steps["calibrated+lambda"].mean);
  const names = methods.map(m => m.name), colors = methods.map(m => m.color);
  const h = step => methods.map(m => m.steps[step].mean);
  const joined = methods.map(m => ({x: [m.steps.none.mean, m.steps["calibrated+lambda"].mean],
    y: [m.name, m.name], mode: "lines", line: {color: m.color, width: 3}, hoverinfo: "skip", showlegend: false}));
  const before = {showlegend: false, cliponaxis: false, x: h("none"), y: names, mode: "markers", hovertemplate: "%{x:.1f} %<extra></extra>",
    marker: {size: 11, color: tone("card"), line: {color: colors, width: 2.5}}};
  const after = {showlegend: false, cliponaxis: false, x: h("calibrated+lambda"), y: names, mode: "markers",
    hovertemplate: "%{x:.1f} %<extra></extra>", marker: {size: 14, color: colors}, error_x: {type: "data", thickness: 1, width: 3,
      color: tone("soft"), array: methods.map(m => m.steps["calibrated+lambda"].std)}};
  const legend = (name, marker) => ({name: name, x: [null], y: [null], mode: "markers", marker: marker});
  const legends = [legend("without calibration", {size: 11, color: tone("card"), line: {color: tone("soft"), width: 2.5}}),
    legend("calibrated, lambda chosen for it", {size: 14, color: tone("soft")})];
  return [[...joined, before, after, ...legends], layout({height: 110 + 34 * methods.length,
    xaxis: axis("harmonic mean H (%)", {rangemode: "tozero"}),
    yaxis: axis("", {tickfont: {color: tone("ink")}, ticklabelstandoff: 10, gridcolor: "rgba(0,0,0,0)"})})];
}

function equalH(H) {
  const u = [], s = [];
  for (let x = H / 2 + 0.5; x <= 100; x += 0.5) { u.push(x); s.push(H * x / (2 * x - H)); }
  return {x: u, y: s, mode: "lines", line: {color: tone("line"), width: 1}, hoverinfo: "skip", showlegend: false};
}

const LEVELS = [10, 20, 30, 40, 50, 60, 70, 80, 90];

// The curves of all methods, the chosen one on top; its two last traces are gamma = 0 and the gamma of the slider.
function tradeChart(experiment, method) {
  const others = experiment.methods.filter(m => m !== method).map(m => line(m.name, m.explorer.unseen, m.explorer.seen,
    m.color, {opacity: 0.35, showlegend: false, hoverinfo: "skip", hovertemplate: undefined, line: {color: m.color, width: 1.2}}));
  const curve = method.explorer, none = curveAt(curve, 0);
  const own = line(method.name, curve.unseen, curve.seen, method.color, {customdata: curve.gammas,
    hovertemplate: "gamma %{customdata:.4g}<br>U %{x:.1f}, S %{y:.1f}<extra></extra>"});
  const open = {name: "no calibration", x: [none.U], y: [none.S], mode: "markers", hoverinfo: "skip",
    marker: {size: 11, color: tone("card"), line: {color: method.color, width: 2.5}}};
  const here = {name: "this gamma", x: [none.U], y: [none.S], mode: "markers", hoverinfo: "skip",
    marker: {size: 15, color: method.color, line: {color: tone("card"), width: 2}}};
  const top = name => Math.min(101, 1.05 * Math.max(1, ...experiment.methods.map(m => Math.max(...m.explorer[name]))));
  return [[...LEVELS.map(equalH), ...others, own, open, here], layout({
    annotations: LEVELS.map(H => ({x: H, y: H, text: "H " + H, showarrow: false, font: {size: 10, color: tone("soft")}})),
    xaxis: axis("accuracy on unseen samples, U (%)", {range: [0, top("unseen")], showgrid: false}),
    yaxis: axis("accuracy on seen samples, S (%)", {range: [0, top("seen")], showgrid: false})})];
}

// The outermost segments reach to infinity: they are drawn up to their own gamma.
function overChart(experiment, method) {
  const curve = method.explorer, last = curve.gammas.length - 1;
  const ends = [curve.gammas[0], ...curve.breakpoints, curve.gammas[last]];
  const h = curve.unseen.map((u, k) => harmonic(u, curve.seen[k]));
  const steps = (name, values, color) => line(name, ends, [...values, values[last]], color,
    {line: {shape: "hv", color: color, width: 2}, hovertemplate: "%{y:.1f} %<extra>" + name + "</extra>"});
  return [[steps("unseen, U", curve.unseen, tone("unseen")), steps("seen, S", curve.seen, tone("seen")),
    steps("H", h, tone("h"))], layout({hovermode: "x", shapes: [gammaLine(0)],
    xaxis: axis("gamma"), yaxis: axis("accuracy (%)", {rangemode: "tozero"})})];
}

function gammaLine(gamma) {
  return {type: "line", x0: gamma, x1: gamma, yref: "paper", y0: 0, y1: 1, line: {color: tone("ink"), width: 1.5}};
}

const LOG = {type: "log", exponentformat: "power", dtick: 1};

// The paper's Fig. 1: validation accuracies against lambda with both optima.
function selectionChart(experiment, method) {
  const figure = method.selection;
  if (!figure) return null;
  const optimum = (x, color, text, side) => ({type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1,
    line: {color: color, width: 1.5, dash: "dot"}, label: {text: text, textposition: "start", textangle: 0,
      xanchor: side, font: {color: color, size: 12}}});
  const more = {mode: "lines+markers", marker: {size: 6}};
  return [[line("unseen among unseen", figure.x, figure.zsl, tone("unseen"), more),
    line("seen among seen", figure.x, figure.seen, tone("seen"), more), line("best H", figure.x, figure.h, tone("h"), more)],
    layout({shapes: [optimum(figure.best_zsl, tone("unseen"), "ZSL ", "right"), optimum(figure.best, tone("h"), " GZSL", "left")], hovermode: "x",
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

// The paper's Fig. 2: the samples of each class by part.
function splitChart(experiment, method, fold) {
  const figure = experiment.splits.folds[fold], names = figure.order.map(c => experiment.classes.names[c]);
  const traces = Object.entries(experiment.splits.names).map(([part, name]) => ({type: "bar", name: name,
    x: figure.order.map((_, i) => i), y: figure.parts[part], customdata: names, marker: {color: experiment.splits.colors[part]},
    hovertemplate: "%{customdata}: %{y}<extra>" + name + "</extra>"}));
  const look = layout({barmode: "stack", bargap: names.length > 60 ? 0 : 0.15,
    xaxis: axis("classes", {showticklabels: false, showgrid: false}), yaxis: axis("samples")});
  look.legend.traceorder = "normal";
  return [traces, look];
}

const CHARTS = {gain: gainChart, trade: tradeChart, over: overChart, selection: selectionChart, error: errorChart,
  splits: splitChart};
