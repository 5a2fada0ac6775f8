"""The slow, literal formulas that the tests hold the library against."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import scipy.linalg

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


def subtracted_accuracies(scores, y, seen, gamma, weights):
    """A_U->C, A_S->C and H once gamma is really subtracted, in the type of the scores, and argmax decides."""
    biased = scores.copy()
    biased[:, seen] -= scores.dtype.type(gamma)
    hit = (biased.argmax(axis=1) == y).astype(float)
    groups = y if weights == "per-class" else seen[y]
    U, S = (
        100 * np.mean([hit[groups == g].mean() for g in np.unique(groups[side])])
        for side in (~seen[y], seen[y])
    )
    return U, S, 2 * U * S / (U + S) if U + S else 0.0


def openworld_auc(scores, y, seen):
    """Pairs (seen, unseen sample): both right among their own classes, and the seen one ranked higher."""
    rank, right = [], []
    for row, label in zip(scores.astype(float), y, strict=True):
        rank.append(row[seen].max() - row[~seen].max())
        side = np.flatnonzero(seen == seen[label])
        right.append(side[row[side].argmax()] == label)
    pairs = [(s, u) for s in range(len(y)) for u in range(len(y)) if seen[y[s]] and not seen[y[u]]]
    wins = [right[s] * right[u] * ((rank[s] > rank[u]) + 0.5 * (rank[s] == rank[u])) for s, u in pairs]
    return sum(wins) / len(pairs)


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


# ---- images: every crop cut and mirrored by hand ---------------------------------------------------------


def crops_of_image(file, resize, size, crops, mean, std):
    """The crops of an image as the paper describes them, channel by channel."""
    import numpy as np
    from PIL import Image, ImageOps

    image = Image.open(file).convert("RGB").resize((resize, resize), Image.Resampling.BILINEAR)
    far, middle = resize - size, (resize - size) // 2
    places = [(0, 0), (far, 0), (0, far), (far, far), (middle, middle)] if crops == 10 else [(middle, middle)]
    cut = [image.crop((left, top, left + size, top + size)) for left, top in places]
    if crops == 10:
        cut += [ImageOps.mirror(crop) for crop in cut]
    return [
        [(np.array(crop.getchannel(c)) / 255 - mean[c]) / std[c] for c in range(3)] for crop in cut
    ]  # (crops, 3, size, size)


def clip_pixels(file, config):
    """One image as CLIP's own preprocessing makes it: shorter side, bicubic, center, mean and std."""
    import numpy as np
    from PIL import Image

    image = Image.open(file).convert("RGB")
    width, height = image.size
    side, size = config["size"]["shortest_edge"], config["crop_size"]["height"]
    if width < height:
        image = image.resize((side, int(side * height / width)), Image.Resampling.BICUBIC)
    else:
        image = image.resize((int(side * width / height), side), Image.Resampling.BICUBIC)
    left, top = (image.width - size) // 2, (image.height - size) // 2
    pixels = np.array(image)[top : top + size, left : left + size] / 255
    pixels = (pixels - np.array(config["image_mean"])) / np.array(config["image_std"])
    return pixels.transpose(2, 0, 1)  # (3, size, size)


def clip_image_embedding(pixels, kernels, projection):
    """Patch by patch: tanh of the products with the kernels, then one projection."""
    import numpy as np

    side = pixels.shape[1] // 4
    units = np.zeros((len(kernels), side, side))
    for k, kernel in enumerate(kernels):
        for i in range(side):
            for j in range(side):
                patch = pixels[:, 4 * i : 4 * i + 4, 4 * j : 4 * j + 4]
                units[k, i, j] = math.tanh((patch * kernel).sum())
    return units.ravel() @ projection


def clip_text_embedding(ids, tokens, positions):
    """Mean over tokens of tanh(token + position)."""
    import numpy as np

    return np.mean([np.tanh(tokens[i] + positions[place]) for place, i in enumerate(ids)], axis=0)


def all_operating_points(scores, y, seen, weights):
    """(U, S, H) on both sides of, and at, every difference between a seen and an unseen score."""
    cuts = {float(a) - float(b) for row in scores for a in row[seen] for b in row[~seen]}
    finite = sorted(cut for cut in cuts if math.isfinite(cut))
    ends = itertools.pairwise([-math.inf, *finite, math.inf])
    return [gzsl_accuracies(scores, y, seen, inner_point(*end), weights) for end in ends]


