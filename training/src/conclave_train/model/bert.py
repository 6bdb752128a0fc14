"""BERT's encoder (Devlin et al. 2019), with the tensor names of published checkpoints.

Only what a text encoder needs: absolute positions, all token types zero (as DPR
feeds both segments), bidirectional attention. Shapes: B texts, T tokens, D the
hidden size, H heads.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from conclave_train.errors import TrainingError

ACTIVATIONS = {"gelu": "none", "gelu_new": "tanh", "gelu_pytorch_tanh": "tanh", "relu": ""}


@dataclass(frozen=True)
class BertConfig:
    """The shape of an encoder, by the names of ``config.json``."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int
    type_vocab_size: int = 2
    hidden_act: str = "gelu"
    layer_norm_eps: float = 1e-12
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    projection_dim: int = 0  # DPR's optional last layer; 0: none

    @classmethod
    def read(cls, path: Path) -> BertConfig:
        """Read ``config.json``; an architecture that is not BERT is an error."""
        try:
            values = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            raise TrainingError(f"{path.parent} is no checkpoint: it has no {path.name}") from None
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise TrainingError(f"{path}: is not JSON: {error}") from error
        kind = values.get("model_type")
        if kind not in ("bert", "dpr"):
            raise TrainingError(f"{path}: model_type is {kind!r}; bert and dpr can be trained")
        if (position := values.get("position_embedding_type", "absolute")) != "absolute":
            raise TrainingError(f"{path}: position_embedding_type is {position!r}; only absolute is supported")
        known = {name: values[name] for name in cls.__dataclass_fields__ if values.get(name) is not None}
        try:
            config = cls(**known)
        except TypeError as error:
            raise TrainingError(f"{path}: {error}") from error
        if config.hidden_act not in ACTIVATIONS:
            raise TrainingError(f"{path}: hidden_act is {config.hidden_act!r}; one of {sorted(ACTIVATIONS)} is needed")
        if config.hidden_size % config.num_attention_heads:
            raise TrainingError(
                f"{path}: hidden_size {config.hidden_size} is no multiple of "
                f"num_attention_heads {config.num_attention_heads}"
            )
        return config

    @property
    def output_size(self) -> int:
        """The length of a text's vector."""
        return self.projection_dim or self.hidden_size

    def describe(self) -> str:
        """The shape in words, as the Go side writes it."""
        text = f"bert, {self.num_hidden_layers} layers of {self.hidden_size}, {self.num_attention_heads} heads"
        return text + (f", projection to {self.projection_dim}" if self.projection_dim else "")


class Embeddings(nn.Module):
    """Token, position and (zero) type embeddings, summed and normalised: [B,T] → [B,T,D]."""

    def __init__(self, c: BertConfig) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(c.vocab_size, c.hidden_size)
        self.position_embeddings = nn.Embedding(c.max_position_embeddings, c.hidden_size)
        self.token_type_embeddings = nn.Embedding(c.type_vocab_size, c.hidden_size)
        self.LayerNorm = nn.LayerNorm(c.hidden_size, eps=c.layer_norm_eps)
        self.dropout = nn.Dropout(c.hidden_dropout_prob)

    def forward(self, ids: Tensor) -> Tensor:
        positions = self.position_embeddings.weight[: ids.shape[1]]
        summed = self.word_embeddings(ids) + self.token_type_embeddings.weight[0] + positions
        out: Tensor = self.dropout(self.LayerNorm(summed))
        return out


class SelfAttention(nn.Module):
    """Multi-head scaled dot-product attention without its output layer: [B,T,D] → [B,T,D]."""

    def __init__(self, c: BertConfig) -> None:
        super().__init__()
        self.heads, self.dropout = c.num_attention_heads, c.attention_probs_dropout_prob
        self.query = nn.Linear(c.hidden_size, c.hidden_size)
        self.key = nn.Linear(c.hidden_size, c.hidden_size)
        self.value = nn.Linear(c.hidden_size, c.hidden_size)

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        b, t, d = x.shape
        q, k, v = (f(x).view(b, t, self.heads, -1).transpose(1, 2) for f in (self.query, self.key, self.value))
        p = self.dropout if self.training else 0.0
        if x.is_cuda:
            out = F.scaled_dot_product_attention(q, k, v, attn_mask=keep[:, None, None, :], dropout_p=p)
        else:  # on the CPU the plain products take half the time of the fused ones in bfloat16, and no more in float32
            scores = q @ k.transpose(2, 3) * (d // self.heads) ** -0.5
            weights = scores.masked_fill(~keep[:, None, None, :], torch.finfo(scores.dtype).min).softmax(-1)
            out = F.dropout(weights, p) @ v
        return out.transpose(1, 2).reshape(b, t, d)


class AddNorm(nn.Module):
    """LayerNorm(residual + dropout(W·x + b))."""

    def __init__(self, inputs: int, c: BertConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(inputs, c.hidden_size)
        self.LayerNorm = nn.LayerNorm(c.hidden_size, eps=c.layer_norm_eps)
        self.dropout = nn.Dropout(c.hidden_dropout_prob)

    def forward(self, x: Tensor, residual: Tensor) -> Tensor:
        out: Tensor = self.LayerNorm(residual + self.dropout(self.dense(x)))
        return out


class Attention(nn.Module):
    """Self-attention and its output layer."""

    def __init__(self, c: BertConfig) -> None:
        super().__init__()
        self.self = SelfAttention(c)
        self.output = AddNorm(c.hidden_size, c)

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        out: Tensor = self.output(self.self(x, keep), x)
        return out


class Intermediate(nn.Module):
    """The wide half of the feed-forward layer: [B,T,D] → [B,T,intermediate]."""

    def __init__(self, c: BertConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(c.hidden_size, c.intermediate_size)
        self.approximate = ACTIVATIONS[c.hidden_act]

    def forward(self, x: Tensor) -> Tensor:
        wide = self.dense(x)
        return F.gelu(wide, approximate=self.approximate) if self.approximate else F.relu(wide)


class Layer(nn.Module):
    """One block: attention, then feed-forward."""

    def __init__(self, c: BertConfig) -> None:
        super().__init__()
        self.attention = Attention(c)
        self.intermediate = Intermediate(c)
        self.output = AddNorm(c.intermediate_size, c)

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        attended = self.attention(x, keep)
        out: Tensor = self.output(self.intermediate(attended), attended)
        return out


class Layers(nn.Module):
    """The stack of blocks."""

    def __init__(self, c: BertConfig) -> None:
        super().__init__()
        self.layer = nn.ModuleList(Layer(c) for _ in range(c.num_hidden_layers))

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        for layer in self.layer:
            x = layer(x, keep)
        return x


class Pooler(nn.Module):
    """BERT's pooler: tanh(W·first + b), [B,D] → [B,D]."""

    def __init__(self, c: BertConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(c.hidden_size, c.hidden_size)

    def forward(self, first: Tensor) -> Tensor:
        return torch.tanh(self.dense(first))


class Bert(nn.Module):
    """``ids`` int64 [B,T] and ``keep`` bool [B,T] (False on padding) → [B,T,D]."""

    def __init__(self, c: BertConfig) -> None:
        super().__init__()
        self.config = c
        self.embeddings = Embeddings(c)
        self.encoder = Layers(c)

    def forward(self, ids: Tensor, keep: Tensor) -> Tensor:
        out: Tensor = self.encoder(self.embeddings(ids), keep)
        return out
