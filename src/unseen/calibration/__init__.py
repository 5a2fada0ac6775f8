"""Seen against unseen: accuracies, the exact curve over gamma, calibrated classifiers, score files."""
