"""The slow, literal formulas that the tests hold the library against."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

# ---- calibration: predictions counted one gamma at a time ---------------------------------------------


def gzsl_accuracies(scores, y, seen, gamma, weights):
    """A_U->C, A_S->C and H of one gamma, from the predictions themselves."""
    right = {True: {}, False: {}}  # seen? -> class -> hits
    for row, label in zip(scores.astype(float), y, strict=True):
        hit = predict_calibrated(row, seen, gamma) == label
        right[bool(seen[label])].setdefault(label if weights == "per-class" else 0, []).append(hit)
    U, S = (
        100 * sum(Fraction(sum(hits), len(hits)) for hits in right[side].values()) / len(right[side])
        for side in (False, True)
    )
    return float(U), float(S), float(2 * U * S / (U + S)) if U + S else 0.0


def predict_calibrated(row, seen, gamma):
    """The class of one sample: the best seen one unless an unseen one beats it by more than -gamma."""
    allowed = [c for c in range(len(row)) if row[c] > -math.inf]
    best_seen = max((c for c in allowed if seen[c]), key=lambda c: row[c], default=None)
    best_unseen = max((c for c in allowed if not seen[c]), key=lambda c: row[c], default=None)
    if gamma == -math.inf or (best_unseen is None and gamma < math.inf):
        return best_seen
    if gamma == math.inf or best_seen is None:
        return best_unseen
    # f(x, c) - gamma 1[c seen]; a tie goes to the seen class
    return best_seen if row[best_seen] - gamma >= row[best_unseen] else best_unseen


def seen_unseen_curve(scores, y, seen, weights):
    """The best H, all intervals of gamma that reach it, and the area under the curve."""
    pairs = {
        float(a) - float(b)
        for row in scores
        for a in row[seen]
        for b in row[~seen]
        if math.isfinite(a) and math.isfinite(b)
    }
    cuts = [-math.inf, *sorted(pairs), math.inf]
    ends = [(low, high) for low, high in itertools.pairwise(cuts)]
    inside = [inner_point(low, high) for low, high in ends]
    points = [gzsl_accuracies(scores, y, seen, gamma, weights) for gamma in inside]
    best = max(H for _, _, H in points)
    intervals = [end for end, point in zip(ends, points, strict=True) if point[2] >= best - 1e-12]
    first, last = (gzsl_accuracies(scores, y, seen, gamma, weights) for gamma in (-math.inf, math.inf))
    path = [first, *points, last]
    area = sum((u2 - u1) * (s1 + s2) / 2 for (u1, s1, _), (u2, s2, _) in itertools.pairwise(path))
    return best, intervals, area / 10_000


def inner_point(low, high):
    """Any number strictly between two cuts."""
    if math.isinf(low):
        return 0.0 if math.isinf(high) else high - 1
    return low + 1 if math.isinf(high) else (low + high) / 2


# ---- pictures: every crop cut and mirrored by hand -------------------------------------------------------


def crops_of_picture(file, resize, size, crops, mean, std):
    """The crops of a picture as the paper describes them, channel by channel."""
    import numpy as np
    from PIL import Image, ImageOps

    picture = Image.open(file).convert("RGB").resize((resize, resize), Image.Resampling.BILINEAR)
    far, middle = resize - size, (resize - size) // 2
    places = [(0, 0), (far, 0), (0, far), (far, far), (middle, middle)] if crops == 10 else [(middle, middle)]
    cut = [picture.crop((left, top, left + size, top + size)) for left, top in places]
    if crops == 10:
        cut += [ImageOps.mirror(crop) for crop in cut]
    return [
        [(np.array(crop.getchannel(c)) / 255 - mean[c]) / std[c] for c in range(3)] for crop in cut
    ]  # (crops, 3, size, size)
