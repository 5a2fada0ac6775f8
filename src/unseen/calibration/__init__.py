"""The seen-unseen trade-off: the exact curve over gamma, calibrated classifiers, score files."""
