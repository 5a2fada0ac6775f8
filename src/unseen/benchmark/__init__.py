"""The paper's experiments: the protocol, a store of its results, and tables beside the published numbers."""
