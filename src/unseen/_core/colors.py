"""The colors that mean the same in every figure."""

# seen samples, unseen samples, their harmonic mean
SEEN, UNSEEN, HARMONIC = "#0072b2", "#d55e00", "#009e73"
# the parts of a split
PART_COLORS = {
    "train": "#8fa3b5",
    "seen_val": "#32b9ff",
    "val": "#e3a022",
    "test_seen": "#145bcf",
    "test": "#b13a00",
}
