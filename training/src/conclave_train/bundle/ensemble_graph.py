"""The ensemble as one ONNX graph, and as safetensors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from conclave_train.bundle.graph import Graph
from conclave_train.model.tensors import read_tensors, write_tensors
from conclave_train.muf.members import Members

INPUT, OUTPUT = "vector", "members"


def write_ensemble(path: Path, members: Members, half: bool = True) -> None:
    """``vector`` float32 [batch, D] → ``members`` float32 [batch, K, D].

    With ``half`` the weights are stored as fp16 and cast when the model is
    loaded (the runtime folds the casts), which halves what travels; the
    arithmetic is float32 either way.
    """
    g = Graph("ensemble")

    def weight(name: str, value: NDArray[np.float32]) -> str:
        if not half:
            return g.constant(name, value)
        return g.op("Cast", [g.constant(name + ".fp16", value.astype(np.float16))], name, to=1)

    x = g.op("Unsqueeze", [INPUT, g.ints(0)])  # [1, batch, D] broadcasts over the members
    for i, (w, b) in enumerate(zip(members.weights, members.biases, strict=True)):
        product = g.op("MatMul", [x, weight(f"layer{i}.weight", w.detach().numpy())])
        x = g.op("Add", [product, weight(f"layer{i}.bias", b.detach().numpy())])
        if i < 2:
            x = g.op("Relu", [x])
    if members.residual:
        x = g.op("Add", [x, g.op("Unsqueeze", [INPUT, g.ints(0)])])
    g.op("Transpose", [x], OUTPUT, perm=[1, 0, 2])
    g.write(
        path,
        {INPUT: (np.float32, ("batch", members.dimension))},
        {OUTPUT: ("batch", members.members, members.dimension)},
    )


def save_members(path: Path, members: Members, half: bool = False) -> None:
    """``layer0.weight`` [K,in,out], ``layer0.bias`` [K,1,out], … in safetensors."""
    tensors = {}
    for i, (w, b) in enumerate(zip(members.weights, members.biases, strict=True)):
        tensors[f"layer{i}.weight"] = w.detach().half() if half else w.detach()
        tensors[f"layer{i}.bias"] = b.detach().half() if half else b.detach()
    write_tensors(path, tensors, {"format": "conclave-ensemble-1", "residual": str(members.residual).lower()})


def load_members(path: Path) -> Members:
    """What :func:`save_members` wrote."""
    tensors, metadata = read_tensors(path)
    k, dimension, hidden = tensors["layer0.weight"].shape
    members = Members(dimension, k, hidden, 0, metadata.get("residual") == "true")
    members.load_state_dict(
        {
            f"{kind}.{i}": tensors[f"layer{i}.{name}"].float()
            for i in range(3)
            for kind, name in (("weights", "weight"), ("biases", "bias"))
        }
    )
    return members
