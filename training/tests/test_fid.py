"""Fusion-in-Decoder: the model against transformers' outputs, and a run from data to a checkpoint."""

from __future__ import annotations

import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from conclave_train.cli import main
from conclave_train.errors import Interrupted, TrainingError
from conclave_train.fid import FidJob, train_fid
from conclave_train.fit.encode import Device
from conclave_train.fit.fused import states
from conclave_train.model.t5 import bucket, read_t5
from conclave_train.model.tensors import read_tensors
from conclave_train.settings import FidSettings
from conftest import tiny_domain, write_domain

SMALL = FidSettings(
    epochs=2, batch=4, passages_per_question=3, learning_rate=3e-3, dropout=0.0, tokens=48, hold_out=0.2
)


def reference() -> Path:
    """What transformers made; see make.py there."""
    path = Path(__file__).parents[2] / "encoder" / "testdata" / "fid"
    if not path.exists():
        pytest.skip("encoder/testdata/fid is not here: the package stands alone")
    return path


def t5_folder(path: Path, name: str = "plain") -> Path:
    shutil.copytree(reference() / name, path)
    (path / "tokenizer.json").write_bytes(gzip.decompress((reference() / "tokenizer.first.json.gz").read_bytes()))
    return path


@pytest.mark.parametrize("name", ["plain", "gated", "fid"])
def test_equals_transformers(name: str) -> None:
    model = read_t5(reference() / name).eval()
    golden: dict[str, Any] = json.loads((reference() / "golden.json").read_text())
    for case in golden["checkpoints"][name]:
        with torch.inference_mode():
            found = states(model, case["ids"], Device())
            logits = model.say(found, torch.tensor([case["forced"]]))[0]
            said = model.answer(found, 1, len(case["greedy"]))
        assert torch.allclose(logits, torch.tensor(case["logits"]), atol=1e-4)
        assert said == [t for t in case["greedy"] if t != 1]


def test_buckets() -> None:
    golden: dict[str, Any] = json.loads((reference() / "golden.json").read_text())
    for key, sides in golden["buckets"].items():
        buckets, most = map(int, key.split())
        distance = torch.arange(-most - 3, most + 4)
        assert bucket(distance, True, buckets, most).tolist() == sides["encoder"]
        assert bucket(distance, False, buckets, most).tolist() == sides["decoder"]


def job(tmp_path: Path, name: str = "out", **more: Any) -> FidJob:
    base = tmp_path / "t5"
    if not base.exists():
        t5_folder(base)
    domain = tiny_domain(questions=4)
    return FidJob("writer", (domain,), base, tmp_path / name, tmp_path / f"run-{name}", quiet=True, **more)


def test_learns_and_resumes(tmp_path: Path) -> None:
    before, _ = read_tensors(t5_folder(tmp_path / "t5") / "model.safetensors")
    out = train_fid(job(tmp_path, settings=SMALL))
    after, _ = read_tensors(out / "model.safetensors")
    assert after.keys() == before.keys()
    assert any(not torch.equal(after[n].half(), before[n]) for n in after)
    assert "| em |" in (out / "CARD.md").read_text() or "em" in (out / "CARD.md").read_text()
    asked = iter([False] * 5 + [True])
    with pytest.raises(Interrupted):
        train_fid(job(tmp_path, "again", settings=SMALL, stop=lambda: next(asked)))
    again = train_fid(job(tmp_path, "again", settings=SMALL))
    assert (again / "model.safetensors").read_bytes() == (out / "model.safetensors").read_bytes()


def test_loss_falls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The answers of few questions are learned by heart."""
    made = job(tmp_path, settings=replace(SMALL, epochs=12, hold_out=0.0, limit=8))
    trained = read_t5(train_fid(made)).eval()
    base = read_t5(tmp_path / "t5").eval()

    def loss(model: Any) -> float:
        from tokenizers import Tokenizer

        from conclave_train.fid import Reading

        reading = Reading(
            list(made.domains[0].questions[:8]), made.domains[0], [[] for _ in range(8)],
            Tokenizer.from_file(str(tmp_path / "t5" / "tokenizer.json")), made.settings,
        )  # fmt: skip
        total = 0.0
        with torch.inference_mode():
            for i in range(8):
                answer = reading.answer(i, 0)
                logits = model.say(states(model, reading.passages(i, 0), Device()), torch.tensor([[0, *answer[:-1]]]))
                total += float(torch.nn.functional.cross_entropy(logits[0], torch.tensor(answer)))
        return total / 8

    assert loss(trained) < 0.5 * loss(base)


def test_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(TrainingError, match=r"tokenizer\.json"):
        (t5_folder(tmp_path / "t5") / "tokenizer.json").unlink()
        train_fid(job(tmp_path, settings=SMALL))
    with pytest.raises(TrainingError, match="--passages-per-question"):
        train_fid(job(tmp_path, settings=replace(SMALL, passages_per_question=0)))
    data = write_domain(tmp_path / "data", tiny_domain(questions=4))
    assert main(["fid", "--data", str(data), "--name", "x", "--run", str(tmp_path / "r")]) == 1
    assert "--base" in capsys.readouterr().err
