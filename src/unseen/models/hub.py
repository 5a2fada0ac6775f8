"""Models on the Hugging Face hub: one model file, and its card as the page of the repository."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from unseen._core.hub import HUB_PREFIX, fetch_files, http_error, hub_errors, import_hub, parse_reference
from unseen.card import Card
from unseen.errors import UnseenError, one_line
from unseen.models.io import Model, load_model
from unseen.selection.search import GZSLClassifierCV

MODEL_FILE = "model.safetensors"  # of the model in its repository
TAGS = ["zero-shot-learning", "generalized-zero-shot-learning"]


def fetch_model(reference: str) -> Path:
    """Return the model file of ``hf:owner/name[@revision]``, downloaded unless it is in the hub's cache."""

    def choose(names: Sequence[str]) -> list[str]:
        if MODEL_FILE not in names:
            problem = f"{reference} has no {MODEL_FILE}, so it is not a model of unseen. Upload one with"
            raise UnseenError(f"{problem}: unseen push MODEL {reference} --license NAME")
        return [MODEL_FILE]

    folder, _ = fetch_files(reference, choose, cached=[MODEL_FILE])
    return folder / MODEL_FILE


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
    card = model_page(load_model(path), repo, license)  # also checks the file
    hub = import_hub()
    if hub.constants.HF_HUB_OFFLINE:
        raise UnseenError(f"Cannot upload to {reference}: HF_HUB_OFFLINE is set. Unset it and try again.")
    page = f"{hub.constants.ENDPOINT}/{repo}"
    operations = [
        hub.CommitOperationAdd(MODEL_FILE, str(path)),
        hub.CommitOperationAdd("README.md", card.encode()),
    ]
    api, message = hub.HfApi(), "Upload a model of unseen"
    try:
        with hub_errors(hub, repo, revision):
            api.create_repo(repo, private=private, exist_ok=True)
            commit = api.create_commit(repo, operations, commit_message=message, revision=revision)
    except UnseenError:
        raise
    # the hub does not accept the card, or the connection broke
    except (OSError, RuntimeError, ValueError, http_error(hub)) as error:
        reason = one_line(error.__cause__ if isinstance(error.__cause__, Exception) else error).rstrip(".")
        raise UnseenError(
            f"The upload to {page} failed: {reason}. Nothing was committed; try again."
        ) from error
    return str(commit.commit_url)


def model_page(model: Model, repo: str, license: str) -> str:
    """Return the README.md of a model's repository: metadata for the hub, how to load it, and the card."""
    card = model.card() if isinstance(model, GZSLClassifierCV) else None
    n_classes, n_features = model.coef_.shape
    facts = str(card) if card else f"{type(model).__name__}: {n_features} features to {n_classes} classes"
    lines = [
        f"---\n{_metadata(card, repo, license)}\n---",
        f"# {repo.partition('/')[2]}\n",
        f"A zero-shot classifier of {n_features} features into {n_classes} classes, one linear layer.\n",
        "```python",
        "from unseen import load_model\n",
        f'model = load_model("{HUB_PREFIX}{repo}")',
        f"model.predict(X)  # X: (samples, {n_features})",
        "```\n",
        # indented, so that no name in the card is read as markup
        *(f"    {line}" for line in facts.splitlines()),
    ]
    return "\n".join(lines) + "\n"


def _metadata(card: Card | None, repo: str, license: str) -> str:
    """Return the metadata of a model in the form of the hub, with expected accuracies between 0 and 1."""
    hub = import_hub()
    data = hub.ModelCardData(license=license, library_name="unseen", tags=[*TAGS])
    data.pipeline_tag = "tabular-classification"
    if card is not None:
        data.tags.append(card.method)
        if card.encoder:
            data.pipeline_tag = "zero-shot-image-classification"
        trained_on = card.data or "unknown"
        data.metrics, data.model_name = ["accuracy"], repo.partition("/")[2]
        data.eval_results = [
            hub.EvalResult(
                task_type=data.pipeline_tag,
                dataset_type=trained_on,
                dataset_name=f"{trained_on}, held-out samples",
                dataset_args={} if card.checksum is None else {"checksum": card.checksum},
                metric_type="accuracy",
                metric_name=f"Expected accuracy, {kind} classes",
                metric_value=round(getattr(card.expected, kind)[0] / 100, 4),
            )
            for kind in ("unseen", "seen")
        ]
    return str(data.to_yaml())
