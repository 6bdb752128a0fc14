"""A head as one ONNX graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from torch import Tensor

from conclave_train.bundle.graph import Graph
from conclave_train.desire_me.head import EPSILON, Head

INPUT, VECTOR, GATE = "question", "vector", "gate"


def write_head(path: Path, head: Head) -> None:
    """``question`` float32 [batch, D] → ``vector`` [batch, D] and ``gate`` [batch, M], the probabilities.

    Weights are stored as fp16 and cast when the model is loaded; the arithmetic is float32.
    """
    assert head.mode == "desire-me", "other modes are measured and not served"
    g = Graph("desire-me")

    def weight(name: str, value: Tensor) -> str:
        return g.op("Cast", [g.constant(name + ".fp16", value.detach().numpy().astype(np.float16))], name, to=1)

    def unit(x: str, epsilon: float) -> str:
        length = g.op("ReduceL2", [x], axes=[-1], keepdims=1)
        return g.op("Div", [x, g.op("Max", [length, g.number(epsilon)])])

    x = INPUT
    for i, (w, b) in enumerate(zip(head.gate_weights, head.gate_biases, strict=True)):
        x = g.op("Gemm", [x, weight(f"gate{i}.weight", w), weight(f"gate{i}.bias", b)])
        if i < 2:
            x = g.op("Relu", [x])
    g.op("Sigmoid", [x], GATE)
    # The specialisers side by side: their first layers are one matrix [D, M·D/2], and
    # since a gate's weight is no less than 0 it can be applied before the second, which
    # then is one matrix [M·D/2, D]: Σ g·(W h + b) = Σ W (g·h) + Σ g·b.
    m, d, half = head.down.shape
    side = head.down.detach().permute(1, 0, 2).reshape(d, m * half)
    hidden = g.op("Gemm", [INPUT, weight("down.weight", side), weight("down.bias", head.down_bias.flatten())])
    shaped = g.op("Reshape", [g.op("Relu", [hidden]), g.ints(0, m, half)])
    gated = g.op("Mul", [shaped, g.op("Unsqueeze", [GATE, g.ints(2)])])
    summed = g.op("MatMul", [g.op("Reshape", [gated, g.ints(0, m * half)]), weight("up.weight", head.up.flatten(0, 1))])
    context = g.op("Add", [summed, g.op("MatMul", [GATE, weight("up.bias", head.up_bias.flatten(0, 1))])])
    added = g.op("Mul", [unit(context, EPSILON), g.number(head.beta)])
    if head.normalise:
        g.op("Identity", [unit(g.op("Add", [INPUT, added]), 1e-12)], VECTOR)
    else:
        g.op("Add", [INPUT, added], VECTOR)
    g.write(
        path,
        {INPUT: (np.float32, ("batch", head.dimension))},
        {VECTOR: ("batch", head.dimension), GATE: ("batch", head.domains)},
    )
