// ---- the exact curve: what a gamma gives ----

// The number of entries below a value in a rising list.
function below(list, value) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] < value) low = middle + 1; else high = middle;
  }
  return low;
}

function harmonic(u, s) {
  return u + s > 0 ? 2 * u * s / (u + s) : 0;
}

// Segment k holds the gammas above breakpoints[k - 1] up to and including breakpoints[k].
function curveAt(curve, gamma) {
  const k = below(curve.breakpoints, gamma);
  return {k: k, U: curve.unseen[k], S: curve.seen[k], H: harmonic(curve.unseen[k], curve.seen[k])};
}

// How many samples are predicted as an unseen class: those whose flip lies below gamma.
function predictedUnseen(flips, gamma) {
  return Math.min(flips.total, flips.step * below(flips.gamma, gamma));
}
