"use strict";
const DATA = JSON.parse(document.getElementById("data").textContent);
const all = (selector, root) => Array.from((root || document).querySelectorAll(selector));
const percent = value => value.toFixed(1);
const number = gamma => String(Number(gamma.toPrecision(6)));

// The colors of the page, as the style sheet has them at this moment.
function tone(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

// A small text for people who cannot see what a button did.
function say(text) {
  document.getElementById("said").textContent = text;
}

// A script that travels compressed; the content security policy knows the hash of what comes out.
async function runPacked(id) {
  const packed = Uint8Array.from(atob(document.getElementById(id).textContent), letter => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  document.head.append(element("script", await new Response(stream).text()));
}

function element(tag, text, attributes) {
  const made = document.createElement(tag);
  if (text !== undefined && text !== null) made.textContent = text;
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  return made;
}
