"""The paper's experiments as a command: protocol, store, runner, tables beside the published numbers."""

# the three ways the paper applies a model to seen and unseen classes together
CALIBRATIONS = ("none", "calibrated", "calibrated+lambda")
