"""The members: what they compute, that each sees its own, and how they are written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch
from torch.nn import functional as F

from conclave_train.bundle.ensemble_graph import load_members, save_members, write_ensemble
from conclave_train.errors import Interrupted
from conclave_train.fit.loss import in_batch_nll
from conclave_train.fit.state import RunFolder
from conclave_train.muf import fit
from conclave_train.muf.confidence import auroc, confidence
from conclave_train.muf.fit import Frozen, fit_members, loss_over, member_scores
from conclave_train.muf.measure import measure, top_one
from conclave_train.muf.members import Members, ensemble_loss
from conclave_train.retrieval.accuracy import accuracy, first_ranks
from conclave_train.settings import EnsembleSettings
from conftest import tiny_domain


@pytest.mark.parametrize("residual", [False, True])
def test_members_are_three_linear_layers(residual: bool) -> None:
    members = Members(6, 4, 5, seed=1, residual=residual)
    x = torch.randn(3, 6)
    out = members(x)
    assert out.shape == (3, 4, 6)
    for k in range(4):
        w = [p[k].T for p in members.weights]
        b = [p[k, 0] for p in members.biases]
        h = F.relu(F.linear(F.relu(F.linear(x, w[0], b[0])), w[1], b[1]))
        torch.testing.assert_close(out[:, k], F.linear(h, w[2], b[2]) + (x if residual else 0))
    bound = 1 / 6**0.5
    assert 0.9 * bound < float(members.weights[0].detach().abs().max()) <= bound
    assert not torch.equal(members.weights[0][0], members.weights[0][1])


def test_loss_is_the_mean_of_the_members_own() -> None:
    """Each member's NLL over its own block, as DPR's loss computes it."""
    generator = torch.Generator().manual_seed(3)
    outputs, contexts = torch.randn(4, 5, 6, generator=generator), torch.randn(4, 8, 6, generator=generator)
    targets = torch.randint(0, 8, (4, 5), generator=generator)
    ignore = torch.zeros(4, 5, 8, dtype=torch.bool)
    ignore[2, 1, (int(targets[2, 1]) + 1) % 8] = True
    own = [float(in_batch_nll(outputs[k], contexts[k], targets[k], ignore[k], 0.5).value) for k in range(4)]
    value = ensemble_loss(outputs, contexts, targets, ignore, 0.5)
    assert float(value) == pytest.approx(float(np.mean(own)), abs=1e-6)


@pytest.mark.parametrize("half", [False, True])
def test_the_graph_gives_the_same_vectors(tmp_path: Path, half: bool) -> None:
    members = Members(16, 20, 12, seed=2)
    shipped = members.rounded() if half else members
    write_ensemble(tmp_path / "ensemble.onnx", shipped, half)
    session = onnxruntime.InferenceSession(str(tmp_path / "ensemble.onnx"), providers=["CPUExecutionProvider"])
    assert [(i.name, i.shape) for i in session.get_inputs()] == [("vector", ["batch", 16])]
    assert [(o.name, o.shape) for o in session.get_outputs()] == [("members", ["batch", 20, 16])]
    for batch in (1, 7):
        x = F.normalize(torch.randn(batch, 16), dim=1)
        out = session.run(None, {"vector": x.numpy()})[0]
        np.testing.assert_allclose(out, shipped(x).detach().numpy(), atol=1e-6)
    save_members(tmp_path / "ensemble.safetensors", shipped)
    back = load_members(tmp_path / "ensemble.safetensors")
    assert all(torch.equal(a, b) for a, b in zip(back.parameters(), shipped.parameters(), strict=True))


def frozen(noise: float = 0.8) -> Frozen:
    """Vectors in which a question is near its topic's passages, with noise."""
    domain = tiny_domain()
    random = np.random.default_rng(1)
    topics = random.normal(size=(12, 16))

    def near(ids: list[str], noise: float) -> torch.Tensor:
        rows = np.array([topics[int(id.replace(":", "-").split("-")[1])] for id in ids])
        return F.normalize(torch.from_numpy((rows + noise * random.normal(size=rows.shape)).astype(np.float32)), dim=1)

    return Frozen(near([q.id for q in domain.questions], noise), near([p.id for p in domain.passages], 0.3))


