"""Trust, but verify: compute stored runs again and compare every number."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from unseen import __version__
from unseen.benchmark.experiment import Setting
from unseen.benchmark.runner import attempt
from unseen.benchmark.store import Run, Store
from unseen.errors import UnseenError
from unseen.methods import METHODS

SAMPLE = 3  # runs that are computed again
_IGNORED = ("seconds", "version", "threads")


class Check(NamedTuple):
    """A run that was computed again, and what was not the same."""

    run: Run
    differences: list[str]


def verify(
    store: Store, methods: Collection[str] = tuple(METHODS), sample: int = SAMPLE, seed: int | None = None
) -> Iterator[Check]:
    """Check the whole store, then compute a random sample of its runs again and yield what differs.

    Only runs of ``methods`` are repeated: a method of the form module:Class is code, and a store that came
    from elsewhere must not choose what code to run.
    """
    store.check()
    stored = [run for run, _ in store.runs()]
    runs = [run for run in stored if run.method in methods]
    if not runs:
        others = ", ".join(sorted({run.method for run in stored}))
        hint = f"of these methods. Name what you trust with --methods: {others}" if others else "to verify"
        raise UnseenError(f"{store.folder} holds no finished run {hint}.")
    descriptions = store.settings()
    settings: dict[str, Setting] = {}
    for run in random.Random(seed).sample(runs, min(sample, len(runs))):
        if run.setting not in settings:
            settings[run.setting] = load_again(run.setting, descriptions[run.setting])
        yield Check(run, check_run(run, store.result(run.key), settings[run.setting]))


def load_again(key: str, description: dict[str, Any]) -> Setting:
    """Load the data of a stored setting; data that has changed since is refused."""
    names = ("features", "split_dir", "split_rule", "gamma", "prototypes", "unseen_classes")
    setting = Setting.load(description["source"], **{name: description[name] for name in names})
    if setting.key != key:
        raise UnseenError(
            f"{description['source']} is not the data of the stored runs any more: checksum "
            f"{setting.dataset.checksum}, stored {description['checksum']}; split "
            f"{setting.description['split_checksum']}, stored {description['split_checksum']}."
        )
    return setting


def check_run(run: Run, stored: dict[str, Any], setting: Setting) -> list[str]:
    """Return the differences between a stored result and the same run now, as lines for people."""
    outcome = attempt(run, setting, stored["threads"])
    if outcome.result is None:
        return [f"now it fails: {outcome.error}"]
    found = [line for line in differences(stored, outcome.result) if not line.startswith(_IGNORED)]
    if found and stored["version"] != __version__:
        found.append(f"stored by version {stored['version']}, this is {__version__}")
    return found


def differences(stored: Any, now: Any, path: str = "") -> Iterator[str]:
    """Yield a line for every leaf that two documents do not share.

    >>> list(differences({"a": [1, 2.0]}, {"a": [1, 2.5]}))
    ['a.1: stored 2.0, now 2.5']
    """
    if type(stored) is not type(now) or not isinstance(stored, (dict, list)):
        if stored != now:
            yield f"{path}: stored {stored!r}, now {now!r}"
        return
    names = stored.keys() | now.keys() if isinstance(stored, dict) else range(max(len(stored), len(now)))
    for name in sorted(names):
        pair = (_get(stored, name), _get(now, name))
        yield from differences(*pair, path=f"{path}.{name}" if path else str(name))


def _get(document: Any, name: Any) -> Any:
    if isinstance(document, dict):
        return document.get(name)
    return document[name] if name < len(document) else None
