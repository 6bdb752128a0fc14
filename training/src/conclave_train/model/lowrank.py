"""Low-rank updates of linear layers: trained as such, or taken from a full fine-tuning by SVD.

A linear layer's new weight is W + U·D with U [out, r] and D [r, in] (Hu et al.
2021, "LoRA", eq. 3, with the factor α/r inside U).
"""

from __future__ import annotations

import math
import re

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from conclave_train.errors import TrainingError
from conclave_train.model.tower import Tower

TARGETS = "query,key,value,attention.output,intermediate,output"
_PATTERNS = {
    "query": r"attention\.self\.query$",
    "key": r"attention\.self\.key$",
    "value": r"attention\.self\.value$",
    "attention.output": r"attention\.output\.dense$",
    "intermediate": r"intermediate\.dense$",
    "output": r"layer\.\d+\.output\.dense$",
    "pooler": r"^pooler\.dense$",
    "projection": r"^encode_proj$",
}


class LowRankLinear(nn.Linear):
    """A linear layer whose weight is frozen and whose update has low rank.

    ``down`` [rank, in] begins random, ``up`` [out, rank] zero, so that training
    begins at the base model.
    """

    def __init__(self, base: nn.Linear, rank: int, alpha: float) -> None:
        with torch.device("meta"):
            super().__init__(base.in_features, base.out_features, bias=base.bias is not None)
        self.weight, self.bias = base.weight, base.bias
        self.weight.requires_grad_(False)
        self.scale = alpha / rank
        self.down = nn.Parameter(torch.empty(rank, base.in_features))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))

    def forward(self, x: Tensor) -> Tensor:
        update = F.linear(F.linear(x, self.down), self.up) * self.scale
        return F.linear(x, self.weight, self.bias) + update

    def merged(self) -> Tensor:
        """The weight that the layer acts with: [out, in]."""
        return (self.weight + self.scale * self.up @ self.down).detach()


def linears(tower: Tower, targets: str) -> list[str]:
    """The names of the tower's linear layers that ``targets`` (comma-separated) chooses."""
    chosen = [t.strip() for t in targets.split(",") if t.strip()]
    if unknown := [t for t in chosen if t not in _PATTERNS]:
        raise TrainingError(f"low-rank target {unknown[0]!r} is not one of {', '.join(_PATTERNS)}")
    patterns = [re.compile(_PATTERNS[t]) for t in chosen]
    names = [
        name
        for name, module in tower.named_modules()
        if isinstance(module, nn.Linear) and any(p.search(name) for p in patterns)
    ]
    if not names:
        raise TrainingError(f"the low-rank targets {targets!r} choose no layer of this model")
    return names


def make_low_rank(tower: Tower, rank: int, alpha: float, targets: str) -> None:
    """Replace the chosen layers by :class:`LowRankLinear`; of the rest, train biases and norms only."""
    names = linears(tower, targets)
    for name, parameter in tower.named_parameters():
        parameter.requires_grad_(name.endswith("bias") or "LayerNorm" in name)
    for name in names:
        parent_name, _, last = name.rpartition(".")
        parent = tower.get_submodule(parent_name) if parent_name else tower
        layer = getattr(parent, last)
        if rank > min(layer.weight.shape):
            raise TrainingError(f"rank {rank} is more than layer {name} of shape {tuple(layer.weight.shape)} has")
        setattr(parent, last, LowRankLinear(layer, rank, alpha))


def merged_state(tower: Tower) -> dict[str, Tensor]:
    """The tower's weights by plain names, low-rank updates added in."""
    state = {n: v.detach() for n, v in tower.plain_state().items() if not n.endswith((".down", ".up"))}
    for name, module in tower.named_modules():
        if isinstance(module, LowRankLinear):
            state[f"{name.removeprefix('bert.')}.weight"] = module.merged()
    return state


def factors(change: Tensor, rank: int) -> tuple[Tensor, Tensor, float]:
    """``(up [out,r], down [r,in], kept)``: the best approximation of ``change`` [out,in] of that rank.

    The singular values are shared out evenly between both factors, which keeps
    their elements of one size and so their fp16 rounding small. ``kept`` is the
    share of the squared norm that is left. (Eckart and Young 1936)
    """
    u, s, vh = torch.linalg.svd(change.double().cpu(), full_matrices=False)
    r = min(rank, len(s))
    root = s[:r].sqrt()
    # The sign of a singular pair is arbitrary: make the largest element of each column of u positive.
    sign = torch.sign(u[:, :r].gather(0, u[:, :r].abs().argmax(0, keepdim=True)))
    sign[sign == 0] = 1
    total = float((s**2).sum())
    kept = float((s[:r] ** 2).sum()) / total if total > 0 else 1.0
    return (u[:, :r] * sign * root).float(), (sign.T * root[:, None] * vh[:r]).float(), kept
