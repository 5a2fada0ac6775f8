"""Which unlabeled samples to label next: in turn, a sample of each new class as the model predicts them."""

from __future__ import annotations

import numpy as np

from unseen._core.blocks import BoolArray, IndexArray
from unseen._core.labels import LabelArray
from unseen.errors import UnseenError
from unseen.models.io import Model
from unseen.models.prediction import Columns, Samples, predict_tables


def suggest(model: Model, samples: Samples, n: int = 20, random_state: int = 0) -> Columns:
    """Return the samples whose labels help new classes most, with their predictions.

    The samples that are predicted as new classes are drawn at random, one of each class in turn; those that
    are predicted as seen classes come last.

    Parameters
    ----------
    model : fitted method or fitted GZSLClassifierCV
        With unseen classes.
    samples : Samples
        What ``open_samples`` returns; labels are not used.
    n : int
        How many samples to return; all if there are fewer.
    random_state : int
        Seed of the draw.

    Examples
    --------
    >>> from unseen.datasets import load_dataset
    >>> from unseen.models.prediction import open_samples
    >>> from unseen.models.training import train
    >>> model, _ = train(load_dataset("digits"), "linear-sv")
    >>> found = suggest(model, open_samples("digits"), n=3)
    >>> sorted(found["class"])
    ['3', '4', '6']
    """
    if np.all(model.seen_):
        raise UnseenError("The model has no unseen class to find samples of. Add some with unseen add-class.")
    tables = list(predict_tables(model, samples, top=1))
    columns = {name: np.concatenate([np.asarray(table[name]) for table in tables]) for name in tables[0]}
    chosen = take_turns(columns["class"], columns["kind"] == "unseen", random_state)[:n]
    return {name: column[chosen].tolist() for name, column in columns.items()}


def take_turns(predicted: LabelArray, first: BoolArray, random_state: int = 0) -> IndexArray:
    """Return all samples in a random order in which classes take turns; samples that are ``first`` lead.

    >>> order = take_turns(np.array(["a", "a", "a", "b", "c"]), np.array([True, True, True, True, False]))
    >>> np.array(["a", "a", "a", "b", "c"])[order].tolist()
    ['a', 'b', 'a', 'a', 'c']
    """
    order = np.random.default_rng(random_state).permutation(len(predicted))
    _, group = np.unique(predicted[order], return_inverse=True)
    by_group = np.argsort(group, kind="stable")
    turn = np.empty(len(order), dtype=np.intp)  # how many of its class come before a sample
    turn[by_group] = np.arange(len(order)) - np.searchsorted(group[by_group], group[by_group])
    return np.asarray(order[np.lexsort((turn, ~first[order]))])
