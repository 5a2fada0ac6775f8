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
        raise UnseenError(f"{reference!r} is not a model of the hub, expected hf:owner/name[@revision].")
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
    why = "HF_HUB_OFFLINE is set"
    if not hub.constants.HF_HUB_OFFLINE:
        try:
            with hub_errors(hub, repo, revision):
                return _download(hub, reference, choose)
        except (OSError, http_error(hub)) as error:
            if getattr(error, "errno", None) is not None:
                raise  # the disk is full
            why = f"{hub.constants.ENDPOINT} cannot be reached"
    try:  # an earlier download; an incomplete one is an error
        folder = hub.snapshot_download(repo, revision=revision, allow_patterns=cached, local_files_only=True)
    except hub.errors.LocalEntryNotFoundError as error:
        advice = "Run it once with network access, or download the repository elsewhere and give its path."
        raise UnseenError(f"{reference} is not in the cache and {why}. {advice}") from error
    files = [file.relative_to(folder).as_posix() for file in Path(folder).rglob("*") if file.is_file()]
    return Path(folder), choose(files)


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
        problem = f"{listed.rfilename} of {reference} does not have the checksum that the hub announces"
        raise UnseenError(f"{problem}; the download was removed. Run the same command again.")


# ---- what can go wrong -----------------------------------------------------------------------------


def import_hub() -> ModuleType:
    """Return the package ``huggingface_hub``."""
    for part in (".constants", ".errors", ""):
        hub: ModuleType = import_extra(f"huggingface_hub{part}", "hub", "A model of the hub (hf:owner/name)")
    return hub


def http_error(hub: ModuleType) -> type[Exception]:
    """Return the base of all errors of the HTTP library that the hub's package uses."""
    base: type[Exception] = hub.errors.HfHubHTTPError.__bases__[0]
    return base


@contextmanager
def hub_errors(hub: ModuleType, repo: str, revision: str | None) -> Iterator[None]:
    """Turn an error that the hub returns into one line with what to do."""
    endpoint, errors = hub.constants.ENDPOINT, hub.errors
    page, login = f"{endpoint}/{repo}", "log in with `hf auth login` or set HF_TOKEN"
    try:
        yield
    except errors.HfHubHTTPError as error:
        if isinstance(error, errors.GatedRepoError):
            text = f"{repo} is gated: accept its conditions at {page}, then {login}."
        elif isinstance(error, errors.RevisionNotFoundError):
            text = f"{repo} has no revision {revision!r}. See {page}/commits/main."
        elif isinstance(error, errors.RepositoryNotFoundError):
            text = f"There is no model {repo!r} at {endpoint}, or it is private. Check the name, or {login}."
        elif error.response.status_code in (401, 403):
            text = f"You have no access to {page}. Check its owner, or {login}."
        else:
            text = f"{page} returned an error: {one_line(error)}"
        raise UnseenError(text) from error
