"""Negatives that the model finds itself, in the epochs that ask for it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from conclave_train.expert import train_expert
from conclave_train.fit.encode import Device, encode_all
from conclave_train.fit.loop import Texts
from conclave_train.fit.state import RunFolder
from conclave_train.job import Job, prepare
from conclave_train.mining import Miner
from conclave_train.settings import ExpertSettings
from conftest import tiny_domain, write_checkpoint

SETTINGS = ExpertSettings(
    epochs=3, batch=24, learning_rate=3e-3, question_tokens=16, passage_tokens=24, hold_out=0.0, negatives="bm25",
    hard=1, depth=12, mine_at="2,3", ceiling=1.0, answer_filter=False,
)  # fmt: skip


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """A run that mines before its second and third epoch."""
    base = write_checkpoint(tmp_path / "base")
    return Job("tiny", (tiny_domain(),), base, tmp_path / "out", tmp_path / "run", SETTINGS, quiet=True)


def test_each_epoch_that_asks_for_it_gets_its_own(job: Job) -> None:
    """The first epoch has BM25's, the second and third what the model of that time finds."""
    train_expert(job)
    assert sorted(f.name for f in job.run.glob("negatives-*")) == [
        "negatives-epoch-2.json", "negatives-epoch-3.json", "negatives-first.json",
    ]  # fmt: skip
    first, second, third = (
        json.loads((job.run / f"negatives-{name}.json").read_text()) for name in ("first", "epoch-2", "epoch-3")
    )
    domain = job.domains[0]
    assert len(first) == len(second) == len(third) == len(domain.questions)
    # Half of a list is new where there is enough to take from.
    assert sum(a != b for a, b in zip(first, second, strict=True)) > len(first) / 2
    assert second != third  # the model has moved
    for question, negatives in zip(domain.questions, second, strict=True):
        assert not {domain.index[id] for id in question.positives} & set(negatives)


def test_what_is_mined_decides_the_weights(job: Job, tmp_path: Path) -> None:
    """The same run without mining ends elsewhere."""
    mined = train_expert(job)
    plain = train_expert(
        replace(job, settings=replace(SETTINGS, mine_at=""), out=tmp_path / "out2", run=tmp_path / "run2")
    )
    assert not list((tmp_path / "run2").glob("negatives-epoch-*"))
    assert (mined / "delta.safetensors").read_bytes() != (plain / "delta.safetensors").read_bytes()


def test_a_batch_has_what_the_model_ranks_first(job: Job) -> None:
    """The first of a question's mined list is its best-scored passage below the ceiling that is no positive."""
    prepared = prepare(job)
    tokens, domain = prepared.checkpoint.tokens, prepared.domain
    texts = Texts(
        tokens.questions([q.text for q in prepared.train], 16),
        tokens.passages(domain.passages, prepared.template, 24),
        tokens,
    )
    model = prepared.checkpoint.model().eval()
    miner = Miner(prepared, replace(SETTINGS, ceiling=0.95), texts, Device(), RunFolder(job.run, {}), quiet=True)
    before, after = (miner.batches(epoch, model) for epoch in (0, 1))
    assert before.negatives == miner.first()
    scores = encode_all(model.question, texts.questions, tokens, Device()) @ (
        encode_all(model.passage, texts.passages, tokens, Device()).T
    )
    checked = 0
    for row, negatives, places in zip(scores, after.negatives, prepared.places(prepared.train), strict=True):
        best = float(row[places].max())
        allowed = [i for i in range(len(row)) if i not in places and float(row[i]) <= best - 0.05 * abs(best)]
        if not allowed:
            continue
        assert float(row[negatives[0]]) == pytest.approx(float(row[torch.tensor(allowed)].max()), abs=1e-5)
        checked += 1
    assert checked > len(prepared.train) / 2
