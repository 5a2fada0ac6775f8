// ---- the page: charts when they come near or nothing else is to do, print; ``panels`` are what is on it ----

const panelOf = place => panels.find(panel => panel.root.contains(place));
const waiting = new Set(all("[data-chart]"));  // places without a chart yet

function drawAt(place) {
  waiting.delete(place);
  near.unobserve(place);
  panelOf(place).show(place.dataset.chart);
}

const near = new IntersectionObserver(entries =>
  entries.filter(each => each.isIntersecting).forEach(each => drawAt(each.target)), {rootMargin: "600px"});

// What is far away comes later, one chart at a time: whoever takes an image of the whole page gets all of them.
const whenIdle = window.requestIdleCallback || (work => setTimeout(work, 100));
function drawRest() {
  const [next] = waiting;
  if (!next) return;
  drawAt(next);
  whenIdle(drawRest);
}

runPacked("plotly").then(() => {
  waiting.forEach(place => near.observe(place));
  whenIdle(drawRest);
}, () => waiting.forEach(place => { place.textContent = "This browser is too old to draw; all numbers are in the tables."; }));

// Paper is white and does not scroll: draw everything, in the light colors.
let beforePrint = "light";
addEventListener("beforeprint", () => {
  beforePrint = document.documentElement.dataset.theme;
  if (window.Plotly) waiting.forEach(drawAt);
  setTheme("light");
});
addEventListener("afterprint", () => setTheme(beforePrint));
themeListeners.push(() => panels.forEach(panel => panel.refresh()));
