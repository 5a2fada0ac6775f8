"""Every format gives the same data set; every broken file gives one clear error."""

from __future__ import annotations

import hashlib
import pickle
import struct
import subprocess
import sys
import textwrap
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
import scipy.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import small_data as small
from conftest import ROOT
from unseen.datasets import EMBEDDED, ZeroShotDataset, load_dataset
from unseen.datasets.dataset import as_features, check_finite
from unseen.datasets.digits import DISPLAY, UNSEEN_DIGITS
from unseen.datasets.splits import make_split
from unseen.errors import UnseenError


def refused(match: str, *arguments, **options):
    with pytest.raises(UnseenError, match=match):
        load_dataset(*arguments, **options)


# ---- embedded data ------------------------------------------------------------------------------------


def test_digits_are_described_by_segments():
    data = load_dataset("digits")
    assert data.X.shape == (1797, 64)
    assert data.class_names == tuple("0123456789")
    assert len(data.attribute_names) == data.prototypes.shape[1] == 7
    # eight lights all segments, one and seven differ in the top bar alone
    assert data.prototypes[8].all()
    differ = np.flatnonzero(data.prototypes[1] != data.prototypes[7])
    assert [data.attribute_names[i] for i in differ] == ["top"]


def test_unseen_digits_follow_from_the_descriptions():
    """Seen prototypes have full rank, and unseen ones differ in at least three segments."""
    data = load_dataset("digits")
    assert np.linalg.matrix_rank(data.prototypes[data.seen]) == 7
    for a in UNSEEN_DIGITS:
        for b in UNSEEN_DIGITS:
            assert a == b or len(set(DISPLAY[str(a)]) ^ set(DISPLAY[str(b)])) >= 3


def test_synthetic_has_the_sizes_asked_for_and_repeats():
    sizes = {"n_samples": 123, "n_features": 7, "n_classes": 9, "n_attributes": 5}
    first, again, other = (load_dataset("synthetic", **sizes, random_state=s) for s in (3, 3, 4))
    assert first.X.shape == (123, 7) and first.prototypes.shape == (9, 5)
    assert first.X.dtype == np.float32
    assert np.array_equal(first.X, again.X) and first.checksum == again.checksum
    assert not np.array_equal(first.X, other.X) and first.checksum != other.checksum
    assert set(np.unique(first.y)) == set(range(9))


def test_synthetic_truth_is_the_best_regression():
    """With very many classes least squares finds the true mapping and the true residual variance."""
    data = load_dataset("synthetic", n_samples=60_000, n_features=12, n_classes=12_000, n_attributes=6)
    T = data.prototypes[data.y]
    found = np.linalg.lstsq(data.X.astype(float), T, rcond=None)[0]
    truth = data.truth.regression()
    assert np.abs(found - truth).max() < 0.03
    residual = (T - data.X @ truth).var(axis=0)
    np.testing.assert_allclose(residual, data.truth.residual_variance(), rtol=0.05)


@pytest.mark.parametrize("name", ["n_samples", "n_features", "n_classes", "n_attributes"])
def test_synthetic_refuses_impossible_sizes(name):
    refused(f"Got {name}=0", "synthetic", **{name: 0})


# ---- all formats give the same data -------------------------------------------------------------------


@pytest.fixture(params=["npz", "folder", "xlsa17", "xlsa17 v7.3"])
def in_format(request, tmp_path):
    writers = {
        "npz": lambda: small.write_npz(tmp_path / "own.npz"),
        "folder": lambda: small.write_folder(tmp_path / "own"),
        "xlsa17": lambda: small.write_xlsa17(tmp_path / "BIRDS"),
        "xlsa17 v7.3": lambda: small.as_hdf5(small.write_xlsa17(tmp_path / "BIRDS", dtype=np.float64)),
    }
    return load_dataset(writers[request.param]())


