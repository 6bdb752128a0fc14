"""Low-rank updates and the file that carries them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from conclave_train.errors import TrainingError
from conclave_train.model.checkpoint import Checkpoint, read_checkpoint
from conclave_train.model.delta import Delta, extract, load_merged, merge, read_delta, write_delta
from conclave_train.model.lowrank import LowRankLinear, factors, make_low_rank, merged_state
from conclave_train.model.tensors import read_tensors, write_tensors
from conclave_train.model.tower import BiEncoder
from conftest import write_checkpoint


def changed(model: BiEncoder, size: float = 0.02, seed: int = 4) -> BiEncoder:
    """Every trainable weight but the embedding tables moved a little."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "_embeddings" not in name:
                p.add_(torch.randn(p.shape, generator=generator) * size)
    return model


@pytest.mark.parametrize("rank", [1, 3, 6, 99])
def test_factors_are_the_best_of_their_rank(rank: int) -> None:
    """The error is the norm of the singular values that are left out (Eckart and Young)."""
    change = torch.randn(9, 6, generator=torch.Generator().manual_seed(1))
    up, down, kept = factors(change, rank)
    s = np.linalg.svd(change.numpy().astype(np.float64), compute_uv=False)
    r = min(rank, 6)
    assert up.shape == (9, r)
    assert down.shape == (r, 6)
    assert float((change - up @ down).norm()) == pytest.approx(float(np.linalg.norm(s[r:])), abs=1e-5)
    assert kept == pytest.approx(float((s[:r] ** 2).sum() / (s**2).sum()), abs=1e-9)
    assert torch.equal(factors(change, rank)[0], up)


@pytest.mark.parametrize("tied", [True, False])
def test_full_rank_survives_the_file(checkpoint: Checkpoint, tmp_path: Path, tied: bool) -> None:
    """A delta of full rank gives the trained model back, within the rounding of fp16."""
    model = changed(checkpoint.model() if tied else checkpoint.model().untied())
    states = {name: merged_state(t) for name, t in model.towers().items()}
    delta = extract(checkpoint, states, 64)
    assert delta.kept == pytest.approx(1)
    write_delta(tmp_path / "delta.safetensors", delta, {"name": "x"})
    back = load_merged(checkpoint, read_delta(tmp_path / "delta.safetensors"))
    assert back.tied == tied
    for name, tower in back.towers().items():
        for tensor, value in tower.plain_state().items():
            torch.testing.assert_close(value, states[name][tensor], rtol=0, atol=3e-4)


def test_names_and_shapes_are_as_the_readme_says(checkpoint: Checkpoint, tmp_path: Path) -> None:
    model = changed(checkpoint.model())
    delta = extract(checkpoint, {"shared": merged_state(model.question)}, 5)
    write_delta(tmp_path / "delta.safetensors", delta, {})
    tensors, metadata = read_tensors(tmp_path / "delta.safetensors")
    assert metadata == {"format": "conclave-delta-1", "base_sha256": checkpoint.sha256}
    assert {t.dtype for t in tensors.values()} == {torch.float16}
    at = "shared.encoder.layer.1.intermediate.dense"
    assert tensors[f"{at}.weight.up"].shape == (64, 5)
    assert tensors[f"{at}.weight.down"].shape == (5, 32)
    assert tensors[f"{at}.bias.diff"].shape == (64,)
    assert tensors["shared.embeddings.LayerNorm.weight.diff"].shape == (32,)
    assert not [n for n in tensors if "_embeddings" in n]
    assert len(tensors) == 2 * 6 * 2 + 2 * (6 + 4) + 2
    write_delta(tmp_path / "again.safetensors", delta, {})
    assert (tmp_path / "again.safetensors").read_bytes() == (tmp_path / "delta.safetensors").read_bytes()


def test_low_rank_training_is_what_its_merged_weights_do(checkpoint: Checkpoint) -> None:
    model = checkpoint.model().eval()
    ids, keep = torch.tensor([[2, 9, 10, 3]]), torch.ones(1, 4, dtype=torch.bool)
    before = model.question(ids, keep)
    make_low_rank(model.question, 4, 8.0, "query,value,output")
    torch.testing.assert_close(model.question(ids, keep), before)  # up begins at zero
    layers = [m for m in model.modules() if isinstance(m, LowRankLinear)]
    assert len(layers) == 6
    with torch.no_grad():
        for layer in layers:
            layer.up.normal_(std=0.3)
    moved = model.question(ids, keep)
    assert float((moved - before).detach().abs().max()) > 1e-3
    plain = checkpoint.model().eval()
    plain.question.load_plain_state(merged_state(model.question))
    torch.testing.assert_close(plain.question(ids, keep), moved, rtol=0, atol=2e-6)
    delta = extract(checkpoint, {"shared": merged_state(model.question)}, 4)
    assert delta.kept == pytest.approx(1, abs=1e-9)


def test_only_what_is_asked_for_is_trained(checkpoint: Checkpoint) -> None:
    tower = checkpoint.model().question
    make_low_rank(tower, 4, 8.0, "query")
    names = {n for n, p in tower.named_parameters() if p.requires_grad and p.dim() == 2}
    assert names == {f"bert.encoder.layer.{i}.attention.self.query.{x}" for i in (0, 1) for x in ("up", "down")}
    with pytest.raises(TrainingError, match="'keys' is not one of"):
        make_low_rank(tower, 4, 8.0, "keys")


def test_a_delta_of_another_base_is_refused(checkpoint: Checkpoint, tmp_path: Path) -> None:
    delta = extract(checkpoint, {"shared": merged_state(changed(checkpoint.model()).question)}, 4)
    other = read_checkpoint(write_checkpoint(tmp_path / "other", seed=9))
    with pytest.raises(TrainingError, match="belongs to a base"):
        merge(other, delta)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shared.nothing.up": torch.zeros(2, 2)}, "no counterpart"),
        ({"shared.encoder.layer.0.output.dense.bias.diff": torch.zeros(5)}, r"gives \(5,\)"),
        ({"shared.encoder.layer.0.output.dense.weight.scale": torch.zeros(5)}, "not understood"),
        ({"left.encoder.layer.0.output.dense.bias.diff": torch.zeros(32)}, "towers"),
    ],
)
def test_a_delta_that_does_not_fit_is_refused(
    checkpoint: Checkpoint, change: dict[str, torch.Tensor], message: str
) -> None:
    delta = extract(checkpoint, {"shared": merged_state(changed(checkpoint.model()).question)}, 4)
    with pytest.raises(TrainingError, match=message):
        merge(checkpoint, Delta(delta.base_sha256, {**delta.tensors, **change}))


def test_nothing_learnt_is_no_delta(checkpoint: Checkpoint) -> None:
    with pytest.raises(TrainingError, match="changed nothing"):
        extract(checkpoint, {"shared": checkpoint.states["shared"]}, 4)


def test_a_foreign_file_is_refused(tmp_path: Path) -> None:
    write_tensors(tmp_path / "x.safetensors", {"a": torch.zeros(1)}, {})
    with pytest.raises(TrainingError, match="conclave-delta-1 is read"):
        read_delta(tmp_path / "x.safetensors")
