"""The ensemble: K independent networks, computed as batched matrix products."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor, nn


class Members(nn.Module):
    """K networks D → hidden → hidden → D; vectors [B,D] → [B,K,D].

    "Two layers" of the paper are the hidden ones: three linear layers with the
    activation after the first two, no dropout, no skip, no normalisation. With
    ``residual``, which is not in the paper, a member adds what it computes to
    its input: from some thousand questions, members without it learn to rank
    hardly at all. First weights are uniform, PyTorch's default for Linear, which
    the authors use; with ``deviation`` normal (their code's anchored prior has
    the square root of 20/D).
    """

    def __init__(
        self, dimension: int, members: int, hidden: int, seed: int, residual: bool = False, deviation: float = 0.0
    ) -> None:
        super().__init__()
        self.dimension, self.members, self.hidden, self.residual = dimension, members, hidden, residual
        generator = torch.Generator().manual_seed(seed)
        widths = (dimension, hidden, hidden, dimension)
        self.weights = nn.ParameterList()
        self.biases = nn.ParameterList()
        for inputs, outputs in pairwise(widths):
            weight, bias = torch.empty(members, inputs, outputs), torch.empty(members, 1, outputs)
            bound = 1 / math.sqrt(inputs)
            for value in (weight, bias):
                if deviation:
                    value.normal_(std=deviation, generator=generator)
                else:
                    value.uniform_(-bound, bound, generator=generator)
            self.weights.append(nn.Parameter(weight))
            self.biases.append(nn.Parameter(bias))

    def forward(self, vectors: Tensor) -> Tensor:
        """All members on the same vectors: [B,D] → [B,K,D]."""
        return self.separately(vectors.expand(self.members, -1, -1)).transpose(0, 1)

    def separately(self, vectors: Tensor) -> Tensor:
        """Member k on its own vectors: [K,B,D] → [K,B,D]."""
        x = vectors
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = torch.baddbmm(bias, x, weight)
            if layer < 2:
                x = torch.relu(x)
        return x + vectors if self.residual else x

    def rounded(self) -> Members:
        """A copy whose weights are rounded to fp16, as they are shipped."""
        copy = Members(self.dimension, self.members, self.hidden, 0, self.residual)
        copy.load_state_dict({name: p.half().float() for name, p in self.state_dict().items()})
        return copy


def ensemble_loss(outputs: Tensor, contexts: Tensor, targets: Tensor, ignore: Tensor, temperature: float) -> Tensor:
    """The mean over members of each one's in-batch NLL on its own block.

    ``outputs`` [K,B,D], ``contexts`` [K,P,D], ``targets`` int64 [K,B], ``ignore``
    bool [K,B,P]. (MUF, Li et al. 2021, section 4.2 with equation 3; the block is the member's sub-batch, section 5)
    """
    scores = torch.bmm(outputs, contexts.transpose(1, 2)) / temperature
    scores = scores.masked_fill(ignore, -torch.inf)
    return nn.functional.cross_entropy(scores.flatten(0, 1), targets.flatten())
