"""``delta.safetensors``: what fine-tuning changed, relative to a base checkpoint.

The format is written down in training/README.md; the Go package ``models`` merges it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from conclave_train.errors import TrainingError
from conclave_train.model.checkpoint import Checkpoint
from conclave_train.model.lowrank import factors
from conclave_train.model.tensors import read_tensors, write_tensors
from conclave_train.model.tower import BiEncoder

FORMAT = "conclave-delta-1"
UP, DOWN, DIFF, NEW = ".up", ".down", ".diff", ".new"
TABLES = ("word_embeddings", "position_embeddings", "token_type_embeddings")

State = dict[str, Tensor]


@dataclass(frozen=True)
class Delta:
    """The update per tower (shared, or question and passage): fp16 tensors by name and suffix."""

    base_sha256: str
    tensors: dict[str, Tensor]
    kept: float = 1.0  # share of the change's squared norm, over all matrices
    dropped: float = 0.0  # norm of what embedding tables changed, relative to the rest's

    @property
    def towers(self) -> list[str]:
        """shared, or question and passage."""
        return sorted({name.split(".", 1)[0] for name in self.tensors})

    @property
    def new(self) -> dict[str, Tensor]:
        """The tensors that the base lacks, in float32 by tower and name: the head of a late expert."""
        return {name.removesuffix(NEW): t.float() for name, t in self.tensors.items() if name.endswith(NEW)}


def extract(base: Checkpoint, tuned: Mapping[str, State], rank: int) -> Delta:
    """Compress ``tuned`` (merged weights by tower) against ``base``.

    A matrix of a linear layer becomes ``up`` and ``down`` of at most ``rank``; a
    bias or norm its difference. Embedding tables stay the base's. What did not
    change is left out.
    """
    out: dict[str, Tensor] = {}
    square = kept_square = tables = 0.0
    for tower, state in tuned.items():
        for name, old in base.base(tower).items():
            change = state[name].cpu() - old
            if not torch.isfinite(change).all():
                raise TrainingError(f'the trained tensor "{name}" has a value that is not finite')
            norm = float((change.double() ** 2).sum())
            if any(table in name for table in TABLES):
                tables += norm
            elif norm == 0:
                continue
            elif change.dim() == 2:
                up, down, kept = factors(change, rank)
                out[f"{tower}.{name}{UP}"], out[f"{tower}.{name}{DOWN}"] = up.half(), down.half()
                square, kept_square = square + norm, kept_square + kept * norm
            else:
                out[f"{tower}.{name}{DIFF}"] = change.half()
    if not out:
        raise TrainingError("training changed nothing: there is no delta to write")
    for name, tensor in out.items():
        if not torch.isfinite(tensor).all():
            raise TrainingError(f'the change of "{name}" is too large for fp16')
    kept = kept_square / square if square else 1.0
    return Delta(base.sha256, out, kept, (tables / square) ** 0.5 if square else 0.0)


def write_delta(path: Path, delta: Delta, metadata: Mapping[str, str]) -> None:
    """Write the file; ``metadata`` adds to what the format needs."""
    write_tensors(path, delta.tensors, {**metadata, "format": FORMAT, "base_sha256": delta.base_sha256})


def read_delta(path: Path) -> Delta:
    """Read what :func:`write_delta` wrote."""
    tensors, metadata = read_tensors(path)
    if metadata.get("format") != FORMAT:
        raise TrainingError(f"{path}: its format is {metadata.get('format')!r}; {FORMAT} is read")
    return Delta(metadata.get("base_sha256", ""), tensors)


def merge(base: Checkpoint, delta: Delta) -> dict[str, State]:
    """The weights per tower: base + up·down, base + diff, and what is new beside them. Every tensor must fit."""
    if delta.base_sha256 != base.sha256:
        raise TrainingError(
            f"the delta belongs to a base whose weights have SHA-256 {delta.base_sha256:.12}…; "
            f"{base.path} has {base.sha256:.12}…"
        )
    towers = delta.towers
    if towers not in (
        ["shared"],
        ["question", "passage"],
        ["passage", "question"],
        ["question"],
        ["passage"],
    ):
        raise TrainingError(f"a delta has the towers {towers}; shared, or question and passage, are known")
    names = ["shared"] if towers == ["shared"] else ["question", "passage"]
    merged = {tower: dict(base.base(tower)) for tower in names}
    for full, tensor in delta.tensors.items():
        tower, rest = full.split(".", 1)
        name, dot, suffix = rest.rpartition(".")
        state = merged[tower]
        if dot + suffix == NEW:
            if name in base.base(tower):
                raise TrainingError(f'the delta\'s tensor "{full}" is said to be new; the base has one of that name')
            if not torch.isfinite(tensor).all():
                raise TrainingError(f'the delta\'s tensor "{full}" has a value that is not finite')
            state[name] = tensor.float()
            continue
        if name not in base.base(tower):
            raise TrainingError(f'the delta\'s tensor "{full}" has no counterpart in the base')
        if dot + suffix == UP:
            down = delta.tensors.get(f"{tower}.{name}{DOWN}")
            if down is None:
                raise TrainingError(f'the delta has "{full}" and no "{tower}.{name}{DOWN}"')
            change = tensor.float() @ down.float()
        elif dot + suffix == DIFF:
            change = tensor.float()
        elif dot + suffix == DOWN and f"{tower}.{name}{UP}" in delta.tensors:
            continue
        else:
            raise TrainingError(f'the delta\'s tensor "{full}" is not understood')
        if change.shape != state[name].shape:
            raise TrainingError(
                f'the delta\'s "{full}" gives {tuple(change.shape)}; {tuple(state[name].shape)} is needed'
            )
        state[name] = base.base(tower)[name] + change
    return merged


def load_merged(base: Checkpoint, delta: Delta) -> BiEncoder:
    """The bi-encoder that ``delta`` makes of ``base``; one with a head of its own is an error."""
    if delta.new:
        raise TrainingError(f'the delta has "{min(delta.new)}", which a bi-encoder has not: it is a late expert\'s')
    states = merge(base, delta)
    model = base.model()
    if list(states) == ["shared"]:
        if not model.tied:
            raise TrainingError("a delta of one shared tower cannot change a base of two")
        model.question.load_plain_state(states["shared"])
        return model
    if model.tied:
        model = model.untied()
    model.question.load_plain_state(states["question"])
    model.passage.load_plain_state(states["passage"])
    return model