def best_value(points, goal, wanted):
    """The best of what a goal asks for, or None where no point meets its condition."""
    if goal == "unseen_share":
        return max((wanted * U + (100 - wanted) * S) / 100 for U, S, _ in points)
    if goal == "min_seen":
        return max((U for U, S, _ in points if wanted - 1e-9 <= S), default=None)
    return max((S for U, S, _ in points if wanted - 1e-9 <= U), default=None)


# ---- closed-form methods: one explicit matrix formula per method and alpha ------------------------------


def one_hot(y, n_classes):
    """Y (samples, classes) with 1 at the right class."""
    return np.eye(n_classes)[y]


def linear_vs(X, y, S, alpha):
    """W = T'X (X'X + alpha N I)^-1, (attributes, features)."""
    T = S[y]
    return np.linalg.solve(X.T @ X + alpha * len(X) * np.eye(X.shape[1]), X.T @ T).T


def linear_sv(X, y, S, alpha):
    """W = (T'T + alpha N I)^-1 T'X, (attributes, features)."""
    T = S[y]
    return np.linalg.solve(T.T @ T + alpha * len(X) * np.eye(S.shape[1]), T.T @ X)


def eszsl(X, y, S, alpha, beta, targets):
    """V' with V = (X'X + alpha I)^-1 X'Y S (S'S + beta I)^-1, (attributes, features)."""
    Y = one_hot(y, len(S)) if targets == "01" else 2 * one_hot(y, len(S)) - 1
    left = np.linalg.inv(X.T @ X + alpha * np.eye(X.shape[1]))
    right = np.linalg.inv(S.T @ S + beta * np.eye(S.shape[1]))
    return (left @ X.T @ Y @ S @ right).T


def sae(X, y, S, alpha):
    """W of T'T W + alpha W X'X = (1 + alpha) T'X, by SciPy's general Sylvester solver."""
    T = S[y]
    return scipy.linalg.solve_sylvester(T.T @ T, alpha * X.T @ X, (1 + alpha) * T.T @ X)


def lda_scores(X, y, S, seen, alpha, rho, k, X_new):
    """Scores of X_new for all classes: log densities of Gaussians around predicted means, no tricks."""
    center = X.mean(axis=0)
    means = np.array([X[y == c].mean(axis=0) for c in seen])
    K = np.array([[k(S[a], S[b]) for b in seen] for a in seen])
    weights = np.linalg.inv(K + alpha * np.eye(len(seen))) @ (means - center)
    mu = center + np.array([[k(s, S[b]) for b in seen] for s in S]) @ weights  # (classes, features)
    return gaussian_scores(X, y, seen, rho, mu, X_new)


def gaussian_scores(X, y, seen, rho, mu, X_new):
    """Log densities of Gaussians around mu with one shrunken covariance, what all classes share left out."""
    center, D = X.mean(axis=0), X.shape[1]
    means = {c: X[y == c].mean(axis=0) for c in seen}
    sigma = sum(np.outer(x - means[c], x - means[c]) for x, c in zip(X, y)) / len(X)
    P = np.linalg.inv((1 - rho) * sigma + rho * np.trace(sigma) / D * np.eye(D))
    return np.array([[z @ P @ m - m @ P @ m / 2 for m in mu - center] for z in X_new - center])


def centered_texts(S, seen):
    """Texts minus the mean of the seen ones, divided by their mean length."""
    S = S / np.mean([np.linalg.norm(S[c]) for c in seen])
    return S - np.mean([S[c] for c in seen], axis=0)


def anchored_means(X, y, S, seen, alpha):
    """Means of all classes from their texts: gap removed, one scale, a linear ridge on what is left."""
    T = centered_texts(S, seen)
    means = np.array([X[y == c].mean(axis=0) for c in seen])
    M, T_seen = means - means.mean(axis=0), T[list(seen)]
    b = np.sum(M * T_seen) / np.sum(T_seen * T_seen)
    weights = np.linalg.inv(T_seen @ T_seen.T + alpha * np.eye(len(M))) @ (M - b * T_seen)
    return means.mean(axis=0) + b * T + T @ T_seen.T @ weights


