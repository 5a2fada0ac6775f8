"""Promises that cross rooms, each from one end of the package to the other."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from unseen import __version__
from unseen.cli import main


def call(*arguments):
    done = CliRunner().invoke(main, list(map(str, arguments)))
    assert done.exit_code == 0, done.stderr
    return done.stdout


def test_json_and_report_say_what_their_numbers_rest_on(tmp_path):
    pytest.importorskip("jinja2")
    options = ("--methods", "fake_methods:Chance", "--seeds", 2, "--jobs", 1, "--quiet")
    document = json.loads(call("bench", "digits", *options, "--out", tmp_path / "run", "--json"))
    facts = {document["experiment"][name] for name in ("split_rule", "gamma", "checksum", "split_checksum")}
    assert facts >= {"official", "retention"} and len(facts) == 4
    runs = document["methods"]["fake_methods:Chance"]["runs"]
    assert [(run["seed"], run["version"]) for run in runs] == [(0, __version__), (1, __version__)]
    call("report", tmp_path / "run", "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    for fact in facts | {__version__, "seeds 0, 1"}:
        assert fact in page
