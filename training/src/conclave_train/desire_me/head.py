"""The head of a DESIRE-ME expert (Kasela et al. 2024, "DESIRE-ME", section 3.2).

Shapes: B questions, D the vectors' length, M domains.
"""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

MODES = ("desire-me", "ones", "random", "adapter")
EPSILON = 1e-6  # of the context's length, as the authors' code has it


class Head(nn.Module):
    """Vectors [B,D] → changed ones [B,D] and the gate's logits [B,M].

    q' = q + β·max(g)·unit(Σ_m g_m·S_m(q)), g = sigmoid(gate(q)); with ``normalise`` q' gets unit length,
    which changes no ranking of one question. Where all gates are near 0, q stays as it is.

    The gate is D → 2D → 4D → M, a specialiser S_m is D → D/2 → D, both with ReLU. The ranking does not
    train the gate: its weights are detached. The modes in place of the gate's weights are ``ones``,
    ``random`` (uniform in [0,1), drawn anew for each call), and ``adapter``: one network of as many
    numbers, with no gate before it.
    """

    def __init__(
        self, dimension: int, domains: int, beta: float, normalise: bool, mode: str = "desire-me", seed: int = 0
    ) -> None:
        super().__init__()
        self.dimension, self.domains, self.beta, self.normalise, self.mode = dimension, domains, beta, normalise, mode
        generator = torch.Generator().manual_seed(seed)

        def drawn(*shape: int, inputs: int) -> nn.Parameter:
            # PyTorch's default for Linear, which the authors use: uniform within 1/sqrt(inputs).
            bound = 1 / math.sqrt(inputs)
            return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound, generator=generator))

        d, half = dimension, dimension // 2
        widths = (d, 2 * d, 4 * d, domains)
        self.gate_weights = nn.ParameterList(drawn(a, b, inputs=a) for a, b in pairwise(widths))
        self.gate_biases = nn.ParameterList(drawn(b, inputs=a) for a, b in pairwise(widths))
        experts, hidden = domains, half
        if mode == "adapter":
            gate = sum(w.numel() for w in (*self.gate_weights, *self.gate_biases))
            whole = gate + domains * (2 * d * half + half + d)
            experts, hidden = 1, (whole - d) // (2 * d + 1)
        self.down = drawn(experts, d, hidden, inputs=d)
        self.down_bias = drawn(experts, 1, hidden, inputs=d)
        self.up = drawn(experts, hidden, d, inputs=hidden)
        self.up_bias = drawn(experts, 1, d, inputs=hidden)

    def forward(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.logits(vectors)
        hidden = torch.relu(torch.baddbmm(self.down_bias, vectors.expand(len(self.down), -1, -1), self.down))
        contexts = torch.baddbmm(self.up_bias, hidden, self.up)  # [M,B,D]
        weights = self.weights(logits)
        context = (contexts * weights.T.unsqueeze(-1)).sum(0)
        return combine(vectors, context, weights, self.beta, self.normalise), logits

    def gate(self) -> list[nn.Parameter]:
        """The numbers of the gate."""
        return [*self.gate_weights, *self.gate_biases]

    def specialisers(self) -> list[nn.Parameter]:
        """The numbers that the ranking trains."""
        return [self.down, self.down_bias, self.up, self.up_bias]

    def logits(self, vectors: Tensor) -> Tensor:
        """The gate's logits [B,M]; the domains are judged each for itself."""
        x = vectors
        for layer, (weight, bias) in enumerate(zip(self.gate_weights, self.gate_biases, strict=True)):
            x = torch.addmm(bias, x, weight)
            if layer < 2:
                x = torch.relu(x)
        return x

    def weights(self, logits: Tensor) -> Tensor:
        """What the specialisers' contexts are weighed by [B,M]."""
        if self.mode == "random":
            return torch.rand_like(logits)
        if self.mode == "ones":
            return torch.ones_like(logits)
        if self.mode == "adapter":
            return torch.ones_like(logits[:, :1])
        return logits.detach().sigmoid()

    def rounded(self) -> Head:
        """A copy with the weights as they are shipped: matrices in 8 bits, biases in fp16."""
        copy = Head(self.dimension, self.domains, self.beta, self.normalise, self.mode)
        copy.load_state_dict(
            {n: p.half().float() if "bias" in n else math.prod(in_8_bits(p)) for n, p in self.state_dict().items()}
        )
        return copy


def in_8_bits(weights: Tensor) -> tuple[Tensor, Tensor]:
    """Whole numbers from -127 to 127 [...,N,M] and each column's scale [...,1,M]; the product is near the weights."""
    scale = weights.abs().amax(-2, keepdim=True).clamp_min(EPSILON) / 127
    return (weights / scale).round(), scale


def combine(vectors: Tensor, context: Tensor, weights: Tensor, beta: float, normalise: bool) -> Tensor:
    """q + β·max(g)·unit(context) [B,D], of unit length with ``normalise``; ``weights`` [B,M] are g.

    The paper adds a context of length 1 to a vector of any length (β = 1, no normalisation), whatever the gate says.
    Here the widest gate says how much of it is added, so that a question of no domain keeps its vector.
    """
    length = beta * weights.max(-1, keepdim=True).values
    out = vectors + length * F.normalize(context, dim=-1, eps=EPSILON)
    return F.normalize(out, dim=-1) if normalise else out
