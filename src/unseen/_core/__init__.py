"""What every room stands on: arrays in blocks, labels, files, parallel calls and progress."""
