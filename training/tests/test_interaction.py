"""The head of late interaction: scores, gradients, loss, negatives and states against sums by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from conclave_train.data.records import Domain, Passage, Question
from conclave_train.data.split import choose_pool
from conclave_train.errors import Interrupted, TrainingError
from conclave_train.fit.encode import Device, encode_all
from conclave_train.fit.state import RunFolder
from conclave_train.interaction.fit import contrast, scores
from conclave_train.interaction.head import LateHead, max_sim, read_head, shares
from conclave_train.interaction.measure import NOWHERE, ranks_in
from conclave_train.interaction.pool import Found, draw, without_answers
from conclave_train.interaction.states import CHUNK, States, encode_states, principal, spread
from conclave_train.model.checkpoint import Checkpoint
from conclave_train.model.delta import Delta, load_merged, merge
from conclave_train.model.tokens import Ids
from conclave_train.retrieval.negatives import Filter
from conftest import tiny_domain


def head(states: int = 6, dimension: int = 4) -> LateHead:
    """Random weights in float64, so that differences can check gradients."""
    torch.manual_seed(5)
    made = LateHead(states, dimension).double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_()
    return made


def store(lengths: list[int], seed: int, states: int = 6) -> States:
    """Random states of texts of these lengths."""
    rows = np.random.default_rng(seed).normal(size=(sum(lengths), states)).astype(np.float16)
    return States(rows, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), torch.empty(0))


def naive(own: LateHead, question: Tensor, passage: Tensor) -> Tensor:
    """The score by the formulas, token by token: Σ w_i max_j v_i·v_j."""
    p, a, b = own.projection.weight, own.importance.weight[0], own.importance.bias[0]
    importance = [torch.log1p(torch.exp((h / h.norm()) @ a + b)) for h in question]
    total = question.new_zeros(())
    for h, weight in zip(question, importance, strict=True):
        v = p @ h / (p @ h).norm()
        best = torch.stack([v @ (p @ g) / (p @ g).norm() for g in passage]).max()
        total = total + weight / torch.stack(importance).sum() * best
    return total


def test_scores_and_gradients_are_those_of_a_loop() -> None:
    """Questions and passages of many lengths in one padded batch, a passage in two columns, an empty column."""
    own = head()
    questions, passages = store([3, 1, 5], 1), store([4, 2, 7, 1, 3], 2)
    rows, columns = [2, 0, 1], np.array([[0, 3, 1], [2, 0, 4], [3, 1, -1]])
    # The stores give float32; the test wants float64.
    for texts in (questions, passages):
        gather = texts.gather
        texts.gather = lambda p, d="cpu", g=gather: (g(p, d)[0].double(), g(p, d)[1])  # type: ignore[method-assign,misc]
    found = scores(own, questions, passages, rows, columns, "cpu")
    parts = [[torch.from_numpy(t.rows[a:b]).double() for a, b in zip(t.starts, t.starts[1:], strict=False)]
             for t in (questions, passages)]  # fmt: skip
    by_hand = torch.stack(
        [
            torch.stack([naive(own, parts[0][q], parts[1][p]) if p >= 0 else torch.tensor(-math.inf) for p in places])
            for q, places in zip(rows, columns.tolist(), strict=True)
        ]
    )
    torch.testing.assert_close(found, by_hand, rtol=0, atol=1e-12)
    scale = torch.tensor(0.7, dtype=torch.float64)
    gradients = [torch.autograd.grad(contrast(s, scale), list(own.parameters())) for s in (found, by_hand)]
    for one, other in zip(*gradients, strict=True):
        assert float(other.abs().max()) > 1e-6
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def test_the_loss_by_hand() -> None:
    """-log of the positive's share of exp(score · scale); what is -inf has no share."""
    found = torch.tensor([[0.5, 0.25, -0.5], [0.1, 0.3, -math.inf]])
    scale = math.exp(1.5)
    first = -math.log(math.exp(0.5 * scale) / sum(math.exp(x * scale) for x in (0.5, 0.25, -0.5)))
    second = -math.log(math.exp(0.1 * scale) / (math.exp(0.1 * scale) + math.exp(0.3 * scale)))
    log_scale = torch.tensor(1.5, requires_grad=True)
    loss = contrast(found, log_scale)
    assert float(loss.detach()) == pytest.approx((first + second) / 2, abs=1e-6)
    # d/ds of log Σ exp(x·e^s) - x_0·e^s is e^s times (the mean of x by the shares, less x_0).
    slopes = []
    for row in ((0.5, 0.25, -0.5), (0.1, 0.3)):
        parts = [math.exp(x * scale) for x in row]
        slopes.append(scale * (sum(x * p for x, p in zip(row, parts, strict=True)) / sum(parts) - row[0]))
    assert float(torch.autograd.grad(loss, log_scale)[0]) == pytest.approx(sum(slopes) / 2, abs=1e-6)


