"""From tokens to one vector per text, and the pair of encoders that DPR trains."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from conclave_train.model.bert import Bert, BertConfig, Pooler

POOLINGS = ("cls", "mean", "pooler")
TEMPLATES = ("text", "title-dot-text", "pair")


@dataclass(frozen=True)
class Head:
    """What follows the last layer: ``pooling`` is cls, mean or pooler; ``normalise`` gives unit length."""

    pooling: str = "cls"
    normalise: bool = False


class Tower(nn.Module):
    """One encoder: ``ids`` int64 [B,T], ``keep`` bool [B,T] → vectors float32 [B, output size]."""

    def __init__(self, config: BertConfig, head: Head) -> None:
        super().__init__()
        self.config, self.head = config, head
        self.bert = Bert(config)
        self.pooler = Pooler(config) if head.pooling == "pooler" else None
        self.encode_proj = nn.Linear(config.hidden_size, config.projection_dim) if config.projection_dim else None

    def forward(self, ids: Tensor, keep: Tensor) -> Tensor:
        return self.pool(self.bert(ids, keep), keep)

    def pool(self, hidden: Tensor, keep: Tensor) -> Tensor:
        """From the last states [B,T,D] to the texts' vectors [B, output size]."""
        if self.head.pooling == "mean":
            weights = keep.to(hidden.dtype).unsqueeze(-1)
            pooled = (hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        else:
            pooled = hidden[:, 0]
        if self.pooler is not None:
            pooled = self.pooler(pooled)
        if self.encode_proj is not None:
            pooled = self.encode_proj(pooled)
        pooled = pooled.float()
        return F.normalize(pooled, dim=-1) if self.head.normalise else pooled

    def plain_state(self) -> dict[str, Tensor]:
        """The weights by the names of a plain BertModel checkpoint (no ``bert.`` in front)."""
        return {name.removeprefix("bert."): value for name, value in self.state_dict().items()}

    def load_plain_state(self, state: dict[str, Tensor]) -> None:
        """The inverse of :meth:`plain_state`; every tensor must be there and none else."""
        own = ("pooler.", "encode_proj.")
        self.load_state_dict({n if n.startswith(own) else f"bert.{n}": v for n, v in state.items()})


class BiEncoder(nn.Module):
    """A tower for questions and one for passages; tied, they are the same one."""

    def __init__(self, question: Tower, passage: Tower | None = None) -> None:
        super().__init__()
        self.question = question
        self.passage = question if passage is None else passage

    @property
    def tied(self) -> bool:
        """Whether one tower serves both sides."""
        return self.question is self.passage

    def towers(self) -> dict[str, Tower]:
        """The towers that have weights of their own, by their names in a delta."""
        if self.tied:
            return {"shared": self.question}
        return {"question": self.question, "passage": self.passage}

    def untied(self) -> BiEncoder:
        """Two towers that begin with the same weights."""
        return BiEncoder(self.question, copy.deepcopy(self.passage))


@torch.no_grad()
def freeze_embeddings(tower: Tower) -> None:
    """Keep the three embedding tables as they are: a low-rank delta cannot carry them."""
    tables = tower.bert.embeddings
    for table in (tables.word_embeddings, tables.position_embeddings, tables.token_type_embeddings):
        table.weight.requires_grad_(False)
