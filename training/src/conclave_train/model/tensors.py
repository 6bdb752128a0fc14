"""Writing safetensors files whose bytes depend on their content alone.

The reference library writes ``__metadata__`` in a random order, so the same
weights would have another SHA-256 in each run.
(github.com/huggingface/safetensors, "Format")
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from conclave_train.errors import TrainingError

_TYPES = {torch.float16: "F16", torch.float32: "F32", torch.int64: "I64"}


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write ``tensors`` in the order of their names."""
    header: dict[str, object] = {"__metadata__": dict(sorted(metadata.items()))}
    parts: list[bytes] = []
    at = 0
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        raw = tensor.numpy().tobytes()
        header[name] = {
            "dtype": _TYPES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [at, at + len(raw)],
        }
        parts.append(raw)
        at += len(raw)
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        file.writelines(parts)
    temporary.replace(path)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """``(tensors, metadata)`` of a safetensors file; copies, since the library maps the file."""
    try:
        with safe_open(str(path), framework="pt") as file:
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
            return tensors, dict(file.metadata() or {})
    except FileNotFoundError:
        raise TrainingError(f"there is no file {path}") from None
    except SafetensorError as error:
        raise TrainingError(f"{path}: {error}") from error
