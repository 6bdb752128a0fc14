"""The manifest in the server's format."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from conclave_train.bundle.manifest import Folder, Manifest, check_name
from conclave_train.bundle.representatives import representatives
from conclave_train.errors import TrainingError

MANIFEST = Manifest(
    name="x", dimension=384, pooling="mean", normalise=True, max_tokens=(64, 256), lower_case=True,
    template="title-dot-text", source="base", source_sha256="0" * 64, architecture="bert", licence="",
    tokenizer="vocab.txt", question="question.onnx", passage="passage.onnx",
)  # fmt: skip


def test_fingerprints_are_the_servers() -> None:
    """Values from Go's models.Bundle.Fingerprint, whose test has the same manifest and values."""
    files = {"vocab.txt": "a" * 64, "question.onnx": "b" * 64, "passage.onnx": "c" * 64}
    assert MANIFEST.fingerprint("question", files).startswith("088bb91113f690dccca59cee473bd89f984621235c096555a")
    assert MANIFEST.fingerprint("passage", files).startswith("c547991d67cca87ecd00564470b93342b28a3dcc920c2da64")


def test_a_folder_that_is_no_bundle_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("x")
    with pytest.raises(TrainingError, match="is no expert bundle"):
        Folder(tmp_path / "precious")
    with pytest.raises(RuntimeError), Folder(tmp_path / "new") as folder:
        folder.path("file").write_text("half")
        raise RuntimeError
    assert sorted(f.name for f in tmp_path.iterdir()) == ["precious"]


def test_names() -> None:
    assert check_name("my-domain.2") == "my-domain.2"
    for name in ("", "A", "-a", "a-", "a/b", "a" * 65):
        with pytest.raises(TrainingError, match="--name"):
            check_name(name)


def test_representatives_are_questions_of_every_group() -> None:
    """Three far groups of very different size, five representatives: each group has one, and all are members."""
    generator = torch.Generator().manual_seed(1)
    centres = torch.eye(8)[:3]
    groups = torch.tensor([0] * 200 + [1] * 20 + [2] * 80)
    x = torch.nn.functional.normalize(centres[groups] + 0.05 * torch.randn(300, 8, generator=generator), dim=1)
    found = representatives(x, 5, seed=2)
    assert len(found) <= 5
    assert ((found @ x.T).max(1).values > 1 - 1e-6).all()
    assert set((found @ centres.T).argmax(1).tolist()) == {0, 1, 2}
    assert torch.equal(found, representatives(x, 5, seed=2))
    assert len(representatives(x, 1000, seed=2)) == 300