def test_every_format_gives_the_same_data(in_format):
    X, y, S = small.arrays()
    np.testing.assert_array_equal(in_format.X, X)
    assert in_format.X.dtype == np.float32
    np.testing.assert_array_equal(in_format.y, y)
    np.testing.assert_allclose(in_format.prototypes, S, rtol=1e-12)
    assert in_format.class_names == small.CLASS_NAMES
    assert tuple(np.flatnonzero(in_format.unseen)) == small.UNSEEN
    assert not in_format.missing


def test_every_format_can_be_split(in_format):
    split = make_split(in_format)
    assert set(in_format.y[split.test_unseen]) == set(small.UNSEEN)
    assert len(split.train) + len(split.test_seen) == small.PER_CLASS * len(small.SEEN)


def test_checksums_are_those_of_the_files(in_format):
    for name, value in in_format.checksums.items():
        with open(name, "rb") as file:
            assert hashlib.sha256(file.read()).hexdigest() == value


def test_checksum_changes_with_what_determines_results():
    data = load_dataset("synthetic", n_samples=60, n_classes=8)
    seen = np.flatnonzero(data.seen[data.y])
    changed = [
        replace(data, X=data.X + 1),
        replace(data, prototypes=data.prototypes * 2),
        replace(data, test_seen=seen[:5]),
        replace(data, y=data.y[::-1].copy(), test_unseen=None),
    ]
    assert len({data.checksum, *(other.checksum for other in changed)}) == 5


# ---- xlsa17 as found in the wild ----------------------------------------------------------------------


def test_labels_follow_the_names_not_the_numbers_in_them(tmp_path):
    data = load_dataset(small.write_xlsa17(tmp_path / "BIRDS"))
    train, val = data.class_folds[0]
    assert [data.class_names[c] for c in val] == [small.CLASS_NAMES[c] for c in small.FOLDS[0][1]]
    assert set(train) == set(small.FOLDS[0][0])


def test_without_names_classes_are_numbered(tmp_path):
    data = load_dataset(small.write_xlsa17(tmp_path / "B", drop=["allclasses_names"]))
    assert data.class_names[:2] == ("0", "1") and data.class_folds is None
    assert len(make_split(data).folds) == 3


def test_another_folder_of_splits(tmp_path):
    folder = small.write_xlsa17(tmp_path / "BIRDS")
    other = small.write_xlsa17(tmp_path / "standard", drop=["test_seen_loc", "trainval_loc"])
    (other / "res101.mat").unlink()
    data = load_dataset(folder, split_dir=other)
    assert data.test_seen is None
    assert str(other / "att_splits.mat") in data.checksums
    assert len(make_split(data).test_seen) == 12


def test_missing_features_are_described_or_refused_with_the_download(tmp_path):
    folder = small.write_xlsa17(tmp_path / "BIRDS")
    refused(
        r"res50.mat is missing.*unseen download xlsa17, .*BIRDS/res50.mat.*--features: res101",
        folder,
        features="res50",
    )
    data = load_dataset(folder, features="res50", require_features=False)
    assert data.X is None and data.y is None
    assert data.n_samples == small.N_CLASSES * small.PER_CLASS
    assert tuple(np.flatnonzero(data.unseen)) == small.UNSEEN


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"trainval_loc": "test_seen_loc"}, r"Sample \d+ is in trainval and again in test_seen"),
        (
            {"trainval_loc": "test_unseen_loc"},
            r"trainval holds sample \d+ of class '008.bird', which is unseen",
        ),
        (
            {"test_seen_loc": "test_unseen_loc"},
            r"test_seen holds sample \d+ of class '\d+.bird', which is unseen",
        ),
    ],
)
def test_leaking_locations_are_refused(tmp_path, changes, match):
    splits = small.split_variables(*small.arrays()[1:])
    for name, leak in changes.items():
        splits[name] = np.concatenate([splits[name], splits[leak][:1]])
    refused(match, small.write_xlsa17(tmp_path / "B", **splits))


