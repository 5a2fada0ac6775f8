"""The documents of a bench, typed: what was measured on, what a run gave, the summary over its seeds.

The store keeps them as JSON and ``unseen bench --json`` prints them, so their keys are a file format.
Accuracies and H are in percent, AUSUC goes from 0 to 1. "The model" of a run is the one retrained with
lambda_GZSL; classes are counted as in the data set.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

from unseen._core.labels import Kind
from unseen.metrics import Averaging

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
PlainParams: TypeAlias = dict[str, JSON]

# The three ways in which the paper applies a model to seen and unseen classes together.
Step = Literal["none", "calibrated", "calibrated+lambda"]
STEPS: tuple[Step, ...] = ("none", "calibrated", "calibrated+lambda")

Score = Literal["zsl", Step]  # ZSL accuracy, or H with a kind of calibration


Letter = Literal["H", "U", "S"]  # harmonic mean, accuracy on unseen and on seen samples
LETTERS: tuple[Letter, ...] = ("H", "U", "S")

SplitPart = Literal["train", "seen_val", "val", "test_seen", "test"]


# ---- an experiment -----------------------------------------------------------------------------------


class PublishedPlace(TypedDict):
    """Which column of the paper an experiment belongs beside."""

    dataset: str
    split: str
    crops: int


class Description(TypedDict):
    """What an experiment measures on; the store keeps it once per experiment."""

    dataset: str
    source: str  # name or path
    features: str | None  # as the file or the user calls them
    split_dir: str | None
    split_rule: str
    normalize: str | None
    gamma: str  # the rule that carries gamma from the folds to the test
    name: str  # for people, such as "CUB, proposed split, res50"
    checksum: str
    split_checksum: str  # of the sample indices of every part
    n_samples: int
    n_features: int
    n_attributes: int
    n_classes: int
    n_unseen_classes: int
    class_names: list[str]
    unseen: list[int]  # 0 or 1 per class
    counts: dict[Literal["train", "test_seen", "test_unseen"], int]  # of samples
    folds: list[dict[SplitPart, list[int]]]  # per fold and part [samples, classes]
    class_counts: list[dict[SplitPart, list[int]]]  # per fold and part the samples of each class (Fig. 2)
    published: PublishedPlace | None


# ---- a run -------------------------------------------------------------------------------------------


class Validation(TypedDict):
    """Means over the folds, one entry per combination of parameters (the paper's Fig. 1)."""

    params: list[PlainParams]
    zsl: list[float]  # A_U->Cu
    seen: list[float]  # A_S->Cs
    h: list[float]  # the best mean H
    gamma: list[float]  # where it is reached
    best: int  # position of lambda_GZSL in these lists
    best_zsl: int  # position of lambda_ZSL


class StoredCurve(TypedDict):
    """A seen-unseen curve on test samples, per class.

    ``gamma`` holds the breakpoints; ``unseen`` and ``seen`` have one entry more: the accuracies before,
    between and after them.
    """

    gamma: list[float]
    unseen: list[float]
    seen: list[float]


class ClassTable(TypedDict):
    """By class, for the model with its gamma; None for a class without test samples."""

    samples: list[int]
    accuracy: list[float | None]
    confusion: list[int | None]  # the wrong class predicted most, None if there is none
    confused: list[float | None]  # percent of the class's samples predicted as that class
    mistakes: list[list[list[int]]]  # the most frequent wrong classes, each as [class, samples]


class ModelCurve(TypedDict):
    """One of the two retrained models on the test samples."""

    curve: StoredCurve
    flips: dict[Kind, list[float]]  # up to which gamma each sample goes to a seen class, rising
    ausuc: float  # per class


# mean squared error of predicted attributes on the first fold, by alpha (the paper's Fig. 3a)
AttributeErrors = dict[Literal["alpha", "seen", "unseen"], list[float]]
# the best gamma *on test*, its H, and what our gamma loses against it; nothing is chosen by it
Regret = dict[Literal["gamma", "H", "loss"], float]


class StoredBins(TypedDict):
    """Predictions in 15 equal bins of their probability; 0 in an empty bin. Probabilities go from 0 to 1."""

    samples: list[int]
    confidence: list[float]  # mean probability of the predictions
    accuracy: list[float]  # share of right predictions
    ece: float  # expected calibration error


class StoredReliability(TypedDict):
    """Confidence and accuracy of the predictions for test samples, by kind of sample."""

    temperature: float  # chosen on held-out samples
    before: dict[Kind, StoredBins]  # the plain softmax of the calibrated scores
    after: dict[Kind, StoredBins]  # with the temperature


class RunIdentity(TypedDict):
    """What determines a run, besides its experiment."""

    method: str
    seed: int
    version: str  # of this package
    model: PlainParams  # the method's fixed parameters
    grid: dict[str, list[JSON]]  # the values that selection tried


class Measured(TypedDict):
    """What a run measures on test samples, with the gammas that it applies."""

    gamma_zsl: float  # the calibration that goes with params_zsl
    gamma: float  # the calibration that goes with params_gzsl
    zsl: dict[Averaging, float]  # A_U->Cu with lambda_ZSL
    gzsl: dict[Step, dict[Letter, dict[Averaging, float]]]
    ausuc: dict[Averaging, float]
    curve: StoredCurve
    flips: dict[Kind, list[float]]  # up to which gamma each sample goes to a seen class, rising
    regret: dict[Step, Regret]
    zsl_model: ModelCurve | None  # of the model with lambda_ZSL, None if it is the model
    by_class: dict[Score, list[float | None]]  # accuracy of each class, besides that in ``classes``
    classes: ClassTable
    reliability: StoredReliability


class EvaluatedRun(RunIdentity, Measured):
    """Everything that one run of the protocol gives."""

    params_zsl: PlainParams
    params_gzsl: PlainParams
    validation: Validation
    attribute_error: AttributeErrors | None  # of linear-vs only
    # wall time of selection (folds and retraining), of the test and of both; processor time
    seconds: dict[Literal["selection", "test", "total", "cpu"], float]


class RunResult(EvaluatedRun):
    """What the store keeps of a run."""

    threads: int  # of the linear algebra
    warnings: list[str]  # each text once


# ---- the summary over the seeds ----------------------------------------------------------------------

# the part of a run's result that ``bench --json`` prints
PRINTED = (
    *("seed", "version", "zsl", "gzsl", "ausuc", "params_zsl", "params_gzsl", "gamma_zsl", "gamma"),
    *("regret", "seconds"),
)


class Spread(TypedDict):
    """Mean and standard deviation over the runs (divided by their number, 0 for a single run)."""

    mean: float
    std: float


class MethodSummary(TypedDict):
    """All runs of one method."""

    zsl: dict[Averaging, Spread]
    gzsl: dict[Step, dict[Letter, dict[Averaging, Spread]]]
    ausuc: dict[Averaging, Spread]
    regret: dict[Step, Spread]
    params_zsl: PlainParams  # of the first seed
    params_gzsl: PlainParams
    gamma: float  # mean over the seeds
    seconds: float  # sum over the seeds
    runs: list[RunResult]  # with the entries of PRINTED alone


class Summary(TypedDict):
    """What ``unseen bench --json`` prints for one experiment."""

    dataset: str
    experiment: Description  # without class_counts
    methods: dict[str, MethodSummary]
