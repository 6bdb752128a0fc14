"""The committed golden files, whose merged weights and vectors NumPy computed from the documented format."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from conclave_train.bundle.manifest import read_manifest
from conclave_train.data.records import Passage
from conclave_train.fit.encode import Device, encode_all
from conclave_train.interaction.head import load_late
from conclave_train.model.checkpoint import read_checkpoint
from conclave_train.model.delta import load_merged, merge, read_delta
from conclave_train.model.tensors import read_tensors

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("name", ["tied", "two"])
def test_golden_bundles(name: str) -> None:
    base = read_checkpoint(GOLDEN / "base")
    values = read_manifest(GOLDEN / name)
    delta = read_delta(GOLDEN / name / "delta.safetensors")
    merged = merge(base, delta)
    assert set(merged) == ({"shared"} if name == "tied" else {"question", "passage"})
    for tower, state in merged.items():
        expected, _ = read_tensors(GOLDEN / f"{name}.{tower}.safetensors")
        assert expected.keys() == state.keys()
        for tensor, value in expected.items():
            torch.testing.assert_close(state[tensor], value, rtol=0, atol=1e-6)
    model = load_merged(base, delta)
    rows = json.loads((GOLDEN / f"{name}.vectors.json").read_text())
    limits = values["max_tokens"]
    questions = base.tokens.questions([r["text"] for r in rows], limits["question"])
    passages = [Passage(str(i), r["title"], r["text"]) for i, r in enumerate(rows)]
    texts = base.tokens.passages(passages, values["template"], limits["passage"])
    for side, tower_, ids in (("question", model.question, questions), ("passage", model.passage, texts)):
        own = encode_all(tower_, ids, base.tokens, Device())
        np.testing.assert_allclose(own.numpy(), [r[side] for r in rows], atol=2e-6)


def test_golden_late_bundle() -> None:
    """Every token's vector and importance, the special ones included."""
    base = read_checkpoint(GOLDEN / "base")
    values = read_manifest(GOLDEN / "late")
    tower, head = load_late(base, read_delta(GOLDEN / "late" / "delta.safetensors"))
    assert head.dimension == values["dimension"]
    rows = json.loads((GOLDEN / "late.tokens.json").read_text())
    for row, ids in zip(rows, base.tokens.questions([r["text"] for r in rows], 48), strict=True):
        batch, keep = base.tokens.pad_batch([ids])
        with torch.no_grad():
            vectors, importance = head(tower.eval().bert(batch, keep))
        own = torch.cat([vectors, importance.unsqueeze(-1)], dim=-1)[0]
        np.testing.assert_allclose(own.numpy(), row["tokens"], atol=2e-6)