def test_a_test_class_in_a_fold_is_refused(tmp_path):
    folder = small.write_xlsa17(tmp_path / "B")
    with open(folder / "trainclasses2.txt", "a") as file:
        file.write(small.CLASS_NAMES[4])
    refused("Validation fold 2 uses class '005.bird', which is unseen", folder)


def test_an_unknown_class_in_a_list_is_refused(tmp_path):
    folder = small.write_xlsa17(tmp_path / "B")
    (folder / "valclasses1.txt").write_text("009.brid\n")
    refused("valclasses1.txt names class '009.brid', which has no prototype. Did you mean", folder)


def test_a_location_beyond_the_samples_is_refused(tmp_path):
    locs = small.split_variables(*small.arrays()[1:])["test_unseen_loc"]
    folder = small.write_xlsa17(tmp_path / "B", test_unseen_loc=np.append(locs, 9999.0))
    refused("test_unseen names sample 9998, but there are 90 samples", folder)


# ---- broken files -------------------------------------------------------------------------------------


def test_text_is_no_matlab_file(tmp_path):
    folder = small.write_xlsa17(tmp_path / "B")
    (folder / "att_splits.mat").write_text(
        "<html>404: not found, in more than a hundred and twenty-eight bytes" * 9
    )
    refused("att_splits.mat cannot be read as a MATLAB file", folder)


@pytest.mark.parametrize("name", ["att_splits.mat", "res101.mat"])
@pytest.mark.parametrize("share", [0.0, 0.05, 0.3, 0.6, 0.9, 0.99])
def test_a_truncated_matlab_file_is_refused(tmp_path, name, share):
    folder = small.write_xlsa17(tmp_path / "B")
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[: int(share * len(whole))])
    refused("B/", folder)


def test_a_matlab_header_cannot_make_us_allocate(tmp_path):
    folder = small.write_xlsa17(tmp_path / "B")
    whole = (folder / "res101.mat").read_bytes()
    true = struct.pack("<ii", small.N_FEATURES, small.N_CLASSES * small.PER_CLASS)
    assert true in whole
    (folder / "res101.mat").write_bytes(whole.replace(true, struct.pack("<ii", 2**30, 2**30), 1))
    refused("res101.mat cannot be read", folder)


def test_an_hdf5_header_cannot_make_us_allocate(tmp_path):
    h5py = pytest.importorskip("h5py")
    folder = small.write_xlsa17(tmp_path / "B")
    with h5py.File(folder / "res101.mat", "w", userblock_size=512) as file:
        file.create_dataset("features", shape=(2**40, 2**20), dtype="f8", chunks=(16, 16))
        file["labels"] = np.ones((1, 3))
    refused("announces shape", folder)


def test_truncated_hdf5_is_refused(tmp_path):
    folder = small.as_hdf5(small.write_xlsa17(tmp_path / "B"))
    whole = (folder / "att_splits.mat").read_bytes()
    (folder / "att_splits.mat").write_bytes(whole[:2000])
    refused("att_splits.mat cannot be read", folder)


def test_hdf5_without_its_package_says_what_to_install(tmp_path, monkeypatch):
    folder = small.as_hdf5(small.write_xlsa17(tmp_path / "B"))
    monkeypatch.setitem(sys.modules, "h5py", None)
    refused(r"needs the package h5py. Install it with: pip install -e '.*\[hdf5\]'", folder)


def test_variables_of_the_wrong_shape_are_refused(tmp_path):
    folder = small.write_xlsa17(tmp_path / "B")
    X, y, _ = small.arrays()
    scipy.io.savemat(folder / "res101.mat", {"features": X, "labels": y + 1.0})
    refused("There are 5 rows of features but 90 labels", folder)
    scipy.io.savemat(folder / "res101.mat", {"features": X.T})
    refused("holds no variable 'labels'", folder)
    scipy.io.savemat(folder / "att_splits.mat", {"x": 1})
    refused("holds no class descriptions", folder)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.99])
