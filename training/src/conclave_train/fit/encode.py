"""Running towers over many texts: chunks of similar length, seeded dropout, gradient caching.

Gradient caching (Gao et al. 2021, "Scaling Deep Contrastive Learning Batch Size
under Memory Limited Setup", section 3.2): vectors of the whole batch are
computed without a graph, the loss gives their gradients, and each chunk is
computed again with a graph to carry its gradients to the weights. Memory is
that of one chunk. Dropout is seeded per chunk, so both passes see the same.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from conclave_train.model.tokens import Ids, Tokens
from conclave_train.model.tower import Tower

STEP = 16


@dataclass(frozen=True)
class Device:
    """Where to compute, and whether in bfloat16 (matrix products only; weights and loss stay float32)."""

    name: str = "cpu"
    bf16: bool = False

    @property
    def few_shapes(self) -> bool:
        """Whether batches are padded to multiples of STEP texts and tokens.

        On the CPU the code of a bfloat16 product is made anew for every shape:
        with shapes as they come, that was three quarters of the time.
        """
        return self.bf16 and self.name == "cpu"

    def autocast(self) -> contextlib.AbstractContextManager[object]:
        """The context to run towers in."""
        return torch.autocast(self.name, torch.bfloat16) if self.bf16 else contextlib.nullcontext()


def chunks(lengths: Sequence[int], size: int) -> list[list[int]]:
    """Places in chunks of ``size``, longest first, so that rows of a chunk need little padding."""
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
    return [order[a : a + size] for a in range(0, len(order), size)]


def seed_chunk(*key: int) -> None:
    """Seed dropout from a key: the same key, the same masks."""
    words = np.random.SeedSequence([k & 0xFFFFFFFF for k in key]).generate_state(2, np.uint32)
    torch.manual_seed(int(words[0]) << 32 | int(words[1]))


def run(
    tower: Tower, rows: Sequence[Ids], tokens: Tokens, device: Device, size: int, key: Sequence[int]
) -> tuple[Tensor, list[list[int]]]:
    """Vectors [B,D] of ``rows`` in their order, and the chunks that were used."""
    parts = chunks([len(row) for row in rows], size)
    vectors = [_chunk(tower, rows, part, tokens, device, (*key, n)) for n, part in enumerate(parts)]
    back = torch.tensor([i for part in parts for i in part], device=vectors[0].device).argsort()
    return torch.cat(vectors)[back], parts


def _chunk(
    tower: Tower, rows: Sequence[Ids], part: list[int], tokens: Tokens, device: Device, key: Sequence[int]
) -> Tensor:
    ids, keep = padded(tower, rows, part, tokens, device)
    if tower.training:
        seed_chunk(*key)
    with device.autocast():
        out: Tensor = tower(ids, keep)
    return out[: len(part)].float()


def padded(tower: Tower, rows: Sequence[Ids], part: list[int], tokens: Tokens, device: Device) -> tuple[Tensor, Tensor]:
    """``ids`` and ``keep`` of the rows ``part``, in a shape that suits the device: it may have more rows than asked."""
    whole, extra = (STEP, -len(part) % STEP) if device.few_shapes else (1, 0)
    chosen = [rows[i] for i in part + part[:1] * extra]
    return tokens.pad_batch(chosen, device.name, whole, tower.config.max_position_embeddings)


def cached_backward(
    sides: Sequence[tuple[Tower, Sequence[Ids], Sequence[int]]],
    loss: Callable[..., Tensor],
    tokens: Tokens,
    device: Device,
    size: int,
) -> Tensor:
    """Add the gradients of ``loss(vectors of side 1, vectors of side 2, …)`` to the towers' parameters.

    ``sides`` are (tower, rows, seed key). Returns the loss, detached.
    """
    with torch.no_grad():
        runs = [run(tower, rows, tokens, device, size, key) for tower, rows, key in sides]
    leaves = [vectors.detach().requires_grad_() for vectors, _ in runs]
    value = loss(*leaves)
    value.backward()  # type: ignore[no-untyped-call]
    for (tower, rows, key), leaf, (_, parts) in zip(sides, leaves, runs, strict=True):
        assert leaf.grad is not None
        for n, part in enumerate(parts):
            _chunk(tower, rows, part, tokens, device, (*key, n)).backward(leaf.grad[part])  # type: ignore[no-untyped-call]
    return value.detach()


def encode_all(
    tower: Tower,
    rows: Sequence[Ids],
    tokens: Tokens,
    device: Device,
    size: int = 32,
    tick: Callable[[int], None] | None = None,
) -> Tensor:
    """Vectors [N,D] float32 on the CPU, without dropout; ``tick`` hears how many texts a chunk had."""
    was = tower.training
    tower.eval()
    out = torch.empty(len(rows), tower.config.output_size)
    try:
        with torch.inference_mode():
            for part in chunks([len(row) for row in rows], size):
                out[part] = _chunk(tower, rows, part, tokens, device, ()).cpu()
                if tick is not None:
                    tick(len(part))
    finally:
        tower.train(was)
    return out
