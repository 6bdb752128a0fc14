"""Chunks, seeded dropout and gradient caching."""

from __future__ import annotations

import pytest
import torch

from conclave_train.fit.encode import Device, cached_backward, encode_all, run
from conclave_train.fit.loss import in_batch_nll
from conclave_train.model.checkpoint import Checkpoint
from conclave_train.model.tokens import Ids
from conclave_train.model.tower import BiEncoder
from conftest import tiny_domain

CPU = Device()


def rows(checkpoint: Checkpoint, count: int) -> tuple[list[Ids], list[Ids]]:
    domain = tiny_domain()
    questions = checkpoint.tokens.questions([q.text for q in domain.questions[::17]][:count], 20)
    return questions, checkpoint.tokens.passages(domain.passages[: 2 * count], "title-dot-text", 20)


def gradients(model: BiEncoder) -> list[torch.Tensor]:
    return [p.grad.clone() for p in model.parameters() if p.grad is not None]


@pytest.mark.parametrize("tied", [True, False])
def test_cached_gradients_are_the_plain_ones(checkpoint: Checkpoint, tied: bool) -> None:
    """With dropout: the chunks of both passes must see the same masks."""
    questions, passages = rows(checkpoint, 5)
    targets = torch.arange(5)
    found = []
    for cache in (False, True):
        model = checkpoint.model() if tied else checkpoint.model().untied()
        model.train()
        sides = ((model.question, questions, (7, 1, 0)), (model.passage, passages, (7, 1, 1)))

        def loss(q: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
            return in_batch_nll(q, p, targets, temperature=0.1).value

        if cache:
            value = cached_backward(sides, loss, checkpoint.tokens, CPU, 2)
        else:
            value = loss(*(run(t, r, checkpoint.tokens, CPU, 2, key)[0] for t, r, key in sides))
            value.backward()  # type: ignore[no-untyped-call]
        found.append((float(value.detach()), gradients(model)))
    assert found[0][0] == pytest.approx(found[1][0], abs=1e-6)
    assert len(found[0][1]) > 30
    for plain, cached in zip(found[0][1], found[1][1], strict=True):
        torch.testing.assert_close(plain, cached, rtol=1e-4, atol=1e-6)


def test_chunks_and_padding_change_nothing(checkpoint: Checkpoint) -> None:
    _, passages = rows(checkpoint, 8)
    model = checkpoint.model()
    whole = encode_all(model.passage, passages, checkpoint.tokens, CPU, size=16)
    alone = torch.cat([encode_all(model.passage, [row], checkpoint.tokens, CPU) for row in passages])
    torch.testing.assert_close(whole, alone, rtol=0, atol=2e-6)
    torch.testing.assert_close(whole.norm(dim=1), torch.ones(16))


def test_dropout_depends_on_the_key_alone(checkpoint: Checkpoint) -> None:
    _, passages = rows(checkpoint, 4)
    tower = checkpoint.model().passage.train()
    first = run(tower, passages, checkpoint.tokens, CPU, 4, (1, 2))[0]
    torch.rand(100)
    again = run(tower, passages, checkpoint.tokens, CPU, 4, (1, 2))[0]
    other = run(tower, passages, checkpoint.tokens, CPU, 4, (1, 3))[0]
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
