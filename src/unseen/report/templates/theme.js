// ---- light and dark: as the system has it, until the button is pressed ----

const themeListeners = [];  // called when the colors have changed

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  document.getElementById("theme").textContent = name === "dark" ? "Light" : "Dark";
  themeListeners.forEach(listener => listener());
}

const darkPage = matchMedia("(prefers-color-scheme: dark)");
const ownTheme = () => darkPage.matches ? "dark" : "light";
darkPage.addEventListener("change", () => setTheme(ownTheme()));
document.getElementById("theme").addEventListener("click", () =>
  setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
setTheme(ownTheme());