def means_with_own_samples(X, y, S, seen, alpha, k, kappa):
    """Means of all classes: what the regression predicts, and for seen ones also their samples."""
    center = X.mean(axis=0)
    means = np.array([X[y == c].mean(axis=0) - center for c in seen])
    K = np.array([[k(S[a], S[b]) for b in seen] for a in seen])
    weights = np.linalg.inv(K + alpha * np.eye(len(means))) @ means
    mu = center + np.array([[k(s, S[b]) for b in seen] for s in S]) @ weights
    for c in seen:
        mu[c] = mean_with_samples(mu[c], X[y == c], kappa)
    return mu


def mean_with_samples(described, samples, kappa):
    """(kappa mu(s) + sum x) / (kappa + n), one sample at a time."""
    total, n = kappa * described, 0
    for x in samples:
        total, n = total + x, n + 1
    return total / (kappa + n)


def nearest(points, centers):
    """Index of the nearest center (squared distance) for each point, one pair at a time."""
    return np.array([np.argmin([np.sum((p - c) ** 2) for c in centers]) for p in points])


# ---- the process: every lambda, every fold, every gamma of a grid, one prediction at a time -------------


def fold_scores(make, X, y, fold):
    """Scores, labels and seen mask of one fold; columns are the classes of the fold in order."""
    train, validation = fold
    labels = sorted(set(y[train]) | set(y[validation]))
    scores = make().fit(X[train], y[train]).similarity(X[validation])[:, labels]
    index = np.array([labels.index(c) for c in y[validation]])
    return scores, index, np.array([c in set(y[train]) for c in labels])


def mean_h(make, X, y, folds, gamma):
    """Mean over the folds of the harmonic mean at one gamma."""
    return np.mean([gzsl_accuracies(*fold_scores(make, X, y, fold), gamma, "per-class")[2] for fold in folds])


def process(make, alphas, X, y, folds, grid):
    """Steps 3 and 4 of the process, gamma from a fine grid over the range of all score differences."""
    zsl, h = [], []
    for alpha in alphas:
        parts = [fold_scores(lambda a=alpha: make(a), X, y, fold) for fold in folds]
        zsl.append(np.mean([_zsl_accuracy(*part) for part in parts]))
        difference = np.concatenate([s[:, seen].max(1) - s[:, ~seen].max(1) for s, _, seen in parts])
        gammas = np.linspace(difference.min(), difference.max(), grid)
        h.append(max(np.mean([_grid_h(*part, gammas) for part in parts], axis=0)))
    return {"zsl": zsl, "h": h, "alpha_zsl": alphas[int(np.argmax(zsl))]}


def _zsl_accuracy(scores, y, seen):
    unseen = np.flatnonzero(~seen)
    predicted = unseen[scores[:, unseen].argmax(1)]
    return np.mean([100 * np.mean(predicted[y == c] == c) for c in unseen if (y == c).any()])


def _grid_h(scores, y, seen, gammas):
    values = []
    for gamma in gammas:
        hit = (scores - gamma * seen).argmax(1) == y
        U, S = (
            100 * np.mean([hit[y == c].mean() for c in np.unique(y) if seen[c] == side])
            for side in (False, True)
        )
        values.append(2 * U * S / (U + S) if U + S else 0.0)
    return np.array(values)


# ---- the retention rule: every retention, every gamma, one prediction at a time --------------------------


def seen_accuracy(scores, y, seen, gamma):
    """A_S->C at one gamma, per class; gamma = -inf leaves only the seen classes."""
    hits = {}
    for row, label in zip(scores, y, strict=True):
        if seen[label]:
            hits.setdefault(label, []).append(predict_calibrated(row, seen, gamma) == label)
    return 100 * np.mean([np.mean(values) for values in hits.values()])


def unseen_accuracy(scores, y, seen, gamma):
    """A_U->C at one gamma, per class."""
    hits = {}
    for row, label in zip(scores, y, strict=True):
        if not seen[label]:
            hits.setdefault(label, []).append(predict_calibrated(row, seen, gamma) == label)
    return 100 * np.mean([np.mean(values) for values in hits.values()])


