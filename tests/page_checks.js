// What is wrong with the page: names, headings, and the contrast of text, as WCAG computes it.
function wrongNames() {
  const problems = [], all = selector => Array.from(document.querySelectorAll(selector));
  const visible = each => each.checkVisibility({checkOpacity: true, checkVisibilityCSS: true}) && each.getClientRects().length > 0;
  const name = each => (each.getAttribute("aria-label") || (each.getAttribute("aria-labelledby") || "").split(" ")
    .map(id => document.getElementById(id)?.textContent || "").join(" ") || Array.from(each.labels || [], label => label.textContent).join(" ")
    || each.textContent || each.title).trim();
  for (const each of all("button, input, select, a[href], summary, dialog[open], [role=region], canvas, [role=img]"))
    if (visible(each) && !name(each)) problems.push("no name: " + each.outerHTML.slice(0, 120));
  for (const each of all("img")) if (!each.hasAttribute("alt")) problems.push("no alt: " + each.outerHTML.slice(0, 80));
  const ids = all("[id]").map(each => each.id);
  ids.filter((id, i) => ids.indexOf(id) !== i).forEach(id => problems.push("id twice: " + id));
  for (const each of all("[aria-labelledby], [for]"))
    for (const id of (each.getAttribute("aria-labelledby") || each.getAttribute("for")).split(" "))
      if (!document.getElementById(id)) problems.push("no element " + id);
  let level = 0;
  for (const each of all("main :is(h2, h3, h4, h5), h1").filter(each => visible(each) && !each.closest("dialog"))) {
    if (Number(each.tagName[1]) > level + 1) problems.push("heading skips a level: " + each.textContent);
    level = Number(each.tagName[1]);
  }
  if (document.querySelectorAll("h1, main").length !== 2) problems.push("not one h1 and one main");
  if (!document.title || document.documentElement.lang !== "en") problems.push("no title or language");
  return problems;
}

// 4.5 against the background behind it, or 3 for large text
function wrongContrast() {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const parse = color => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255]; };
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3]));
  const light = color => color.slice(0, 3).map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const behind = each => { const layers = [];
    for (let at = each; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]); };
  const top = document.querySelector("dialog[open]") || document.body, problems = new Set();
  for (const each of top.querySelectorAll("*")) {
    const own = Array.from(each.childNodes).some(node => node.nodeType === 3 && node.textContent.trim());
    if (!own || !each.checkVisibility({checkOpacity: true, checkVisibilityCSS: true}) || each.closest("svg, script, option, .visually-hidden, .skip, :disabled")) continue;
    if (!each.getClientRects().length) continue;
    const style = getComputedStyle(each), background = behind(each), text = over(parse(style.color), background);
    const [a, b] = [light(text), light(background)].sort((x, y) => y - x), ratio = (a + .05) / (b + .05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.6 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) problems.add(`${ratio.toFixed(2)}: ${each.tagName}.${each.className} ${each.textContent.trim().slice(0, 40)}`);
  }
  return Array.from(problems);
}
