"""The states that a frozen encoder gives to tokens, computed once and kept on disk.

A state is stored with length 1 (the head does not see lengths) in fp16, without
those of the first and last token, which stand for no word. A hundred thousand
tokens of 384 numbers are 77 MB, so the file is mapped, not read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from conclave_train.errors import Interrupted, TrainingError
from conclave_train.fit.encode import Device, chunks, padded
from conclave_train.fit.state import RunFolder
from conclave_train.model.tokens import Ids, Tokens
from conclave_train.model.tower import Tower
from conclave_train.progress import Progress

Mapped = np.memmap[Any, np.dtype[Any]]
CHUNK, SAVE_EVERY = 32, 16  # texts computed at a time; chunks between saves


class States:
    """The states of texts: text i has the rows ``starts[i]`` to ``starts[i + 1]`` of the file, H numbers of fp16 each.

    ``pooled`` [N, output size] are the texts' own vectors, as the encoder pools
    them.
    """

    def __init__(self, rows: NDArray[np.float16], starts: NDArray[np.int64], pooled: Tensor) -> None:
        self.rows, self.starts, self.pooled = rows, starts, pooled

    def __len__(self) -> int:
        return len(self.starts) - 1

    def gather(self, places: Sequence[int], device: str = "cpu") -> tuple[Tensor, Tensor]:
        """States [T,H] float32 of the texts ``places``, one after the other, and ``keep`` bool [texts, longest].

        ``keep`` has T times True, row by row: :func:`spread` puts what is computed of the states there.
        """
        counts = np.array([self.starts[p + 1] - self.starts[p] for p in places])
        parts = [self.rows[self.starts[p] : self.starts[p + 1]] for p in places]
        flat = torch.from_numpy(np.concatenate(parts)).to(device).float()
        keep = np.arange(max(1, int(counts.max())))[None, :] < counts[:, None]
        return flat, torch.from_numpy(keep).to(device)


def spread(flat: Tensor, keep: Tensor) -> Tensor:
    """Values [T, ...] of tokens in the places where ``keep`` [texts, longest] is True, zeros elsewhere."""
    out = flat.new_zeros(*keep.shape, *flat.shape[1:])
    out[keep] = flat
    return out


def encode_states(
    tower: Tower,
    rows: Sequence[Ids],
    tokens: Tokens,
    device: Device,
    folder: RunFolder,
    name: str,
    stop: Callable[[], bool] = lambda: False,
    quiet: bool = False,
) -> States:
    """The states of ``rows``, from the files ``name.states`` and ``name.pooled`` as far as they go.

    Which texts are computed together depends on their lengths alone, so an
    encoding that was stopped gives the same bytes as one that was not.
    """
    starts = np.concatenate([[0], np.cumsum([max(0, len(row) - 2) for row in rows])]).astype(np.int64)
    parts = chunks([len(row) for row in rows], CHUNK)
    done: int = (folder.read_json(f"{name}.json") or {"chunks": 0})["chunks"]
    size, width = tower.config.hidden_size, tower.config.output_size
    states = _map(folder.path / f"{name}.states", np.float16, (int(starts[-1]), size), done)
    pooled = _map(folder.path / f"{name}.pooled", np.float32, (len(rows), width), done)

    def save(count: int) -> None:
        for file in (states, pooled):
            file.flush()
        folder.write_json(f"{name}.json", {"chunks": count})

    tower.eval()
    before = sum(len(part) for part in parts[:done])
    with Progress(f"encoding {name}", len(rows), "texts", before, quiet, saves=True) as bar, torch.inference_mode():
        for number in range(done, len(parts)):
            if stop():
                save(number)
                raise Interrupted(f"stopped after {bar.done} of {len(rows)} {name}; the same command goes on")
            part = parts[number]
            ids, keep = padded(tower, rows, part, tokens, device)
            with device.autocast():
                hidden = tower.bert(ids, keep)
                vectors = tower.pool(hidden, keep)
            pooled[part] = vectors[: len(part)].float().cpu().numpy()
            units = F.normalize(hidden[: len(part)].float(), dim=-1).half().cpu().numpy()
            for i, place in enumerate(part):
                states[starts[place] : starts[place + 1]] = units[i, 1 : len(rows[place]) - 1]
            bar.tick(len(part))
            if (number + 1) % SAVE_EVERY == 0 or number + 1 == len(parts):
                save(number + 1)
    return States(states, starts, torch.from_numpy(np.array(pooled)))


def _map(path: Path, kind: type, shape: tuple[int, int], done: int) -> Mapped:
    """A file of ``shape`` mapped for writing: the one that is there where something is done, else a new one."""
    bytes_needed = int(np.prod(shape)) * np.dtype(kind).itemsize
    if done and (not path.exists() or path.stat().st_size != bytes_needed):
        raise TrainingError(f"{path} is missing or not of this run: give --fresh to begin again")
    return np.memmap(path, kind, "r+" if done else "w+", shape=shape)


def principal(states: States, dimension: int, most: int = 2000) -> Tensor:
    """The first ``dimension`` principal directions [d,H] of the states of at most ``most`` texts, not centred.

    The products of unit vectors in that space are as near to those of the
    states as a projection can keep them, so training begins where the base is.
    """
    size = states.rows.shape[1]
    moment = torch.zeros(size, size, dtype=torch.float64)
    chosen = range(0, len(states), max(1, -(-len(states) // most)))
    for a in range(0, len(chosen), 64):
        rows, _ = states.gather(chosen[a : a + 64])
        moment += (rows.T @ rows).double()
    directions = torch.linalg.eigh(moment).eigenvectors.flip(1)[:, :dimension].T
    # The sign of a direction is arbitrary: make its largest element positive.
    sign = torch.sign(directions.gather(1, directions.abs().argmax(1, keepdim=True)))
    out: Tensor = (directions * sign).float()
    return out