def gamma_at_retention(scores, y, seen, share):
    """Where right seen samples keep a share of their weight; each flip stands for the middle of its rise."""
    of_seen = [label for label in y if seen[label]]
    rises = []
    for row, label in zip(scores, y, strict=True):
        if seen[label] and predict_calibrated(row, seen, -math.inf) == label:
            weight = 1 / (len(set(of_seen)) * of_seen.count(label))
            rises.append((float(row[seen].max() - row[~seen].max()), weight))
    rises.sort()
    total = sum(weight for _, weight in rises)
    before, points = 0.0, []
    for d, weight in rises:
        points.append(((before + weight / 2) / total, d))
        before += weight
    lost = 1 - share
    if lost <= points[0][0]:
        return points[0][1]
    for (a, low), (b, high) in itertools.pairwise(points):
        if a <= lost <= b:
            return low + (high - low) * (lost - a) / (b - a)
    return points[-1][1]


def expected_h(rehearsals, cross_fitted, share):
    """The mean over rehearsals of H(U_f(r), r A), which r* maximizes.

    ``rehearsals`` and ``cross_fitted`` are (scores, y, seen); of the latter only seen samples count.
    """
    S = share * seen_accuracy(*cross_fitted, -math.inf)
    found = []
    for part in rehearsals:
        U = unseen_accuracy(*part, gamma_at_retention(*part, share))
        found.append(2 * U * S / max(U + S, 1e-300))
    return np.mean(found)


def rehearsal_scores(make, X, y, fold, n_classes):
    """Scores, labels, seen mask of a rehearsal: held-out classes replace an equal number of unseen ones."""
    train, held = fold
    absent = [c for c in range(n_classes) if c not in set(y[train]) | set(y[held])]
    n_replaced = len(set(y[held]) - set(y[train]))
    rng = np.random.Generator(np.random.PCG64(0))  # as the library draws, whatever seed tests use
    replaced = rng.permutation(absent)[:n_replaced]
    labels = [c for c in range(n_classes) if c not in replaced]
    scores = make().fit(X[train], y[train]).similarity(X[held])[:, labels]
    index = np.array([labels.index(c) for c in y[held]])
    return scores, index, np.array([c in set(y[train]) for c in labels])


# ---- splits: counts of the seen test set by trying all ---------------------------------------------------


def least_miss(kinds, sizes, targets, most):
    """The smallest sum of |targets - kinds @ k| over all integers 0 <= k <= most."""
    choices = itertools.product(*(range(m + 1) for m in most))
    return min(int(np.abs(targets - kinds @ np.array(k)).sum()) for k in choices)


# ---- ranking losses: one sample at a time -----------------------------------------------------------------


def ranking_loss(name, scores, y, margins, smoothing=0.0):
    """The loss of one sample with scores (classes,), its corners rounded over a width of ``smoothing``."""
    violations = [margins[y, c] + scores[c] - scores[y] for c in range(len(scores)) if c != y]
    if name in ("sje", "sync"):
        return rounded_maximum(violations, smoothing)
    r = sum(v > 0 for v in violations)
    weight = sum(1 / i for i in range(1, r + 1)) / r if name == "ale" and r else 1.0
    return sum(rounded_hinge(v, weight, smoothing) for v in violations)


def rounded_hinge(v, weight, smoothing):
    """A hinge, weight * max(0, v); a parabola where that would turn within ``smoothing * weight``."""
    if 0 < v < smoothing * weight:
        return v**2 / (2 * smoothing)
    return weight * max(0.0, v) - (smoothing * weight**2 / 2 if v > 0 else 0.0)


def rounded_maximum(violations, smoothing):
    """max(0, v_1, ...); with smoothing the largest <u, v> - smoothing/2 <u, u> for u >= 0, sum(u) <= 1."""
    v = np.array(violations)
    if smoothing == 0:
        return max(0.0, v.max())
    low, high = 0.0, max(0.0, v.max())
    for _ in range(100):  # the price t of the sum: u = max(0, v - t) / smoothing
        t = (low + high) / 2
        low, high = (t, high) if np.maximum(v - t, 0).sum() > smoothing else (low, t)
    u = np.maximum(v - high, 0) / smoothing
    return u @ v - smoothing / 2 * u @ u