def test_a_truncated_npz_is_refused(tmp_path, share):
    path = small.write_npz(tmp_path / "own.npz")
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    refused("own.npz is not a whole .npz file", path)


class Trap:
    """Pickles to a call that leaves a file behind."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_pickles_are_never_loaded(tmp_path):
    trap = np.array([Trap(tmp_path / "sprung")], dtype=object)
    refused("holds y as pickled objects, which are never loaded", small.write_npz(tmp_path / "a.npz", y=trap))
    (tmp_path / "b.npz").write_bytes(pickle.dumps(trap))
    refused("b.npz is not a whole .npz file", tmp_path / "b.npz")
    folder = small.write_folder(tmp_path / "c")
    np.save(folder / "features.npy", trap, allow_pickle=True)
    refused("features.npy cannot be memory-mapped", folder)
    assert not (tmp_path / "sprung").exists()


def test_an_npz_header_cannot_make_us_allocate(tmp_path):
    import io
    import zipfile

    path = small.write_npz(tmp_path / "own.npz", drop=["X"])
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f8", "fortran_order": False, "shape": (2**40, 2**20)}
    )
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("X.npy", head.getvalue() + b"few bytes")
    refused("is not a whole .npz file .X announces shape", path)


# ---- bad content --------------------------------------------------------------------------------------


def with_nan(X):
    X = X.copy()
    X[3, 2], X[7, 0], X[8, 0] = np.nan, np.inf, np.nan
    return X


def bad_contents():
    """Changes to a good .npz, each with the error it must give."""
    content = small.npz_content()
    X, y, S, names = (content[k] for k in ("X", "y", "prototypes", "class_names"))
    twice = names.copy()
    twice[3] = twice[2]
    broken = S.copy()
    broken[2, 1] = np.nan
    return {
        "nan": (
            {"X": with_nan(X)},
            "The features hold nan at sample 3, feature 2: expected a finite number",
        ),
        "short y": ({"y": y[:-1]}, "90 rows of features but 89 labels"),
        "flat X": ({"X": X.ravel()}, r"features have shape \(450,\)"),
        "text X": ({"X": X.astype(str)}, "expected numbers"),
        "square y": ({"y": np.stack([y, y])}, "90 rows of features but 180 labels"),
        "float y": ({"y": y + 0.5}, "expected integers or class names"),
        "label beyond": ({"y": np.where(y == 0, 9, y)}, "prototypes has 9 rows but y names class 9"),
        "label below": ({"y": y - 1}, "y names class -1"),
        "unknown name": (
            {"y": np.array([*names[y][:-1], "009.brid"])},
            "y names class '009.brid'.*Did you mean",
        ),
        "few prototypes": (
            {"prototypes": S[:-1]},
            r"prototypes has shape \(8, 4\) but there are 9 class names",
        ),
        "flat prototypes": ({"prototypes": S[0]}, r"prototypes has shape \(4,\)"),
        "few attribute names": ({"attribute_names": np.array(["a"])}, "1 names of attributes"),
        "few files": ({"files": np.array(["a.jpg"])}, r"90 labels but files has shape \(1,\)"),
        "text prototypes": ({"prototypes": np.array(["a", "b"])}, "prototypes must be numbers"),
        "nan prototype": ({"prototypes": broken}, "prototype of class '007.bird' is nan at attribute 1"),
        "huge prototype": (
            {"prototypes": 1e200 * S},
            r"prototype of class '.*' is .*e\+200 at attribute \d, too large to compute with",
        ),
        "duplicated name": ({"class_names": twice}, "Class '007.bird' is listed twice"),
        "unknown unseen": ({"unseen_classes": np.array(["emu"])}, "unseen_classes names class 'emu'"),
        "test beyond": ({"test_seen": np.array([90])}, "test_seen names sample 90, but there are 90 samples"),
        "test twice": (
            {"test_seen": np.flatnonzero(y == 0)[[0, 0]]},
            r"Sample \d+ is in test_seen and again in test_seen",
        ),
        "test of the other kind": (
            {"test_unseen": np.flatnonzero(y == 0)},
            "class '009.bird', which is seen",
        ),
        "float test": ({"test_seen": np.array([0.5])}, "expected sample indices"),
        "short mask": ({"test_seen": np.ones(3, dtype=bool)}, "a mask over all samples"),
    }


@pytest.mark.parametrize("case", bad_contents())
def test_bad_content_is_refused(tmp_path, case):
    changes, match = bad_contents()[case]
    refused(match, small.write_npz(tmp_path / "bad.npz", **changes))


def test_too_few_classes_without_unseen_ones_load_but_do_not_split(tmp_path):
    path = small.write_npz(tmp_path / "own.npz", drop=["unseen_classes"])
    data = load_dataset(path)
    assert not data.unseen.any()
    with pytest.raises(UnseenError, match="has no unseen classes, so there is nothing to test"):
        make_split(data)
    assert len(make_split(data, require_test=False).folds) == 3


def test_a_missing_file_is_named(tmp_path):
    refused("gone.npz is missing", tmp_path / "gone.npz")
    refused("digit does not exist.*Did you mean 'digits'", "digit")
    folder = small.write_xlsa17(tmp_path / "B")
    (folder / "att_splits.mat").unlink()
    refused("att_splits.mat is missing. Download", folder)
    refused("is not a data set.*or images", tmp_path)


def test_an_option_of_another_format_is_refused(tmp_path):
    refused("digits does not take split_dir=", "digits", split_dir=tmp_path)
    refused("synthetic does not take n_sample=; it takes n_samples", "synthetic", n_sample=3)


def test_folder_tables_are_checked(tmp_path):
    folder = small.write_folder(tmp_path / "own")
    table = folder / "prototypes.csv"
    good = table.read_text()
    table.write_text(good.replace("class,red", "class,red,odd"))
    refused(r"line 2 has 5 columns, expected 6 as in the header\.$", folder)
    table.write_text(good.replace("class,red", "class"))
    refused("expected 4 as in the header. Put values that contain ',' in double quotes.", folder)
    first = good.splitlines()[1].split(",")[1]
    table.write_text(good.replace(first, "rather red"))
    refused("line 2, column 'red' is 'rather red', expected a number", folder)
    table.write_text(good)
    (folder / "splits.csv").write_text("split\n" + "\n".join(["trian"] * 90))
    refused("splits.csv names part 'trian', expected one of train, test_seen, test_unseen", folder)
    (folder / "splits.csv").write_text("split\ntrain\n")
    refused("splits.csv has 1 lines but there are 90 samples", folder)
    (folder / "labels.csv").write_bytes(b"class\n\xff\xfe\n")
    refused("labels.csv is not a CSV file", folder)


def test_rows_without_any_value_are_skipped(tmp_path):
    folder = small.write_folder(tmp_path / "own")
    expected = load_dataset(folder).prototypes
    with open(folder / "prototypes.csv", "a") as table:
        table.write(",,,,\n\n , ,,,\n")  # as spreadsheets write them below a table
    np.testing.assert_array_equal(load_dataset(folder).prototypes, expected)


# ---- your own data ------------------------------------------------------------------------------------


def test_features_of_a_folder_are_memory_mapped(tmp_path):
    data = load_dataset(small.write_folder(tmp_path / "own"))
    assert isinstance(data.X, np.memmap)
    assert data.attribute_names == ("red", "blue", "big", "small")
    assert list(data.sample_names[:2]) == ["0.jpg", "1.jpg"]


def test_labels_may_be_numbers_or_names(tmp_path):
    content = small.npz_content()
    numbers = load_dataset(small.write_npz(tmp_path / "numbers.npz"))
    names = load_dataset(small.write_npz(tmp_path / "names.npz", y=content["class_names"][content["y"]]))
    np.testing.assert_array_equal(numbers.y, names.y)


def test_a_class_without_samples_is_unseen(tmp_path):
    X, y, _ = small.arrays()
    keep = ~np.isin(y, small.UNSEEN)
    data = load_dataset(small.write_npz(tmp_path / "own.npz", drop=["unseen_classes"], X=X[keep], y=y[keep]))
    assert tuple(np.flatnonzero(data.unseen)) == small.UNSEEN
    with pytest.raises(UnseenError, match=r"no test samples of its 3 unseen classes.*enough for unseen fit"):
        make_split(data)
    assert len(make_split(data, require_test=False).test_unseen) == 0


def test_test_samples_may_be_given_as_a_mask(tmp_path):
    _, y, _ = small.arrays()
    _, test_seen, test_unseen = small.locations(y)
    masks = {
        name: np.isin(np.arange(len(y)), index)
        for name, index in (("test_seen", test_seen), ("test_unseen", test_unseen))
    }
    data = load_dataset(small.write_npz(tmp_path / "own.npz", drop=["unseen_classes"], **masks))
    assert tuple(np.flatnonzero(data.unseen)) == small.UNSEEN
    np.testing.assert_array_equal(data.test_seen, test_seen)


def test_extracted_features_and_a_typed_table_make_a_data_set(tmp_path):
    """The order of the table does not matter, and names on the command line choose the unseen classes."""
    path = small.write_npz(
        tmp_path / "extracted.npz", drop=["prototypes", "unseen_classes"], files=np.arange(90).astype(str)
    )
    refused("There are no class descriptions.*--prototypes FILE.csv", path)
    order = np.random.default_rng(1).permutation(small.N_CLASSES)
    table = small.write_prototypes(tmp_path / "classes.csv", order)
    unseen = [small.CLASS_NAMES[c] for c in small.UNSEEN]
    data = load_dataset(path, prototypes=table, unseen_classes=unseen)
    _, y, S = small.arrays()
    assert [data.class_names[c] for c in data.y] == [small.CLASS_NAMES[c] for c in y]
    np.testing.assert_allclose(data.prototypes[data.y], S[y], rtol=1e-12)
    assert {data.class_names[c] for c in np.flatnonzero(data.unseen)} == set(unseen)


def test_descriptions_may_come_as_a_data_frame(tmp_path):
    pd = pytest.importorskip("pandas")
    path = small.write_npz(tmp_path / "extracted.npz", drop=["prototypes", "unseen_classes"])
    S = small.arrays()[2]
    frame = pd.DataFrame(S[::-1], index=small.CLASS_NAMES[::-1], columns=list("abcd"))
    for source in (path, small.write_folder(tmp_path / "own")):
        data = load_dataset(
            source, prototypes=frame, unseen_classes=[small.CLASS_NAMES[c] for c in small.UNSEEN]
        )
        np.testing.assert_array_equal(data.prototypes[data.y], S[small.arrays()[1]])
        assert data.attribute_names == ("a", "b", "c", "d")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused(tmp_path, data):
    """One byte is changed anywhere: no other error than ours may come out."""
    write = data.draw(st.sampled_from([np.savez, np.savez_compressed, None]))
    if write:
        file = whole = tmp_path / "own.npz"
        write(file, **small.npz_content())
    else:
        whole = small.write_folder(tmp_path / "own")
        file = whole / data.draw(
            st.sampled_from(["features.npy", "labels.csv", "prototypes.csv", "splits.csv"])
        )
    content = bytearray(file.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    file.write_bytes(content)
    with suppress(UnseenError):
        load_dataset(whole)


def test_incomplete_data_can_be_described(tmp_path):
    path = small.write_npz(tmp_path / "own.npz", drop=["X", "y"])
    data = load_dataset(path, require_features=False)
    assert len(data.missing) == 2
    refused("There are no features", path)
    refused(
        "holds none of X, y, prototypes", small.write_npz(tmp_path / "b.npz", drop=["X", "y", "prototypes"])
    )


# ---- arrays and memory --------------------------------------------------------------------------------


def test_features_are_kept_or_become_float32_once():
    for dtype in (np.float32, np.float64):
        X = np.ones((3, 2), dtype=dtype)
        assert as_features(X) is X
    for dtype in (np.float16, np.int8, np.uint16, bool):
        assert as_features(np.ones((3, 2), dtype=dtype)).dtype == np.float32


def test_the_first_bad_value_is_found_in_any_block():
    X = np.zeros((5000, 3), dtype=np.float32)
    check_finite(X)
    X[4500, 1] = -np.inf
    with pytest.raises(UnseenError, match="hold -inf at sample 4500, feature 1: expected a finite number"):
        check_finite(X)


def test_features_too_large_to_compute_with_are_rejected():
    X = np.zeros((5000, 3))
    X[4500, 1] = 1e160
    with pytest.raises(UnseenError, match=r"hold 1e\+160 at sample 4500, feature 1: too large"):
        check_finite(X)


def peak_of_loading(*arguments: str) -> float:
    """Return by how many MB a process grows at most while it loads."""
    code = """
        import resource, sys
        import numpy, scipy.io, sklearn.datasets, unseen.datasets
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        unseen.load_dataset(*sys.argv[1:])
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT / "src", timeout=300)
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss counts other units elsewhere")
def test_loading_peaks_at_the_stored_array_and_one_float32_copy(tmp_path):
    n, d = 4000, 2048
    folder = tmp_path / "B"
    folder.mkdir()
    y = np.arange(n) % small.N_CLASSES
    X = np.random.default_rng(0).random((d, n))  # float64, as the published features
    scipy.io.savemat(folder / "res101.mat", {"features": X, "labels": y + 1.0})
    scipy.io.savemat(folder / "att_splits.mat", small.split_variables(y, small.arrays()[2]))
    stored, copy = X.nbytes / 2**20, X.nbytes / 2**21
    assert peak_of_loading(str(folder)) < stored + copy + 25
    np.savez(tmp_path / "own.npz", **small.npz_content() | {"X": X.T.astype(np.float32), "y": y})
    assert peak_of_loading(str(tmp_path / "own.npz")) < copy + 25


