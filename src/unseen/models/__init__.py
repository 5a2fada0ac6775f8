"""From a data set to a model file and its card, to predictions and to exported layers."""
