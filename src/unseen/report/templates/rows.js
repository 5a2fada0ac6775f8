// ---- the row of a class from its description, as the model computes it ----

function numbers(text) {
  return new Float64Array(Uint8Array.from(atob(text), letter => letter.charCodeAt(0)).buffer);
}

// f(x, s) = k(s) . z + k(s) . b - k(s) Q k(s)' / 2 with z = mapping x, see unseen.report.try_class
class RowForm {
  constructor(data) {
    const unpacked = {seen: data.seen && numbers(data.seen), linear: numbers(data.linear), square: data.square && numbers(data.square)};
    Object.assign(this, {size: data.size, kernel: data.kernel, width: data.width}, unpacked);
  }

  // k(s)
  features(s) {
    if (!this.kernel) return Float64Array.from(s);
    const k = new Float64Array(this.size), n = s.length;
    for (let i = 0; i < this.size; i++) {
      let sum = 0;
      for (let j = 0; j < n; j++) {
        const other = this.seen[i * n + j];
        sum += this.kernel === "linear" ? s[j] * other : (s[j] - other) ** 2;
      }
      k[i] = this.kernel === "linear" ? sum : Math.exp(-sum / this.width);
    }
    return k;
  }

  // {k, intercept} of a description
  row(s) {
    const k = this.features(s);
    let intercept = 0;
    for (let i = 0; i < this.size; i++) {
      intercept += k[i] * this.linear[i];
      if (this.square) intercept -= k[i] * dot(this.square, i * this.size, k) / 2;
    }
    return {k: k, intercept: intercept};
  }
}

// The product of a vector with the part of an array that starts at a position.
function dot(array, start, vector) {
  let sum = 0;
  for (let i = 0; i < vector.length; i++) sum += array[start + i] * vector[i];
  return sum;
}
