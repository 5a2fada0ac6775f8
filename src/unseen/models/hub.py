"""Models on the Hugging Face hub: one model file, and its card as the page of the repository."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any

from unseen._core.hub import HUB_PREFIX, endpoint_of, fetch_files, hub_errors, import_hub, parse_reference
from unseen.card import Card
from unseen.errors import UnseenError, one_line
from unseen.models.io import Model, load_model
from unseen.selection.search import GZSLClassifierCV

FILE_NAME = "model.safetensors"  # of the model in its repository
TAGS = ["zero-shot-learning", "generalized-zero-shot-learning"]
METRICS = {"unseen": "Expected accuracy, unseen classes", "seen": "Expected accuracy, seen classes"}


def fetch_model(reference: str) -> Path:
    """Return the model file of ``hf:owner/name[@revision]``, downloaded unless it is in the hub's cache."""

    def choose(names: Sequence[str]) -> list[str]:
        if FILE_NAME not in names:
            raise UnseenError(
                f"{reference} has no {FILE_NAME}, so it is not a model of unseen. Upload one with: "
                f"unseen push MODEL {reference}"
            )
        return [FILE_NAME]

    folder, _ = fetch_files(reference, choose, cached=[FILE_NAME])
    return folder / FILE_NAME


def push_model(
    path: str | PathLike[str], reference: str, *, license: str, private: bool | None = None
) -> str:
    """Upload a model file and its card to the Hugging Face hub; return the address of the commit.

    The repository is created if it does not exist. Both files arrive in one commit, and nothing else is
    uploaded. The token is that of ``huggingface_hub``: ``hf auth login``, or ``HF_TOKEN``.

    Parameters
    ----------
    path : path of the model file
    reference : str
        ``hf:owner/name``, or ``hf:owner/name@branch`` for a branch that exists.
    license : str
        Identifier of the license for users of the model, such as ``"cc-by-4.0"``.
    private : bool, optional
        Whether a new repository is private. By default, the owner's own default counts.
    """
    repo, revision = parse_reference(reference)
    if str(path).startswith(HUB_PREFIX):
        raise UnseenError(f"{path} is on the hub already. Name a model file.")
    page = model_page(load_model(path), repo, license)  # also checks the file
    hub = import_hub()
    if hub.constants.HF_HUB_OFFLINE:
        raise UnseenError(f"Cannot upload to {reference}: HF_HUB_OFFLINE is set. Unset it and try again.")
    api = hub.HfApi()
    with _upload_errors(hub, repo, revision):
        api.create_repo(repo, private=private, exist_ok=True)
        commit = api.create_commit(
            repo,
            operations=[
                hub.CommitOperationAdd(FILE_NAME, str(path)),
                hub.CommitOperationAdd("README.md", page.encode()),
            ],
            commit_message="Upload a model of unseen",
            revision=revision,
        )
    return str(commit.commit_url)


@contextmanager
def _upload_errors(hub: ModuleType, repo: str, revision: str | None) -> Iterator[None]:
    """Turn what can go wrong with an upload into one line with what to do."""
    answered, page = hub.errors.HfHubHTTPError, f"{endpoint_of(hub)}/{repo}"
    try:
        with hub_errors(hub, repo, revision), _login_error(answered, page):
            yield
    except UnseenError:
        raise
    except ValueError as error:  # the hub does not accept the metadata
        raise UnseenError(f"{page} does not accept the card: {one_line(error)}") from error
    # an upload to the storage ends in a RuntimeError; the base of the other is that of all HTTP errors
    except (OSError, RuntimeError, answered.__bases__[0]) as error:
        reason = one_line(error.__cause__ if isinstance(error.__cause__, Exception) else error).rstrip(".")
        raise UnseenError(
            f"The upload to {page} failed: {reason}. Nothing was committed; try again."
        ) from error


@contextmanager
def _login_error(answered: type[Exception], page: str) -> Iterator[None]:
    try:
        yield
    except answered as error:
        status = getattr(getattr(error, "response", None), "status_code", None)
        if status not in (401, 403):
            raise
        raise UnseenError(
            f"You have no write access to {page}. Log in with `hf auth login`, or set HF_TOKEN to a token "
            "that has it."
        ) from error


# ---- the page of a model ---------------------------------------------------------------------------------


def model_page(model: Model, repo: str, license: str) -> str:
    """Return the README of a model: metadata that the hub understands, how to use it, and its card."""
    card = model.card() if isinstance(model, GZSLClassifierCV) else None
    name = repo.partition("/")[2]
    n_classes, n_features = model.coef_.shape
    facts = str(card) if card else f"{type(model).__name__}: {n_features} features to {n_classes} classes"
    usage = [
        "from unseen import load_model",
        "",
        f'model = load_model("{HUB_PREFIX}{repo}")',
        f"model.predict(X)  # X: (samples, {n_features})",
    ]
    return "\n".join(
        [
            f"---\n{_metadata(card, name, license)}\n---",
            f"# {name}\n",
            f"A zero-shot classifier of {n_features} features into {n_classes} classes, one linear layer.\n",
            *("```python", *usage, "```", ""),
            # indented, so that no name in the card is read as markup
            *(f"    {line}" for line in facts.splitlines()),
            "",
        ]
    )


def _metadata(card: Card | None, name: str, license: str) -> str:
    """Return the metadata of a model in the form of the hub."""
    hub = import_hub()
    task = "zero-shot-image-classification" if card and card.encoder else "tabular-classification"
    results = [] if card is None else _results(hub, card, task)
    data = hub.ModelCardData(
        license=license,
        library_name="unseen",
        pipeline_tag=task,
        tags=[*TAGS, *([card.method] if card else [])],
        metrics=["accuracy"] if results else None,
        model_name=name if results else None,
        eval_results=results or None,
    )
    return str(data.to_yaml())


def _results(hub: ModuleType, card: Card, task: str) -> list[Any]:
    """Return the expected accuracies as the hub stores results, between 0 and 1."""
    return [
        hub.EvalResult(
            task_type=task,
            dataset_type=card.data or "unknown",
            dataset_name=f"{card.data or 'unknown'}, held-out samples",
            dataset_args={} if card.checksum is None else {"checksum": card.checksum},
            metric_type="accuracy",
            metric_name=words,
            metric_value=round(getattr(card.expected, kind)[0] / 100, 4),
        )
        for kind, words in METRICS.items()
    ]
