"""A tower as an ONNX graph of standard operators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from conclave_train.bundle.graph import Graph
from conclave_train.interaction.head import LateHead
from conclave_train.model.bert import ACTIVATIONS
from conclave_train.model.lowrank import merged_state
from conclave_train.model.tower import Tower
from conclave_train.reading.model import Reader

INPUT_IDS, ATTENTION_MASK, EMBEDDING, TOKENS = "input_ids", "attention_mask", "embedding", "tokens"
START, END, SELECT = "start", "end", "select"
_SHAPE = ("batch", "sequence")
INPUTS: dict[str, tuple[type[np.int64] | type[np.float32], Sequence[str | int]]] = {
    INPUT_IDS: (np.int64, _SHAPE),
    ATTENTION_MASK: (np.int64, _SHAPE),
}


def write_encoder(path: Path, tower: Tower) -> None:
    """``input_ids``, ``attention_mask`` int64 [batch, sequence] → ``embedding`` float32 [batch, dimension].

    Pooling and normalisation are inside. Token types are always zero, so their
    row is added to the positions' table.
    """
    writer = _Writer(tower)
    writer.head(writer.hidden(), tower.head.pooling, tower.head.normalise)
    writer.g.write(path, INPUTS, {EMBEDDING: ("batch", tower.config.output_size)})


def write_late_encoder(path: Path, tower: Tower, head: LateHead) -> None:
    """``input_ids``, ``attention_mask`` → ``tokens`` float32 [batch, sequence, d+1]: unit vectors, then importances.

    Every token has a row; those of the first, the last and of padding are for
    the caller to leave out.
    """
    writer = _Writer(tower)
    writer.tokens(writer.hidden(), {name: t.detach().cpu().float().numpy() for name, t in head.state_dict().items()})
    writer.g.write(path, INPUTS, {TOKENS: ("batch", "sequence", head.dimension + 1)})


def write_reader(path: Path, reader: Reader) -> None:
    """``input_ids``, ``attention_mask`` → ``start``, ``end`` float32 [batch, sequence] and ``select`` [batch].

    Logits of every token, padding included: those outside the text are for the
    caller to leave out.
    """
    writer = _Writer(reader.tower)
    writer.reader(writer.hidden(), {name: t.float().numpy() for name, t in reader.head_state().items()})
    writer.g.write(path, INPUTS, {START: _SHAPE, END: _SHAPE, SELECT: ("batch",)})


class _Writer:
    def __init__(self, tower: Tower) -> None:
        self.c, self.g = tower.config, Graph("bert")
        self.w = {name: t.detach().cpu().float().numpy() for name, t in merged_state(tower).items()}

    def hidden(self) -> str:
        """The last states: [batch, sequence, hidden size]."""
        hidden = self.embeddings()
        for i in range(self.c.num_hidden_layers):
            hidden = self.layer(f"encoder.layer.{i}.", hidden)
        return hidden

    def embeddings(self) -> str:
        """[batch, sequence, dimension], and the mask that attention adds."""
        g, w = self.g, self.w
        words = g.constant("words", w["embeddings.word_embeddings.weight"])
        rows = w["embeddings.position_embeddings.weight"] + w["embeddings.token_type_embeddings.weight"][0]
        length = g.op("Slice", [g.op("Shape", [INPUT_IDS]), g.ints(1), g.ints(2), g.ints(0)])
        positions = g.op("Slice", [g.constant("positions", rows), g.ints(0), length, g.ints(0)])
        summed = g.op("Add", [g.op("Gather", [words, INPUT_IDS]), positions])
        mask = g.op("Cast", [ATTENTION_MASK], "mask", to=1)
        absent = g.op("Mul", [g.op("Sub", [mask, g.number(1)]), g.number(1e9)])  # 0, or -1e9 on padding
        self.absent = g.op("Unsqueeze", [absent, g.ints(1, 2)])
        return self.norm("embeddings.LayerNorm", summed)

    def norm(self, name: str, x: str) -> str:
        weight = self.g.constant(name + ".weight", self.w[name + ".weight"])
        bias = self.g.constant(name + ".bias", self.w[name + ".bias"])
        return self.g.op("LayerNormalization", [x, weight, bias], axis=-1, epsilon=self.c.layer_norm_eps)

    def linear(self, name: str, x: str) -> str:
        weight = self.g.constant(name + ".weight", self.w[name + ".weight"].T)
        bias = self.g.constant(name + ".bias", self.w[name + ".bias"])
        return self.g.op("Add", [self.g.op("MatMul", [x, weight]), bias])

    def layer(self, name: str, x: str) -> str:
        g, c = self.g, self.c
        size = c.hidden_size // c.num_attention_heads
        split = g.ints(0, 0, c.num_attention_heads, size)
        heads = {}
        for part, order in (("query", (0, 2, 1, 3)), ("key", (0, 2, 3, 1)), ("value", (0, 2, 1, 3))):
            vectors = g.op("Reshape", [self.linear(f"{name}attention.self.{part}", x), split])
            heads[part] = g.op("Transpose", [vectors], perm=list(order))
        scores = g.op("Div", [g.op("MatMul", [heads["query"], heads["key"]]), g.number(math.sqrt(size))])
        shares = g.op("Softmax", [g.op("Add", [scores, self.absent])], axis=-1)
        context = g.op("Transpose", [g.op("MatMul", [shares, heads["value"]])], perm=[0, 2, 1, 3])
        context = g.op("Reshape", [context, g.ints(0, 0, c.hidden_size)])
        mixed = self.linear(name + "attention.output.dense", context)
        attended = self.norm(name + "attention.output.LayerNorm", g.op("Add", [mixed, x]))
        wide = self.activate(self.linear(name + "intermediate.dense", attended))
        narrow = self.linear(name + "output.dense", wide)
        return self.norm(name + "output.LayerNorm", g.op("Add", [narrow, attended]))

    def activate(self, x: str) -> str:
        g = self.g
        match ACTIVATIONS[self.c.hidden_act]:
            case "none":  # x/2 · (1 + erf(x/√2))
                inner = g.op("Erf", [g.op("Div", [x, g.number(math.sqrt(2))])])
            case "tanh":  # x/2 · (1 + tanh(√(2/π)·(x + 0.044715·x³)))
                cube = g.op("Mul", [g.op("Mul", [x, x]), x])
                bent = g.op("Add", [x, g.op("Mul", [cube, g.number(0.044715)])])
                inner = g.op("Tanh", [g.op("Mul", [bent, g.number(math.sqrt(2 / math.pi))])])
            case _:
                return g.op("Relu", [x])
        return g.op("Mul", [g.op("Mul", [x, g.number(0.5)]), g.op("Add", [inner, g.number(1)])])

    def head(self, hidden: str, pooling: str, normalise: bool) -> None:
        g = self.g
        if pooling == "mean":
            weights = g.op("Unsqueeze", ["mask", g.ints(2)])
            total = g.op("ReduceSum", [g.op("Mul", [hidden, weights]), g.ints(1)], keepdims=0)
            count = g.op("Max", [g.op("ReduceSum", [weights, g.ints(1)], keepdims=0), g.number(1e-9)])
            pooled = g.op("Div", [total, count])
        else:
            first = g.constant("first", np.array(0, np.int64))
            pooled = g.op("Gather", [hidden, first], axis=1)
        if pooling == "pooler":
            pooled = g.op("Tanh", [self.linear("pooler.dense", pooled)])
        if self.c.projection_dim:
            pooled = self.linear("encode_proj", pooled)
        g.op("Identity", [self.unit(pooled) if normalise else pooled], EMBEDDING)

    def unit(self, x: str) -> str:
        """``x`` divided by its length along the last axis."""
        length = self.g.op("ReduceL2", [x], axes=[-1], keepdims=1)
        return self.g.op("Div", [x, self.g.op("Max", [length, self.g.number(1e-12)])])

    def tokens(self, hidden: str, head: dict[str, NDArray[np.float32]]) -> None:
        """A late head: P h / ‖P h‖ and softplus(a · h/‖h‖ + b)."""
        g = self.g
        projection = g.constant("late.projection.weight", head["projection.weight"].T)
        weight = g.constant("late.importance.weight", head["importance.weight"].T)
        bias = g.constant("late.importance.bias", head["importance.bias"])
        vectors = self.unit(g.op("MatMul", [hidden, projection]))
        raw = g.op("Add", [g.op("MatMul", [self.unit(hidden), weight]), bias])
        g.op("Concat", [vectors, g.op("Softplus", [raw])], TOKENS, axis=-1)

    def reader(self, hidden: str, head: dict[str, NDArray[np.float32]]) -> None:
        """A reader's heads: two logits of each token, one of the first."""
        g = self.g

        def linear(name: str, x: str) -> str:
            product = g.op("MatMul", [x, g.constant(f"reader.{name}.weight", head[f"{name}.weight"].T)])
            return g.op("Add", [product, g.constant(f"reader.{name}.bias", head[f"{name}.bias"])])

        spans = linear("span", hidden)
        for place, name in enumerate((START, END)):
            g.op("Gather", [spans, g.constant(f"place_{place}", np.array(place, np.int64))], name, axis=2)
        first = g.op("Gather", [hidden, g.constant("first", np.array(0, np.int64))], axis=1)
        g.op("Squeeze", [linear("select", first), g.ints(1)], SELECT)