def test_members_learn_and_differ() -> None:
    domain, vectors = tiny_domain(), frozen()
    settings = EnsembleSettings(
        members=5, hidden=16, ensemble_epochs=25, ensemble_batch=32, ensemble_hard=0, share=0.5, ensemble_rate=1e-2
    )
    negatives: list[list[int]] = [[] for _ in domain.questions]

    def fitted(seed: int) -> Members:
        return fit_members(
            domain, domain.questions, negatives, vectors, replace(settings, ensemble_seed=seed), 0.1, quiet=True
        )

    members = fitted(1)
    places = np.tile(np.arange(len(domain.passages)), (len(domain.questions), 1))
    scores = member_scores(members, vectors.questions, vectors.passages, places)
    assert scores.shape == (len(domain.questions), 5, len(domain.passages))
    right = np.array(
        [
            [domain.passages[int(s.argmax())].id in q.positives for s in row]
            for row, q in zip(scores, domain.questions, strict=True)
        ]
    )
    assert (right.mean(axis=0) > 0.6).all()
    assert 0 < (scores.argmax(2) != scores.argmax(2)[:, :1]).mean() < 0.8
    assert torch.equal(fitted(1).weights[0], members.weights[0])
    assert not torch.equal(fitted(2).weights[0], members.weights[0])


def test_every_member_sees_sub_batches_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """At each step no two members have the same questions or passages; over an epoch each has all questions once."""
    domain, vectors = tiny_domain(), frozen()
    settings = EnsembleSettings(members=3, hidden=4, ensemble_epochs=2, ensemble_batch=32, ensemble_hard=0)
    places = {row.numpy().tobytes(): i for i, row in enumerate(vectors.questions)}
    assert len(places) == len(domain.questions)
    given: list[list[list[int]]] = []  # step → member → questions
    separately = Members.separately

    def questions(self: Members, x: torch.Tensor) -> torch.Tensor:
        given.append([[places[row.numpy().tobytes()] for row in block] for block in x])
        return separately(self, x)

    def loss(outputs: torch.Tensor, contexts: torch.Tensor, targets: torch.Tensor, *rest: Any) -> torch.Tensor:
        for a in range(3):
            own = vectors.questions[given[-1][a]]
            near = (own * contexts[a][targets[a]]).sum(1)
            assert float(near.mean()) > 0.5  # its block's passages are those of its questions
            for b in range(a):
                assert set(given[-1][a]) != set(given[-1][b])
                assert not torch.equal(contexts[a], contexts[b])
        return ensemble_loss(outputs, contexts, targets, *rest)

    monkeypatch.setattr(Members, "separately", questions)
    monkeypatch.setattr(fit, "ensemble_loss", loss)
    fit_members(domain, domain.questions, [[] for _ in domain.questions], vectors, settings, 0.1, quiet=True)
    assert len(given) == 2 * 6
    for epoch in (given[:6], given[6:]):
        for member in range(3):
            assert sorted(i for step in epoch for i in step[member]) == list(range(len(domain.questions)))
    assert given[0] != given[6]


def test_a_share_gives_every_member_its_own_questions() -> None:
    subsets = fit._subsets(40, EnsembleSettings(members=4, share=0.5))
    assert [len(set(s.tolist())) for s in subsets] == [20] * 4
    assert all(set(a) != set(b) for i, a in enumerate(subsets) for b in subsets[:i])


def test_first_weights_are_uniform_or_normal() -> None:
    normal = Members(64, 8, 32, seed=1, deviation=0.3).weights[0].detach()
    assert float(normal.std()) == pytest.approx(0.3, rel=0.02)
    assert float(normal.abs().max()) > 3 * 0.3
    assert float(Members(64, 8, 32, seed=1).weights[0].detach().abs().max()) <= 1 / 8


SMALL = EnsembleSettings(members=3, hidden=8, ensemble_epochs=6, ensemble_batch=32, ensemble_rate=1e-2)


def epochs_of(
    losses: list[float], folder: RunFolder | None = None, stop: Callable[[], bool] = lambda: False
) -> Members:
    """Members whose loss on questions kept back is said to be so after each epoch."""
    domain, said = tiny_domain(), iter(losses)
    negatives: list[list[int]] = [[] for _ in domain.questions]
    settings = replace(SMALL, ensemble_epochs=len(losses))
    return fit_members(
        domain, domain.questions, negatives, frozen(), settings, 0.1, "cpu", folder, stop, True, lambda _: next(said)
    )


