// ---- a drawn image: what the model sees of it, and its scores ----

class Recognizer {
  constructor(drawing, form) {
    Object.assign(this, drawing, {form: form, coef: numbers(drawing.coef), intercept: numbers(drawing.intercept),
      mapping: numbers(drawing.mapping), offset: numbers(drawing.offset)});
  }

  // Features as the classifier takes them.
  scale(x) {
    if (this.normalize !== "l2" && this.normalize !== "sqrt") return x;
    const root = this.normalize === "sqrt" ? x.map(value => Math.sign(value) * Math.sqrt(Math.abs(value))) : x;
    const length = Math.hypot(...root);
    return length > 0 ? root.map(value => value / length) : root;
  }

  // The scores of all classes without calibration, and that of a described class.
  scores(x, row) {
    const scaled = this.scale(x), n = scaled.length;
    const scores = Array.from(this.intercept, (b, c) => b + dot(this.coef, c * n, scaled));
    const z = row && Array.from(this.offset, (b, i) => b + dot(this.mapping, i * n, scaled));
    return {classes: scores, described: row ? dot(z, 0, row.k) + row.intercept : null};
  }
}

// The ink of a canvas: its box, stretched to the usual one and averaged into side x side pixels, 0 to 1.
function shrinkInk(pen, drawing) {
  const {width, height} = pen.canvas, alpha = pen.getImageData(0, 0, width, height).data;
  const ink = (x, y) => alpha[4 * (y * width + x) + 3] / 255;
  let [left, top, right, bottom] = [width, height, 0, 0];
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) if (ink(x, y) > .5) {
    left = Math.min(left, x); top = Math.min(top, y); right = Math.max(right, x + 1); bottom = Math.max(bottom, y + 1);
  }
  if (left >= right) return null;
  // As tall as usual; a narrow character is widened by a factor of two at most.
  const [tall, broad] = drawing.box, side = drawing.side, wide = right - left, high = bottom - top;
  const shrink = Math.min(tall / high, side / Math.max(wide, high) * (tall / side)), rows = high * shrink;
  const columns = Math.max(1, Math.min(Math.max(broad, wide * shrink), 2 * wide * shrink, side));
  return averageInto(ink, {left, top, wide, high}, {rows, columns, side});
}

// Average the ink in a box into a centered part of a small image.
function averageInto(ink, box, size) {
  const image = new Float64Array(size.side ** 2), count = new Float64Array(size.side ** 2);
  const up = (size.side - size.rows) / 2, over = (size.side - size.columns) / 2, steps = 4;  // points along each side of a small pixel
  for (let row = 0; row < size.side * steps; row++) for (let column = 0; column < size.side * steps; column++) {
    const y = ((row + .5) / steps - up) / size.rows, x = ((column + .5) / steps - over) / size.columns;
    const at = Math.floor(row / steps) * size.side + Math.floor(column / steps);
    count[at] += 1;
    if (x >= 0 && x < 1 && y >= 0 && y < 1) image[at] += ink(Math.floor(box.left + x * box.wide), Math.floor(box.top + y * box.high));
  }
  return image.map((sum, i) => sum / count[i]);
}

class Drawing {
  // changed: called when there is another image, with its features, or null
  constructor(root, drawing, changed) {
    this.canvas = root.querySelector("[data-out=canvas]");
    this.pen = this.canvas.getContext("2d", {willReadFrequently: true});
    this.small = root.querySelector("[data-out=small]");
    Object.assign(this, {drawing: drawing, changed: changed, x: null});
    root.querySelector("[data-in=clear]").addEventListener("click", () => this.clear());
    this.listen();
  }

  listen() {
    const place = event => {
      const box = this.canvas.getBoundingClientRect();
      return [(event.clientX - box.left) * this.canvas.width / box.width, (event.clientY - box.top) * this.canvas.height / box.height];
    };
    this.canvas.addEventListener("pointerdown", event => {
      this.canvas.setPointerCapture(event.pointerId);
      this.last = place(event);
      this.line(this.last);
      event.preventDefault();
    });
    this.canvas.addEventListener("pointermove", event => { if (this.last) this.line(place(event)); });
    for (const name of ["pointerup", "pointercancel"]) this.canvas.addEventListener(name, () => { this.last = null; });
  }

  line(to) {
    const pen = this.pen;
    Object.assign(pen, {lineWidth: this.canvas.width / 9, lineCap: "round", lineJoin: "round", strokeStyle: "#000"});
    pen.beginPath();
    pen.moveTo(...this.last);
    pen.lineTo(to[0] + .01, to[1]);
    pen.stroke();
    this.last = to;
    this.read();
  }

  clear() {
    this.pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.read();
  }

  read() {
    const ink = shrinkInk(this.pen, this.drawing), {side, high, inverted} = this.drawing;
    const pen = this.small.getContext("2d"), image = pen.createImageData(side, side);
    if (ink) ink.forEach((value, i) => image.data.set([0, 0, 0, Math.round(255 * value)], 4 * i));
    pen.putImageData(image, 0, 0);
    this.x = ink && ink.map(value => high * (inverted ? 1 - value : value));
    this.changed(this.x);
  }
}
