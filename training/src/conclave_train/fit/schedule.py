"""The optimiser and its learning rate."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn


def rate(step: int, total: int, warm_up: int) -> float:
    """The share of the full learning rate at ``step`` (from 0): linear up over ``warm_up``, linear down to 0.

    The floor of 1e-7 is DPR's, so that a last step is never exactly nothing.
    """
    if step < warm_up:
        return (step + 1) / (warm_up + 1)
    return max(1e-7, (total - step) / max(1, total - warm_up))


def optimiser(
    parameters: Iterable[tuple[str, nn.Parameter]], learning_rate: float, weight_decay: float
) -> torch.optim.AdamW:
    """AdamW over the parameters that are trained; biases and norms do not decay (Karpukhin et al.: Adam, eps 1e-8)."""
    decay: list[nn.Parameter] = []
    plain: list[nn.Parameter] = []
    seen: set[int] = set()
    for name, p in parameters:
        if p.requires_grad and id(p) not in seen:
            seen.add(id(p))
            (plain if p.dim() < 2 or name.endswith("bias") else decay).append(p)
    groups = [{"params": decay, "weight_decay": weight_decay}, {"params": plain, "weight_decay": 0.0}]
    return torch.optim.AdamW([g for g in groups if g["params"]], lr=learning_rate, eps=1e-8, fused=True)