def same(a: Members, b: Members) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a.parameters(), b.parameters(), strict=True))


def test_the_best_epoch_is_kept(tmp_path: Path) -> None:
    """The members after the epoch of the lowest loss, which a run that was stopped in between remembers."""
    second, last = epochs_of([3, 1, 2, 2]), epochs_of([3, 2, 2, 1])
    assert same(second, epochs_of([9, 1, 8, 8]))
    assert not same(second, last)
    folder = RunFolder(tmp_path, {})
    calls = iter([False, False, True])
    with pytest.raises(Interrupted):
        epochs_of([3, 1, 2, 2], folder, lambda: next(calls))
    assert same(second, epochs_of([2, 2, 2, 2], folder))  # which continues with the fourth


def test_loss_and_top_one_of_questions_kept_back() -> None:
    """Cross entropy over all passages with each question's best answer, by hand; and whose first passage answers."""
    generator = torch.Generator().manual_seed(5)
    questions, passages = torch.randn(70, 6, generator=generator), torch.randn(9, 6, generator=generator)
    positives = [[i % 9, (i + 2) % 9][: 1 + i % 2] for i in range(70)]
    members = Members(6, 4, 5, seed=1, residual=True)
    scores = (members(questions) @ passages.T).detach() / 0.5  # [70,4,9]
    by_hand, right = [], []
    for row, places in zip(scores.double(), positives, strict=True):
        p = row.softmax(1)
        by_hand.append(float(-p[:, places].sum(1).log().mean()))
        right.append([int(m.argmax()) in places for m in row])
    assert loss_over(members, questions, passages, positives, 0.5) == pytest.approx(float(np.mean(by_hand)), abs=1e-5)
    assert top_one(members, questions, passages, positives).tolist() == pytest.approx(np.mean(right, axis=0).tolist())


def test_what_an_ensemble_is_worth() -> None:
    """Both AUROCs against pairs counted one by one."""
    domain, vectors, some = tiny_domain(), frozen(2.0), replace(SMALL, members=8)
    fitted = fit_members(domain, domain.questions, [[]] * 192, vectors, some, 0.1, quiet=True)
    random = torch.Generator().manual_seed(6)
    foreign = F.normalize(torch.randn(60, 16, generator=random), dim=1)
    positives = [[domain.index[id] for id in q.positives] for q in domain.questions]
    known = {"kept_back": vectors.questions, "foreign": foreign, "passages": vectors.passages}
    worth = measure(fitted, known, positives, 12)
    assert (worth.questions, worth.foreign) == (len(domain.questions), 60)
    own = accuracy(first_ranks(vectors.questions, vectors.passages, positives))["top-1"]
    assert worth.expert == pytest.approx(own / 100)

    def sure_and_right(questions: torch.Tensor) -> list[tuple[float, int]]:
        """Each question's confidence over its first 12 passages, and the first."""
        out = []
        for q in questions:
            first = (vectors.passages @ q).argsort(descending=True)[:12]
            scores = (fitted(q[None])[0] @ vectors.passages[first].T).detach().numpy()
            out.append((float(confidence(scores, worth.shipped.temperature)), int(first[0])))
        return out

    home, away = sure_and_right(vectors.questions), sure_and_right(foreign)
    right = [c for (c, first), good in zip(home, positives, strict=True) if first in good]
    wrong = [c for (c, first), good in zip(home, positives, strict=True) if first not in good]
    assert worth.right == pytest.approx(auroc(right, wrong), abs=1e-3)
    assert worth.at_home == pytest.approx(auroc([c for c, _ in home], [c for c, _ in away]), abs=1e-3)
    assert worth.right is not None
    assert worth.right > 0.55  # of training's questions: they agree more about what is right
    assert worth.together is not None
    assert worth.home.after <= worth.home.before
    text = worth.text(len(domain.passages), 12)
    assert f"AUROC of the confidence, right first hits against wrong: {worth.right:.2f}." in text
    assert f"foreign ones: {worth.at_home:.2f}." in text
    alone = measure(fitted, known | {"foreign": torch.empty(0)}, positives, 12)
    assert alone.at_home is None
    assert alone.together is None
    assert "foreign" not in alone.text(48, 12)
