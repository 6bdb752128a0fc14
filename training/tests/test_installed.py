"""The package as pip installs it: all its files, and its command in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import conclave_train
from conclave_train.bundle.manifest import read_manifest
from conftest import tiny_domain, write_checkpoint, write_domain

SCRIPT = Path(sys.executable).parent / "conclave-train"
HOW = "it is not installed as it is now beside this Python: training/check does that"


def files(package: Path) -> dict[str, bytes]:
    """The package's files by path, without what Python compiles."""
    return {
        str(f.relative_to(package)): f.read_bytes()
        for f in package.rglob("*")
        if f.is_file() and "__pycache__" not in f.parts
    }


def test_what_is_installed_is_what_is_here() -> None:
    """No module and no marker is left out of the package, and none is left over."""
    installed = files(Path(sysconfig.get_paths()["purelib"]) / "conclave_train")
    sources = files(Path(conclave_train.__file__).parent)
    assert installed.keys() == sources.keys(), HOW
    assert "py.typed" in installed
    assert installed == sources, HOW


def test_the_script_trains_on_two_domains(tmp_path: Path) -> None:
    """``multi`` on two domains of six topics each: who learns one of them alone stays below 60 of 100.

    Elsewhere than in the sources and without PYTHONPATH, so that nothing but
    the installation is found.
    """
    assert SCRIPT.exists(), HOW
    write_checkpoint(tmp_path / "base")
    one = tiny_domain(name="one", questions=24, topics=range(6))
    two = tiny_domain(seed=4, name="two", questions=24, topics=range(6, 12))
    data = [write_domain(tmp_path / domain.name, domain) for domain in (one, two)]
    command = [
        *(str(SCRIPT), "multi", "--data", str(data[0]), "--data", str(data[1]), "--base", "base", "--name", "both"),
        *"--epochs 14 --batch 24 --learning-rate 4e-3 --temperature 0.1 --rank 24 --hold-out 0.25".split(),
        *"--negatives none --hard 0 --question-tokens 16 --passage-tokens 24 --no-ensemble".split(),
        *"--device cpu --threads 1 --no-bf16 --licence CC0-1.0".split(),
    ]
    outside = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(command, cwd=tmp_path, env=outside, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "experts/both\n"
    notes = read_manifest(tmp_path / "experts" / "both")["lineage"]["notes"]
    assert notes["trained on"] == "one, two"
    card = (tmp_path / "experts" / "both" / "CARD.md").read_text()
    rows = {r.split("|")[1].strip(): r.split("|")[2].strip() for r in card.splitlines() if r.startswith("| ")}
    kept = int(rows["questions kept back"])
    assert int(rows["training questions"]) + kept == len(one.questions) + len(two.questions)
    assert f"{kept} training questions kept back, searched in 48 passages of 48." in card
    assert float(rows["base"]) < 30
    assert float(rows["as shipped (rank 24, fp16)"]) > 80
    assert "Licence of the data: CC0-1.0." in card
    assert "training: " in done.stderr
    assert ", loss " in done.stderr


def test_the_script_says_what_is_wrong(tmp_path: Path) -> None:
    assert SCRIPT.exists(), HOW
    done = subprocess.run(
        [str(SCRIPT), "multi", "--data", "nowhere"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == "conclave-train: nowhere: there is no such file or folder\n"
