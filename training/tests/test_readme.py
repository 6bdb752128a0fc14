"""What the README says about settings is so."""

from __future__ import annotations

import re
from pathlib import Path

from conclave_train.cli import _parser
from conclave_train.settings import PAPER, EnsembleSettings, from_options

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


def test_the_papers_settings() -> None:
    """The options that it gives for the paper's ensemble are those of ``PAPER``."""
    found = re.search(r"The paper's: `([^`]+)`", README)
    assert found
    options = _parser().parse_args(["expert", "--name", "x", *found[1].split()])
    assert from_options(EnsembleSettings, options) == PAPER


def test_every_option_it_names_exists() -> None:
    """Of conclave-train's own commands; pip's and conclave's are known by their lines."""
    lines = [line for line in README.splitlines() if not re.match(" *(`?)(pip install|conclave) ", line)]
    lines = [line for line in lines if "pip install" not in line and "conclave setup" not in line]
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", "\n".join(lines)))
    assert len(named) > 25
    own: set[str] = set()
    for action in _parser()._subparsers._group_actions[0].choices.values():  # type: ignore[union-attr]
        own |= set(action._option_string_actions)
    assert named <= own, sorted(named - own)
