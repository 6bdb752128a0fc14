"""What the program says where PyTorch is not installed."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from conclave_train import entry


def test_without_pytorch_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sizes first; nothing of the package that needs PyTorch is imported."""
    for name in [n for n in sys.modules if n == "torch" or n.startswith("conclave_train.cli")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert entry.main() == 1
    said = capsys.readouterr().err
    assert "CPU build (200 MB)" in said and "5.5 GB" in said


def test_pip_fetches_no_pytorch() -> None:
    """It is in no extra but those that name it, so that pip fetches no libraries of a GPU that is not there."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert not [d for d in project["dependencies"] if d.startswith(("torch", "nvidia", "triton"))]
    assert project["optional-dependencies"]["torch"] == ["torch>=2.4"]
    assert project["scripts"]["conclave-train"] == "conclave_train.entry:main"
