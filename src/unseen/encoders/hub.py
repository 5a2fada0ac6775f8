"""Encoders from the Hugging Face hub: the files that are needed, verified, in the hub's own cache."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from unseen.encoders.references import COMPANIONS, HUB_PREFIX, Kind, ModelFiles, choose_onnx
from unseen.errors import UnseenError, need_extra, one_line

if TYPE_CHECKING:
    from huggingface_hub.hf_api import RepoSibling

_REFERENCE = re.compile(r"hf:(?P<repo>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w./-]+))?")
_CHUNK = 2**20


def fetch_model(reference: str, kind: Kind, variant: str | None = None) -> ModelFiles:
    """Return the files of ``hf:owner/name[@revision]``, downloaded unless they are in the cache.

    Cache, tokens, ``HF_HUB_OFFLINE``, ``HF_ENDPOINT`` and progress bars are those of ``huggingface_hub``.
    Only the ONNX file, its weights and the configuration are downloaded, and each is compared with the
    checksum that the hub gives for it.
    """
    repo, revision = parse_reference(reference)
    hub = _load_hub()
    if hub.constants.HF_HUB_OFFLINE:
        return _from_cache(hub, reference, kind, variant)
    answered = hub.errors.HfHubHTTPError
    with _clear_errors(hub, repo, revision):
        try:
            return _download(hub, reference, kind, variant)
        except (OSError, answered.__bases__[0]) as error:  # the base of all errors of the HTTP library
            if isinstance(error, answered) or getattr(error, "errno", None) is not None:
                raise  # the hub answered, or the disk is full
            return _from_cache(hub, reference, kind, variant, error)


def parse_reference(reference: str) -> tuple[str, str | None]:
    """Return (owner/name, revision) of a reference.

    >>> parse_reference("hf:org/clip@v2")
    ('org/clip', 'v2')
    """
    found = _REFERENCE.fullmatch(reference)
    if found is None:
        raise UnseenError(
            f"{reference!r} is not a model of the hub, expected {HUB_PREFIX}owner/name[@revision]."
        )
    return found["repo"], found["revision"]


def _download(hub: ModuleType, reference: str, kind: Kind, variant: str | None) -> ModelFiles:
    repo, revision = parse_reference(reference)
    info = hub.HfApi().model_info(repo, revision=revision, files_metadata=True)
    listed: dict[str, RepoSibling] = {file.rfilename: file for file in info.siblings or ()}
    model = choose_onnx(listed, kind, variant, reference)
    folder: Path | None = None
    for name in [model, *_needed(listed, model, kind)]:
        # by branch, not by commit: the cache then knows the branch when there is no network
        path = Path(hub.hf_hub_download(repo, name, revision=revision))
        _verify(path, listed[name], reference)
        here = path.parents[name.count("/")]
        if here.name != info.sha:
            raise UnseenError(f"{reference} changed while it was downloaded. Run the same command again.")
        folder = here
    assert folder is not None
    return ModelFiles(reference, folder / model, folder, info.sha, variant)


def _needed(listed: Mapping[str, object], model: str, kind: Kind) -> list[str]:
    """Return the files beside the model that it needs: its weights and its configuration."""
    # optimum writes model.onnx_data, model.onnx_data_1, ...; PyTorch writes model.onnx.data
    weights = [name for name in listed if re.fullmatch(re.escape(model) + r"(_data(_\d+)?|\.data)", name)]
    return weights + [name for name in COMPANIONS[kind] if name in listed]


def _from_cache(
    hub: ModuleType, reference: str, kind: Kind, variant: str | None, reason: Exception | None = None
) -> ModelFiles:
    """Return the files of an earlier download; without one, say how to get them."""
    folder = _cached_snapshot(hub, reference)
    names = [file.relative_to(folder).as_posix() for file in folder.rglob("*.onnx")] if folder else []
    if folder is None or not names:
        why = "HF_HUB_OFFLINE is set" if reason is None else f"{_endpoint(hub)} cannot be reached"
        raise UnseenError(
            f"{reference} is not in the cache and {why}. Run it once with network access, or download the "
            "repository elsewhere and give its folder."
        ) from reason
    model = choose_onnx(names, kind, variant, reference)
    return ModelFiles(reference, folder / model, folder, folder.name, variant)


def _cached_snapshot(hub: ModuleType, reference: str) -> Path | None:
    """Return the folder of a revision in the cache: refs/BRANCH holds the commit of snapshots/COMMIT."""
    repo, revision = parse_reference(reference)
    storage = Path(hub.constants.HF_HUB_CACHE) / f"models--{repo.replace('/', '--')}"
    branch = storage / "refs" / (revision or "main")
    commit = branch.read_text().strip() if branch.is_file() else revision or ""
    folder = storage / "snapshots" / commit
    return folder if commit and folder.is_dir() else None


def _verify(path: Path, listed: RepoSibling, reference: str) -> None:
    """Refuse and remove a file that is not what the hub announced: SHA-256, or the hash of a Git blob."""
    expected = listed.blob_id if listed.lfs is None else listed.lfs.sha256
    start = f"blob {path.stat().st_size}\0".encode()  # of a Git blob
    digest = hashlib.sha1(start) if listed.lfs is None else hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    if expected is not None and digest.hexdigest() != expected:
        path.resolve().unlink()
        path.unlink(missing_ok=True)
        raise UnseenError(
            f"{listed.rfilename} of {reference} does not have the checksum that the hub announces; the "
            "download was removed. Run the same command again."
        )


# ---- what can go wrong -----------------------------------------------------------------------------


def _load_hub() -> ModuleType:
    try:
        import huggingface_hub
        import huggingface_hub.constants
        import huggingface_hub.errors
    except ImportError:
        raise need_extra("huggingface_hub", "hub", "A model of the hub (hf:owner/name)") from None
    return huggingface_hub


def _endpoint(hub: ModuleType) -> str:
    return str(hub.constants.ENDPOINT)


@contextmanager
def _clear_errors(hub: ModuleType, repo: str, revision: str | None) -> Iterator[None]:
    """Turn what the hub answers into one line with what to do."""
    errors, page = hub.errors, f"{_endpoint(hub)}/{repo}"
    try:
        yield
    except errors.GatedRepoError as error:
        raise UnseenError(
            f"{repo} is gated: accept its conditions at {page}, then log in with `hf auth login` or set "
            "HF_TOKEN."
        ) from error
    except errors.RevisionNotFoundError as error:
        raise UnseenError(f"{repo} has no revision {revision!r}. See {page}/commits/main.") from error
    except errors.RepositoryNotFoundError as error:
        raise UnseenError(
            f"There is no model {repo!r} at {_endpoint(hub)}, or it is private. Check the name; for a "
            "private model log in with `hf auth login` or set HF_TOKEN."
        ) from error
    except errors.HfHubHTTPError as error:
        raise UnseenError(f"{page} answers with an error: {one_line(error)}") from error
