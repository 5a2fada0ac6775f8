"""Helpers that every other package uses: arrays in blocks, labels, files, parallel calls and progress."""
