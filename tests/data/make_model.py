"""Write the example file of the present format version; the files of older versions stay as they are.

Run once when ``unseen.models.io.VERSION`` goes up: ``python tests/data/make_model.py``.
"""

import json
from pathlib import Path

import numpy as np

from unseen import GZSLClassifierCV, LinearSV
from unseen.datasets.prototypes import Prototypes
from unseen.models.io import VERSION, save

rng = np.random.default_rng(VERSION)
names = np.array(["jay", "owl", "tit", "wren", "rook", "swan", "kite"])
S = rng.normal(size=(7, 3))
y = np.repeat(np.arange(5), 12)  # swan and kite are unseen
X = S[y] @ rng.normal(size=(3, 4)) + 0.5 * rng.normal(size=(60, 4))
model = GZSLClassifierCV(LinearSV(Prototypes(names, (), S)), {"alpha": [0.01, 1.0]}).fit(X, names[y])
card = {"data": "seven birds", "attributes": ["a", "b", "c"]}
path = Path(__file__).parent / f"model-v{VERSION}.safetensors"
save(model, path, card=card)
scores = model.similarity(X[::12])
expected = {"classes": names.tolist(), "X": X[::12].tolist(), "scores": scores.tolist(), "card": card}
path.with_suffix(".json").write_text(json.dumps(expected, indent=1) + "\n")
