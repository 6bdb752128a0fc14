"""A run's folder: its settings, and the state that lets it go on after an interruption."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from conclave_train.errors import TrainingError


@dataclass
class Progressed:
    """How far a run is. ``weights`` and ``best`` hold the trained parameters by name."""

    step: int
    weights: dict[str, Tensor]
    optimiser: dict[str, Any]
    best: dict[str, Tensor] = field(default_factory=dict)
    best_score: float = -1.0
    best_epoch: float = 0.0
    history: list[dict[str, float]] = field(default_factory=list)


class RunFolder:
    """The folder of one run; opening it with other settings than it was begun with is an error."""

    def __init__(self, path: Path, identity: dict[str, Any], fresh: bool = False) -> None:
        self.path, self.identity, self.fresh = path, identity, fresh
        path.mkdir(parents=True, exist_ok=True)
        settings = path / "settings.json"
        if fresh:
            for file in path.iterdir():
                if file.suffix in (".pt", ".json"):
                    file.unlink()
        if settings.exists():
            before = json.loads(settings.read_text("utf-8"))
            changed = [k for k in sorted({*before, *identity}) if before.get(k) != _plain(identity.get(k))]
            if changed:
                was = ", ".join(f"{k} was {before.get(k)!r} and is {_plain(identity.get(k))!r}" for k in changed[:3])
                raise TrainingError(
                    f"{path} holds a run with other settings ({was}): repeat them, choose another --run, "
                    "or give --fresh to begin again"
                )
        else:
            self.write_json("settings.json", identity)

    def within(self, name: str) -> RunFolder:
        """The folder of a part of the run that has steps of its own."""
        return RunFolder(self.path / name, self.identity, self.fresh)

    def write_json(self, name: str, value: Any) -> None:
        """Write a small file whole."""
        temporary = self.path / f".{name}.tmp"
        temporary.write_text(json.dumps(value, indent=1, sort_keys=True, default=str), "utf-8")
        temporary.replace(self.path / name)

    def read_json(self, name: str) -> Any:
        """Read it again; None where it is not there."""
        path = self.path / name
        return json.loads(path.read_text("utf-8")) if path.exists() else None

    def save_part(self, name: str, value: Any) -> None:
        """Write tensors under ``name``; a crash leaves the old file or the new."""
        temporary = self.path / f".{name}.tmp"
        torch.save(value, temporary)
        temporary.replace(self.path / name)

    def load_part(self, name: str) -> Any:
        """Read them again; None where there is no such file."""
        path = self.path / name
        if not path.exists():
            return None
        try:
            return torch.load(path, map_location="cpu", weights_only=True)
        except Exception as error:  # torch has many kinds for one fact
            raise TrainingError(f"{path} cannot be read ({error}): give --fresh to begin again") from error

    def save(self, state: Progressed) -> None:
        """Keep the training's state."""
        self.save_part("state.pt", vars(state))

    def load(self) -> Progressed | None:
        """The training's state, if there is one."""
        values = self.load_part("state.pt")
        return None if values is None else Progressed(**values)


def _plain(value: Any) -> Any:
    """The value as it comes back from JSON."""
    return json.loads(json.dumps(value, sort_keys=True, default=str))


def trained(model: torch.nn.Module) -> dict[str, torch.nn.Parameter]:
    """The parameters that training changes, by name; a tied tower's stand once."""
    return {name: p for name, p in model.named_parameters() if p.requires_grad}


def snapshot(model: torch.nn.Module) -> dict[str, Tensor]:
    """A copy of the trained parameters on the CPU."""
    return {name: p.detach().cpu().clone() for name, p in trained(model).items()}


def restore(model: torch.nn.Module, weights: dict[str, Tensor]) -> None:
    """Put a snapshot back."""
    own = trained(model)
    if own.keys() != weights.keys():
        raise TrainingError("the saved state is of another model: give --fresh to begin again")
    with torch.no_grad():
        for name, p in own.items():
            p.copy_(weights[name])
