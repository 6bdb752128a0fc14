"""What a card and a manifest say about how an expert came to be."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
from pathlib import Path

import torch

from conclave_train.bundle.manifest import read_manifest
from conclave_train.data.load import load
from conclave_train.expert import train_expert
from conclave_train.job import Job
from conclave_train.settings import EnsembleSettings, ExpertSettings
from conftest import tiny_domain, write_checkpoint, write_domain

SETTINGS = ExpertSettings(
    epochs=1, batch=24, seed=4711, question_tokens=16, passage_tokens=24, hold_out=0.0, negatives="none", hard=0,
    learning_rate=1e-3,
)  # fmt: skip
MEMBERS = EnsembleSettings(members=2, hidden=4, ensemble_epochs=1, ensemble_batch=64, ensemble_hard=0)


def test_the_card_says_how_to_make_it_again(tmp_path: Path) -> None:
    """Seeds and settings, versions, SHA-256 of each file and of the base, fingerprint of the records, licence."""
    base = write_checkpoint(tmp_path / "base")
    folders = [
        write_domain(tmp_path / "one", tiny_domain(name="one", topics=range(6))),
        write_domain(tmp_path / "two", tiny_domain(name="two", topics=range(6, 12))),
    ]
    job = Job(
        "both", tuple(load(f) for f in folders), base, tmp_path / "out", tmp_path / "run", SETTINGS, MEMBERS,
        licence="CC0-1.0", quiet=True,
    )  # fmt: skip
    bundle = train_expert(job)
    card = (bundle / "CARD.md").read_text()
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in card.splitlines() if line.startswith("| ")]
    facts = {row[0]: row[1] for row in rows if len(row) == 2}
    assert facts["seed"] == "4711"
    assert facts["ensemble_seed"] == str(MEMBERS.ensemble_seed)
    assert facts["learning_rate"] == "0.001"
    assert facts["temperature"] == "0.05"  # the one in use, not the 0 that stands for it
    assert facts["SHA-256 of the base's weights"] == digest(base / "model.safetensors")
    assert "Licence of the data: CC0-1.0." in card
    files = [f / name for f in folders for name in ("passages.jsonl", "questions.train.jsonl")]
    expected = [[f.name, str(len(f.read_text().splitlines())), digest(f)] for f in files]
    assert [row for row in rows if len(row) == 3 and len(row[2]) == 64] == expected
    versions = next(line for line in card.splitlines() if line.startswith("Versions: "))
    for version in [
        f"python {platform.python_version()}",
        f"torch {torch.__version__}",
        *(f"{p} {importlib.metadata.version(p)}" for p in ("numpy", "tokenizers")),
    ]:
        assert version in versions
    # The fingerprint, from the records as they were written.
    one, two = (load(f) for f in folders)
    everything = hashlib.sha256()
    for p in [*one.passages, *two.passages]:
        everything.update(repr((p.id, p.title, p.text)).encode())
    for q in [*one.questions, *two.questions]:
        everything.update(repr((q.id, q.text, q.positives, q.answers, q.negatives)).encode())
    assert facts["SHA-256 of all records"] == everything.hexdigest()
    notes = read_manifest(bundle)["lineage"]["notes"]
    assert notes["setting seed"] == "4711"
    assert notes["data fingerprint"] == everything.hexdigest()
    assert [notes[f"data {f.name} {i}"].split()[-1] for i, f in enumerate(files)] == [digest(f) for f in files]


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
