"""Add the page of a model of the letters to the site: describe a letter, draw it, see it recognized."""

from __future__ import annotations

from typing import Any

import numpy as np
from mkdocs.structure.files import File, Files

from unseen import LDA, GZSLClassifierCV
from unseen.datasets import load_dataset
from unseen.datasets.prototypes import Prototypes
from unseen.datasets.splits import make_split
from unseen.report.model_page import describe_model, render_model_page
from unseen.report.thumbnails import find_pixels

PAGE = "letters_model.html"


def on_files(files: Files, config: Any) -> Files:
    """Fit the model and add its page; called by mkdocs once it knows all files."""
    files.append(File.generated(config, PAGE, content=make_page()))
    return files


def make_page() -> str:
    """Return the page of a model that has seen twenty letters and knows the other six by description."""
    data = load_dataset("letters")
    split, names = make_split(data), np.array(data.class_names)
    S = Prototypes(names, data.attribute_names or (), data.prototypes)
    model = GZSLClassifierCV(LDA(S, normalize="sqrt"), [{}], cv=split.cv())
    model.fit(data.X[split.train], names[data.y[split.train]])
    return render_model_page(describe_model(model, "letters", data, find_pixels(data.X)))
