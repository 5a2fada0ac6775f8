// ---- the page: charts when they come near, light and dark, print; ``panels`` are what is on it ----

const panelOf = place => panels.find(panel => panel.root.contains(place));

const near = new IntersectionObserver(entries => {
  for (const entry of entries.filter(each => each.isIntersecting)) {
    near.unobserve(entry.target);
    panelOf(entry.target).show(entry.target.dataset.chart);
  }
}, {rootMargin: "600px"});
runPacked("plotly").then(() => all("[data-chart]").forEach(place => near.observe(place)), () =>
  all("[data-chart]").forEach(place => { place.textContent = "This browser is too old to draw; all numbers are in the tables."; }));

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  document.getElementById("theme").textContent = name === "dark" ? "Light" : "Dark";
  panels.forEach(panel => panel.refresh());
}

const darkPage = matchMedia("(prefers-color-scheme: dark)");
const ownTheme = () => darkPage.matches ? "dark" : "light";
darkPage.addEventListener("change", () => setTheme(ownTheme()));
document.getElementById("theme").addEventListener("click", () =>
  setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));

// Paper is white and does not scroll: draw everything, in the light colors.
let beforePrint = "light";
addEventListener("beforeprint", () => {
  beforePrint = document.documentElement.dataset.theme;
  if (window.Plotly) all("[data-chart]").forEach(place => panelOf(place).show(place.dataset.chart));
  setTheme("light");
});
addEventListener("afterprint", () => setTheme(beforePrint));
setTheme(ownTheme());
