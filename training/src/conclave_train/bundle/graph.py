"""ONNX models built node by node: nothing depends on an exporter's mood."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


class Graph:
    """Collects nodes and constants; every operation's output is a name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def op(self, kind: str, inputs: Sequence[str], name: str = "", **attributes: Any) -> str:
        """Add a node; its output is ``name`` or a number."""
        name = name or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def constant(self, name: str, value: NDArray[Any]) -> str:
        """Add a constant once."""
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.array(value, order="C"), name)
        return name

    def ints(self, *values: int) -> str:
        """An int64 vector."""
        return self.constant("ints_" + "_".join(str(v).replace("-", "m") for v in values), np.array(values, np.int64))

    def number(self, value: float) -> str:
        """A float32 scalar."""
        return self.constant(f"number_{value:g}", np.array(value, np.float32))

    def write(
        self,
        path: Path,
        inputs: dict[str, tuple[type[np.int64] | type[np.float32], Sequence[str | int]]],
        outputs: dict[str, Sequence[str | int]],
    ) -> None:
        """Check and write the model; a shape's strings are free dimensions, outputs are float32."""
        kinds: dict[type, int] = {np.int64: TensorProto.INT64, np.float32: TensorProto.FLOAT}
        graph = helper.make_graph(
            self.nodes,
            self.name,
            [helper.make_tensor_value_info(n, kinds[kind], list(shape)) for n, (kind, shape) in inputs.items()],
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, list(shape)) for n, shape in outputs.items()],
            initializer=list(self.constants.values()),
        )
        model = helper.make_model(
            graph,
            producer_name="conclave-train",
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=8,
        )
        onnx.checker.check_model(model)
        path.write_bytes(model.SerializeToString(deterministic=True))