def test_padding_and_nothing() -> None:
    """Padded tokens weigh nothing and match nothing; no tokens score 0 in a question, -1 in a passage."""
    weights = shares(torch.tensor([[1.0, 3.0, 9.0], [2.0, 2.0, 2.0]]), torch.tensor([[1, 1, 0], [0, 0, 0]]).bool())
    assert weights.tolist() == [[0.25, 0.75, 0], [0, 0, 0]]
    question = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]])
    passages = torch.tensor([[[[-0.6, -0.8], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]])
    keep = torch.tensor([[[True, False], [False, False]]])
    found = max_sim(question, weights[:1], passages, keep)
    torch.testing.assert_close(found, torch.tensor([[-0.6 * 0.25 - 0.8 * 0.75, -1.0]]))
    flat = torch.tensor([[1.0], [2.0], [3.0]])
    assert spread(flat, torch.tensor([[True, False], [True, True]])).squeeze(-1).tolist() == [[1, 0], [2, 3]]


def test_every_token_matters_alike_at_first() -> None:
    importance = LateHead(6, 4).weigh(torch.randn(5, 6))
    torch.testing.assert_close(importance, torch.ones(5), rtol=0, atol=2e-3)


def rows_of(checkpoint: Checkpoint) -> list[Ids]:
    domain = tiny_domain()
    return checkpoint.tokens.passages(domain.passages, "title-dot-text", 24)


def test_states_are_the_encoders(checkpoint: Checkpoint, tmp_path: Path) -> None:
    """Each text alone gives the same unit states without the first and last, and the same pooled vector."""
    rows = rows_of(checkpoint)
    tower = checkpoint.model().question.eval()
    folder = RunFolder(tmp_path / "run", {})
    found = encode_states(tower, rows, checkpoint.tokens, Device(), folder, "x", quiet=True)
    torch.testing.assert_close(found.pooled, encode_all(tower, rows, checkpoint.tokens, Device()), rtol=0, atol=1e-6)
    for place in (0, 7, len(rows) - 1):
        ids = torch.from_numpy(rows[place].astype(np.int64))[None]
        with torch.no_grad():
            alone = tower.bert(ids, torch.ones_like(ids, dtype=torch.bool))[0, 1:-1]
        flat, keep = found.gather([place])
        assert keep.shape == (1, len(rows[place]) - 2)
        torch.testing.assert_close(flat, alone / alone.norm(dim=1, keepdim=True), rtol=0, atol=1e-3)


def test_an_encoding_that_was_stopped_gives_the_same_bytes(checkpoint: Checkpoint, tmp_path: Path) -> None:
    rows = rows_of(checkpoint) * 3
    assert len(rows) > 4 * CHUNK
    tower = checkpoint.model().question.eval()
    for name in ("whole", "parts"):
        folder = RunFolder(tmp_path / name, {})
        if name == "parts":
            for after in (1, 2):
                asked = iter(range(100))
                with pytest.raises(Interrupted, match="the same command goes on"):
                    encode_states(tower, rows, checkpoint.tokens, Device(), folder, "x",
                                  lambda n=after, i=asked: next(i) == n, True)  # type: ignore[misc]  # fmt: skip
            assert folder.read_json("x.json") == {"chunks": 3}
        encode_states(tower, rows, checkpoint.tokens, Device(), folder, "x", quiet=True)
    for file in ("x.states", "x.pooled", "x.json"):
        assert (tmp_path / "whole" / file).read_bytes() == (tmp_path / "parts" / file).read_bytes(), file
    (tmp_path / "parts" / "x.states").write_bytes(b"short")
    with pytest.raises(TrainingError, match=r"x\.states is missing or not of this run: give --fresh"):
        encode_states(tower, rows, checkpoint.tokens, Device(), folder, "x", quiet=True)


def test_principal_directions() -> None:
    """States near a plane: the first two directions span it, and a projection to them keeps products."""
    random = np.random.default_rng(3)
    plane = np.linalg.qr(random.normal(size=(6, 2)))[0]
    states = store([5] * 40, 0)
    states.rows[:] = random.normal(size=(200, 2)) @ plane.T + 0.01 * random.normal(size=(200, 6))
    found = principal(states, 2).double().numpy()
    np.testing.assert_allclose(found @ found.T, np.eye(2), atol=1e-6)
    np.testing.assert_allclose(found.T @ found, plane @ plane.T, atol=0.01)
    assert (found[np.arange(2), np.abs(found).argmax(1)] > 0).all()


def test_negatives_are_no_answers_and_come_from_both() -> None:
    """Questions that differ in case and mark share answers; an answer's text in a passage keeps it out."""
    passages = [Passage(str(i), "", f"text {i}") for i in range(12)] + [Passage("a", "", "the magic word")]
    asked = [Question("q", "Why?", ("0",), ("magic",), ("5",)), Question("r", "why", ("1",))]
    pool = Domain("x", passages, asked)
    found = Found([[0, 1, 2, 3, 12], [0, 1, 2, 3]], [[4, 1, 12, 6, 7], [12, 0, 8]])
    kept = without_answers(pool, asked, found, Filter(pool), 3)
    assert kept == Found([[2, 3], [2, 3]], [[5, 4, 6], [12, 8]])
    many = Found([list(range(20))], [list(range(10, 30))])
    for seed in range(20):
        drawn = draw(many, 0, 12, 0.25, np.random.default_rng(seed))
        assert len(set(drawn)) == 12
        assert sum(p >= 10 for p in drawn) >= 3
        assert sum(p < 20 for p in drawn) >= 9
    assert sorted(draw(Found([[1, 2]], [[2, 3, 4, 5]]), 0, 10, 0.5, np.random.default_rng(1))) == [1, 2, 3, 4, 5]
    assert draw(Found([[]], [[]]), 0, 10, 0.5, np.random.default_rng(1)) == []


def test_a_pool_holds_what_questions_name() -> None:
    domain = tiny_domain()
    some = [replace(q, negatives=("tiny:11-0",)) for q in domain.questions[:2]]
    pool = choose_pool(domain, some, 10)
    assert len(pool.passages) == 10
    assert {id for q in some for id in (*q.positives, *q.negatives)} <= pool.index.keys()
    assert [p.id for p in choose_pool(domain, some, 3).passages] == [*some[0].positives[:4], "tiny:11-0"]
    assert choose_pool(domain, some, 0).passages == domain.passages


def test_ranks_in_lists() -> None:
    assert ranks_in([[4, 2, 9], [1], []], [[9, 2], [3], [0]]).tolist() == [2, NOWHERE, NOWHERE]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"importance.bias": None}, 'lacks the tensor "shared.late.importance.bias.new"'),
        ({"odd": torch.ones(1)}, 'has the tensor "shared.late.odd.new"'),
        ({"projection.weight": torch.ones(6, 32)}, "6 is no multiple of 4"),
        ({"projection.weight": torch.ones(8, 31)}, r"is \(8, 31\); \(8, 32\) is needed"),
        ({"importance.weight": torch.ones(32)}, r"is \(32,\); \(1, 32\) is needed"),
    ],
)
def test_heads_that_cannot_be(changes: dict[str, Tensor | None], message: str) -> None:
    tensors = LateHead(32, 8).tensors()
    for name, value in changes.items():
        if value is None:
            del tensors[f"shared.late.{name}.new"]
        else:
            tensors[f"shared.late.{name}.new"] = value
    with pytest.raises(TrainingError, match=message):
        read_head(Delta("", tensors).new, 32)


def test_new_tensors_of_a_delta(checkpoint: Checkpoint) -> None:
    """They stand beside the base's; a name that the base has, a value that is not finite, a plain model: errors."""
    new = torch.ones(4, 32).half()
    delta = Delta(checkpoint.sha256, {"shared.late.projection.weight.new": new})
    merged = merge(checkpoint, delta)["shared"]
    assert torch.equal(merged.pop("late.projection.weight"), new.float())
    assert merged.keys() == checkpoint.states["shared"].keys()
    with pytest.raises(TrainingError, match="a bi-encoder has not"):
        load_merged(checkpoint, delta)
    taken = {"shared.embeddings.LayerNorm.bias.new": torch.ones(32).half()}
    with pytest.raises(TrainingError, match="the base has one of that name"):
        merge(checkpoint, replace(delta, tensors=taken))
    with pytest.raises(TrainingError, match="not finite"):
        merge(checkpoint, replace(delta, tensors={"shared.late.projection.weight.new": new / 0}))
