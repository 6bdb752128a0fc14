"""A head as one ONNX graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from torch import Tensor

from conclave_train.bundle.graph import Graph
from conclave_train.desire_me.head import EPSILON, Head, in_8_bits

INPUT, VECTOR, GATE = "question", "vector", "gate"


def write_head(path: Path, head: Head) -> None:
    """``question`` float32 [batch, D] → ``vector`` [batch, D] and ``gate`` [batch, M], the probabilities.

    Matrices are stored in 8 bits with a scale for each column, biases as fp16. Both become float32 when
    the model is loaded.
    """
    assert head.mode == "desire-me", "other modes are measured and not served"
    g = Graph("desire-me")

    def matrix(name: str, value: Tensor) -> str:
        whole, scale = in_8_bits(value.detach())
        cast = g.op("Cast", [g.constant(name + ".int8", whole.numpy().astype(np.int8))], to=1)
        return g.op("Mul", [cast, g.constant(name + ".scale", scale.numpy())], name)

    def bias(name: str, value: Tensor) -> str:
        return g.op("Cast", [g.constant(name + ".fp16", value.detach().numpy().astype(np.float16))], name, to=1)

    def unit(x: str, epsilon: float) -> str:
        length = g.op("ReduceL2", [x], axes=[-1], keepdims=1)
        return g.op("Div", [x, g.op("Max", [length, g.number(epsilon)])])

    x = INPUT
    for i, (w, b) in enumerate(zip(head.gate_weights, head.gate_biases, strict=True)):
        x = g.op("Gemm", [x, matrix(f"gate{i}.weight", w), bias(f"gate{i}.bias", b)])
        if i < 2:
            x = g.op("Relu", [x])
    g.op("Sigmoid", [x], GATE)
    # The specialisers side by side: their first layers are one matrix [D, M·D/2], and
    # since a gate's weight is no less than 0 it can be applied before the second, which
    # then is one matrix [M·D/2, D]: Σ g·(W h + b) = Σ W (g·h) + Σ g·b.
    m, d, half = head.down.shape
    down = g.op("Transpose", [matrix("down.weight", head.down)], perm=[1, 0, 2])
    side = g.op("Reshape", [down, g.ints(d, m * half)])
    hidden = g.op("Gemm", [INPUT, side, bias("down.bias", head.down_bias.flatten())])
    shaped = g.op("Reshape", [g.op("Relu", [hidden]), g.ints(0, m, half)])
    gated = g.op("Mul", [shaped, g.op("Unsqueeze", [GATE, g.ints(2)])])
    up = g.op("Reshape", [matrix("up.weight", head.up), g.ints(m * half, d)])
    summed = g.op("MatMul", [g.op("Reshape", [gated, g.ints(0, m * half)]), up])
    context = g.op("Add", [summed, g.op("MatMul", [GATE, bias("up.bias", head.up_bias.flatten(0, 1))])])
    length = g.op("Mul", [g.op("ReduceMax", [GATE], axes=[-1], keepdims=1), g.number(head.beta)])
    added = g.op("Mul", [unit(context, EPSILON), length])
    if head.normalise:
        g.op("Identity", [unit(g.op("Add", [INPUT, added]), 1e-12)], VECTOR)
    else:
        g.op("Add", [INPUT, added], VECTOR)
    g.write(
        path,
        {INPUT: (np.float32, ("batch", head.dimension))},
        {VECTOR: ("batch", head.dimension), GATE: ("batch", head.domains)},
    )
