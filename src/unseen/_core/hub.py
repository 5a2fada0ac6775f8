"""The Hugging Face hub: files of a repository, verified, in the hub's own cache, and errors in one line."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from unseen.errors import UnseenError, import_extra, one_line

if TYPE_CHECKING:
    from huggingface_hub.hf_api import RepoSibling

HUB_PREFIX = "hf:"
_REFERENCE = re.compile(r"hf:(?P<repo>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w./-]+))?")
Choose = Callable[[Sequence[str]], list[str]]  # from the names of all files to those that are needed


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


def fetch_files(reference: str, choose: Choose, *, cached: Sequence[str]) -> tuple[Path, list[str]]:
    """Return the folder of ``hf:owner/name[@revision]`` in the cache, and the needed files in it.

    Cache, tokens, ``HF_HUB_OFFLINE``, ``HF_ENDPOINT`` and progress bars are those of ``huggingface_hub``.
    Only the needed files are downloaded, and each is compared with the checksum that the hub gives for it.

    Parameters
    ----------
    reference : str
    choose : callable
        Returns the needed files, given the names of all files.
    cached : names of files
        What an earlier download must hold to be used without network access.
    """
    repo, revision = parse_reference(reference)
    hub = import_hub()
    if hub.constants.HF_HUB_OFFLINE:
        return _from_cache(hub, reference, choose, cached)
    answered = hub.errors.HfHubHTTPError
    with hub_errors(hub, repo, revision):
        try:
            return _download(hub, reference, choose)
        except (OSError, answered.__bases__[0]) as error:  # the base of all errors of the HTTP library
            if isinstance(error, answered) or getattr(error, "errno", None) is not None:
                raise  # the hub answered, or the disk is full
            return _from_cache(hub, reference, choose, cached, error)


def _download(hub: ModuleType, reference: str, choose: Choose) -> tuple[Path, list[str]]:
    repo, revision = parse_reference(reference)
    info = hub.HfApi().model_info(repo, revision=revision, files_metadata=True)
    listed: dict[str, RepoSibling] = {file.rfilename: file for file in info.siblings or ()}
    needed = choose(list(listed))
    # by branch, not by commit: the cache then knows the branch when there is no network
    folder = Path(hub.snapshot_download(repo, revision=revision, allow_patterns=needed))
    for name in needed:
        _verify(folder / name, listed[name], reference)
    return folder, needed


def _from_cache(
    hub: ModuleType, reference: str, choose: Choose, cached: Sequence[str], reason: Exception | None = None
) -> tuple[Path, list[str]]:
    """Return the files of an earlier download; without one, say how to get them."""
    repo, revision = parse_reference(reference)
    try:  # an incomplete snapshot is an error
        folder = Path(
            hub.snapshot_download(repo, revision=revision, allow_patterns=[*cached], local_files_only=True)
        )
    except hub.errors.LocalEntryNotFoundError:
        why = "HF_HUB_OFFLINE is set" if reason is None else f"{endpoint_of(hub)} cannot be reached"
        raise UnseenError(
            f"{reference} is not in the cache and {why}. Run it once with network access, or download the "
            "repository elsewhere and give its path."
        ) from reason
    files = [file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()]
    return folder, choose(files)


def _verify(path: Path, listed: RepoSibling, reference: str) -> None:
    """Reject and remove a file that is not what the hub announced: SHA-256, or the hash of a Git blob."""
    expected = listed.blob_id if listed.lfs is None else listed.lfs.sha256
    start = f"blob {path.stat().st_size}\0".encode()  # of a Git blob
    digest = hashlib.sha1(start) if listed.lfs is None else hashlib.sha256()
    with open(path, "rb") as file:
        hashlib.file_digest(file, lambda: digest)
    if expected is not None and digest.hexdigest() != expected:
        path.resolve().unlink()
        path.unlink(missing_ok=True)
        raise UnseenError(
            f"{listed.rfilename} of {reference} does not have the checksum that the hub announces; the "
            "download was removed. Run the same command again."
        )


# ---- what can go wrong -----------------------------------------------------------------------------


def import_hub() -> ModuleType:
    """Return the package ``huggingface_hub``."""
    for part in (".constants", ".errors", ""):
        hub: ModuleType = import_extra(f"huggingface_hub{part}", "hub", "A model of the hub (hf:owner/name)")
    return hub


def endpoint_of(hub: ModuleType) -> str:
    """Return the address of the hub."""
    return str(hub.constants.ENDPOINT)


@contextmanager
def hub_errors(hub: ModuleType, repo: str, revision: str | None) -> Iterator[None]:
    """Turn an error of the hub into one line with what to do."""
    errors, page = hub.errors, f"{endpoint_of(hub)}/{repo}"
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
            f"There is no model {repo!r} at {endpoint_of(hub)}, or it is private. Check the name; for a "
            "private model log in with `hf auth login` or set HF_TOKEN."
        ) from error
    except errors.HfHubHTTPError as error:
        raise UnseenError(f"{page} returned an error: {one_line(error)}") from error
