"""The head of a late expert, and the score that it is trained for (Khattab & Zaharia 2020, "ColBERT", section 3).

ColBERT sums each question token's best match; here the sum is weighted, since
the words of a question do not matter alike and a frozen encoder cannot make
the vectors of some shorter. Shapes: B questions of m tokens, C passages each of
n tokens, H the states' length, d the vectors'.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from conclave_train.errors import TrainingError
from conclave_train.model.checkpoint import Checkpoint
from conclave_train.model.delta import NEW, Delta, merge
from conclave_train.model.tower import Tower

PREFIX = "shared.late."
MOST, MULTIPLE = 256, 4  # what a reader can count on of a vector's length
BEGIN = 0.54  # softplus(0.54) is 1: every token matters alike at first


class LateHead(nn.Module):
    """States [..., H] → unit vectors P h / ‖P h‖ [..., d] and importances softplus(a·h/‖h‖ + b) [...].

    Neither depends on a state's length, so states may be stored with length 1.
    """

    def __init__(self, states: int, dimension: int) -> None:
        super().__init__()
        self.projection = nn.Linear(states, dimension, bias=False)
        self.importance = nn.Linear(states, 1)
        nn.init.zeros_(self.importance.weight)
        nn.init.constant_(self.importance.bias, BEGIN)

    @property
    def dimension(self) -> int:
        """The length of a token's vector (d)."""
        return self.projection.out_features

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor]:
        return self.vectors(states), self.weigh(states)

    def vectors(self, states: Tensor) -> Tensor:
        """The unit vectors alone: a passage's importances are never asked for."""
        return F.normalize(self.projection(states), dim=-1)

    def weigh(self, states: Tensor) -> Tensor:
        """The importances alone."""
        raw: Tensor = self.importance(F.normalize(states, dim=-1))
        return F.softplus(raw.squeeze(-1))

    def tensors(self) -> dict[str, Tensor]:
        """The weights as a delta carries them: fp16, by their full names."""
        out = {f"{PREFIX}{name}{NEW}": value.detach().cpu().half() for name, value in self.state_dict().items()}
        for name, value in out.items():
            if not torch.isfinite(value).all():
                raise TrainingError(f'the trained tensor "{name}" has a value that is not finite in fp16')
        return out


def read_head(new: Mapping[str, Tensor], states: int) -> LateHead:
    """The head in a delta's new tensors (:attr:`Delta.new`) for a base with states of length ``states``."""
    names = [PREFIX + name for name in ("importance.bias", "importance.weight", "projection.weight")]
    if sorted(new) != names:
        odd = sorted(set(names) ^ set(new))[0]
        raise TrainingError(f'the delta {"lacks" if odd in names else "has"} the tensor "{odd}{NEW}": no late head')
    projection = new[PREFIX + "projection.weight"]
    rows = projection.shape[0]
    check_dimension(rows, "late.projection.weight.new")
    head = LateHead(states, rows)
    for name, value in head.state_dict().items():
        if (found := tuple(new[PREFIX + name].shape)) != tuple(value.shape):
            raise TrainingError(f'the delta\'s "{PREFIX}{name}{NEW}" is {found}; {tuple(value.shape)} is needed')
    head.load_state_dict({name.removeprefix(PREFIX): value for name, value in new.items()})
    return head


def check_dimension(dimension: int, what: str) -> None:
    """A length of vectors that no reader takes is an error that names ``what``."""
    if not 0 < dimension <= MOST or dimension % MULTIPLE:
        raise TrainingError(f"{what}: {dimension} is no multiple of {MULTIPLE} from {MULTIPLE} to {MOST}")


def load_late(base: Checkpoint, delta: Delta) -> tuple[Tower, LateHead]:
    """The encoder and the head that ``delta`` makes of ``base``; the encoder may be changed too."""
    if list(base.states) != ["shared"] or delta.towers != ["shared"]:
        raise TrainingError("a late expert has one encoder for questions and passages; two are here")
    state = merge(base, delta)["shared"]
    tower = base.model().question
    tower.load_plain_state({name: value for name, value in state.items() if name in base.states["shared"]})
    return tower, read_head(delta.new, base.config.hidden_size)


def shares(importance: Tensor, keep: Tensor) -> Tensor:
    """Question weights [B,m] that sum to 1, from importances and which of them are tokens (not padding)."""
    kept = importance * keep
    return kept / kept.sum(-1, keepdim=True).clamp(min=1e-9)


def max_sim(questions: Tensor, weights: Tensor, passages: Tensor, keep: Tensor) -> Tensor:
    """Scores [B,C]: Σ_i w_i max_j v_i·v_j (ColBERT, eq. 3, with weights).

    ``questions`` [B,m,d], ``weights`` [B,m] (0 on padding), ``passages``
    [B,C,n,d], ``keep`` bool [B,C,n]. Unit vectors have no product below -1,
    which is what a passage without tokens scores.
    """
    b, c, n, d = passages.shape
    products = (passages.reshape(b, c * n, d) @ questions.transpose(1, 2)).view(b, c, n, -1)
    best = products.masked_fill(~keep.unsqueeze(-1), -1.0).max(dim=2).values
    return (best * weights.unsqueeze(1)).sum(-1)
