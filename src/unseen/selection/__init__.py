"""The process of the paper: choose lambda and gamma on held-out classes, retrain, predict calibrated."""
