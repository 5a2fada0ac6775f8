"""Zero-shot and generalized zero-shot learning.

A zero-shot method turns the description of a class into one row of a linear classifier.
Calibration is a bias. Public names are imported on first use, so ``import unseen`` is fast.
"""

import lazy_loader

__version__ = "1.0.0"

# __init__.pyi names what is public and where it lives: one list for the interpreter and for type checkers
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
