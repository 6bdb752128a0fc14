"""Chunks, seeded dropout, gradient caching and bfloat16."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from conclave_train.fit.encode import Device, cached_backward, encode_all, run
from conclave_train.fit.loss import in_batch_nll
from conclave_train.model.checkpoint import Checkpoint, read_checkpoint
from conclave_train.model.tokens import Ids
from conclave_train.model.tower import BiEncoder, Tower
from conftest import tiny_domain, write_checkpoint

CPU = Device()


class Padded(Device):
    """Few shapes as with bfloat16, and float32."""

    @property
    def few_shapes(self) -> bool:
        return True


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


@contextmanager
def shapes_of(tower: Tower) -> Iterator[list[tuple[int, ...]]]:
    """The shapes of ids that the tower is given meanwhile."""
    seen: list[tuple[int, ...]] = []
    handle = tower.register_forward_pre_hook(lambda _, given: seen.append(tuple(given[0].shape)))
    yield seen
    handle.remove()


def test_bfloat16_on_the_cpu(checkpoint: Checkpoint) -> None:
    """Products in bfloat16 (8 bits of precision) leave the vectors within 2e-2, in float32 and of unit length."""
    _, passages = rows(checkpoint, 10)
    tower = checkpoint.model().passage
    whole = encode_all(tower, passages, checkpoint.tokens, CPU)
    with shapes_of(tower) as shapes:
        half = encode_all(tower, passages, checkpoint.tokens, Device("cpu", bf16=True))
    assert shapes == [(32, 16)]  # 20 texts of at most 11 tokens
    assert half.dtype == torch.float32
    difference = (half - whole).abs().max()
    assert 1e-5 < difference < 2e-2  # equal would mean that nothing was in bfloat16
    torch.testing.assert_close(half.norm(dim=1), torch.ones(20), rtol=0, atol=2e-2)


def test_padding_to_few_shapes_changes_nothing(checkpoint: Checkpoint) -> None:
    """Neither vectors nor gradients see the texts and tokens that are added."""
    questions, passages = rows(checkpoint, 5)
    targets = torch.arange(5)
    found = []
    for device in (CPU, Padded()):
        model = checkpoint.model().eval()  # dropout would differ with the shapes
        with shapes_of(model.question) as shapes:
            q, p = (run(model.question, r, checkpoint.tokens, device, 8, (1,))[0] for r in (questions, passages))
        if device is not CPU:
            assert shapes == [(16, 16)] * 3
        in_batch_nll(q, p, targets, temperature=0.1).value.backward()  # type: ignore[no-untyped-call]
        found.append((q.detach(), p.detach(), gradients(model)))
    (q, p, plain), (q_padded, p_padded, padded) = found
    torch.testing.assert_close(q_padded, q, rtol=0, atol=2e-6)
    torch.testing.assert_close(p_padded, p, rtol=0, atol=2e-6)
    for a, b in zip(plain, padded, strict=True):
        torch.testing.assert_close(b, a, rtol=1e-4, atol=1e-6)


def test_padding_stops_at_the_last_position(tmp_path: Path) -> None:
    """A base of 20 positions: texts of 18 tokens are not padded to 32."""
    checkpoint = read_checkpoint(write_checkpoint(tmp_path / "short", max_position_embeddings=20))
    long = checkpoint.tokens.questions(["the of in " * 10], 18)
    tower = checkpoint.model().question
    whole = encode_all(tower, long, checkpoint.tokens, CPU)
    with shapes_of(tower) as shapes:
        half = encode_all(tower, long, checkpoint.tokens, Device("cpu", bf16=True))
    assert shapes == [(16, 20)]
    torch.testing.assert_close(half, whole, rtol=0, atol=2e-2)