# ---- real data ----------------------------------------------------------------------------------------


def test_real_birds(real_data):
    data = load_dataset(real_data / "xlsa17" / "CUB", features="res50")
    assert data.X.shape == (11788, 2048) and data.X.dtype == np.float32 and data.X.flags.c_contiguous
    # image files start with the folder of their class, so names and labels can be compared
    folders = [name.split("/")[0] for name in data.sample_names]
    assert folders == [data.class_names[c] for c in data.y]
    assert [len(val) for _, val in data.class_folds] == [50, 50, 50]


@pytest.mark.parametrize(
    ("name", "classes", "unseen", "samples", "attributes"),
    [("AWA2", 50, 10, 37322, 85), ("SUN", 717, 72, 14340, 102), ("APY", 32, 12, 15339, 64)],
)
def test_real_folders_without_features(real_data, name, classes, unseen, samples, attributes):
    data = load_dataset(real_data / "xlsa17" / name, require_features=False)
    assert (data.n_samples, int(data.unseen.sum())) == (samples, unseen)
    assert data.prototypes.shape == (classes, attributes)
    assert len(data.class_folds) == 3
    refused(f"{name}/res101.mat is missing. Download", real_data / "xlsa17" / name)


def test_the_embedded_data_is_a_data_set():
    for name in EMBEDDED:
        assert isinstance(load_dataset(name), ZeroShotDataset)
