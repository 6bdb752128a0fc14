"""A new ensemble for an expert that is already there: a bundle, or any expert of a running server."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from conclave_train.bundle.ensemble_graph import save_members, write_ensemble
from conclave_train.bundle.manifest import CALIBRATION, CARD, Folder, manifest_of, read_manifest
from conclave_train.data.records import Domain, Question
from conclave_train.data.split import choose_pool, hold_out
from conclave_train.errors import TrainingError
from conclave_train.finding.server import Server
from conclave_train.fit.encode import Device
from conclave_train.fit.state import RunFolder
from conclave_train.job import DELTA, divide
from conclave_train.model.checkpoint import read_checkpoint
from conclave_train.model.delta import load_merged, read_delta
from conclave_train.model.tokens import join
from conclave_train.model.tower import BiEncoder
from conclave_train.progress import say
from conclave_train.publish import ENSEMBLE
from conclave_train.settings import EnsembleSettings
from conclave_train.uncertainty import Asked, Served, fit_uncertainty


def train_ensemble(
    bundle: Path,
    base: Path,
    domain: Domain,
    settings: EnsembleSettings,
    run: Path,
    out: Path | None = None,
    hold: float = 0.1,
    limit: int = 0,
    pool: int = 0,
    foreign: Sequence[Domain] = (),
    device: Device | None = None,
    fresh: bool = False,
    quiet: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> Path:
    """Train members for the delta in ``bundle`` on ``domain``, and write the bundle anew (to ``out``, or in place).

    Which questions they see is the caller's choice: the expert's own training
    questions (the paper), or such as the expert has not seen; at most ``limit``
    (0: all), chosen as `expert` chooses them. The temperature is fitted on a share
    ``hold``, in at most ``pool`` passages (0: all) beside those that the questions
    name. Of each of the domains ``foreign`` the same share of the questions, 600 of
    all together at most, says how well the confidence tells home.
    """
    settings.check()
    values = read_manifest(bundle)
    if values.get("kind") == "late":
        raise TrainingError(f"{bundle} is a late expert, with a vector per token: an ensemble needs one per text")
    if "delta" not in values:
        raise TrainingError(f"{bundle} holds whole graphs; only the ensemble of a delta can be trained here")
    checkpoint = read_checkpoint(base, values["pooling"], values["normalise"])
    model: BiEncoder = load_merged(checkpoint, read_delta(bundle / DELTA)).eval()
    limits = values["max_tokens"]
    device = device or Device()
    served = Served(
        model.to(device.name),
        checkpoint.tokens,
        values["template"],
        (limits["question"], limits["passage"]),
        device,
    )
    # The same split as in `expert`, so that no question it kept back is trained on.
    train, kept_back, _ = divide((domain,), hold, 600, limit)
    asked = Asked(train, kept_back, [q for d in foreign for q in hold_out(d.questions, hold, 600 // len(foreign))[1]])
    searched = choose_pool(domain, [*train, *kept_back], pool)
    encoding: dict[str, Any] = {
        "delta": values["files"][DELTA],
        "data": domain.fingerprint(),
        "foreign": [d.fingerprint() for d in foreign],
        "hold": hold,
        "limit": limit,
        "pool": pool,
        "bf16": device.bf16,
    }
    folder = RunFolder(run, encoding | dataclasses.asdict(settings), fresh)
    # Other settings of the members need no other vectors.
    key = hashlib.sha256(json.dumps(encoding, sort_keys=True).encode()).hexdigest()[:16]
    vectors = asked.encoded(searched, served, RunFolder(run / f"vectors-{key}", encoding), quiet)
    unit = values["normalise"]
    fitted = fit_uncertainty(searched, asked, vectors, settings, unit, device.name, folder, stop, quiet)
    save_members(run / "ensemble.safetensors", fitted.members)
    with Folder(out or bundle) as new:
        for name in values["files"]:
            if name not in (ENSEMBLE, CARD):
                shutil.copyfile(bundle / name, new.path(name))
        write_ensemble(new.path(ENSEMBLE), fitted.members)
        card = _card((bundle / CARD).read_text("utf-8"), fitted.summary, searched, settings)
        manifest = manifest_of(values)
        notes = manifest.notes | {f"setting {k}": str(v) for k, v in vars(settings).items()}
        notes["ensemble trained on"] = f"{domain.name}, {domain.fingerprint()}"
        manifest = dataclasses.replace(manifest, ensemble=(ENSEMBLE, fitted.members.members), notes=notes)
        path = new.finish(manifest, card, fitted.calibration)
    if not quiet:
        say(f"wrote {path}" + ("" if fitted.calibration else f" without {CALIBRATION}"))
    return path


@dataclasses.dataclass(frozen=True)
class ServedBy:
    """An expert of a running server, whose model may be behind an HTTP interface."""

    server: Server
    expert: str

    def questions(self, questions: Sequence[Question], quiet: bool = False) -> Tensor:
        """Vectors [Q,D]."""
        return torch.tensor(self.server.vectors(self.expert, "question", [q.text for q in questions]))

    def passages(self, domain: Domain, quiet: bool = False) -> Tensor:
        """Vectors [N,D]."""
        texts = [join(p, "title-dot-text") for p in domain.passages]
        return torch.tensor(self.server.vectors(self.expert, "passage", texts))


def train_served_ensemble(
    served: ServedBy,
    domain: Domain,
    settings: EnsembleSettings,
    run: Path,
    out: Path,
    hold: float = 0.1,
    limit: int = 0,
    pool: int = 0,
    device: str = "cpu",
    fresh: bool = False,
    quiet: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> Path:
    """Train members on the vectors that an expert of a server gives ``domain``, and write them to ``out``, with a card.

    The questions are divided as by :func:`train_ensemble`. Nothing is calibrated: `conclave calibrate` does it where
    the file is used. It returns the path of ``ensemble.onnx``.
    """
    settings.check()
    train, kept_back, _ = divide((domain,), hold, 600, limit)
    asked = Asked(train, kept_back)
    searched = choose_pool(domain, [*train, *kept_back], pool)
    encoding: dict[str, Any] = {
        "server": served.server.identity(),
        "expert": served.expert,
        "data": domain.fingerprint(),
        "hold": hold,
        "limit": limit,
        "pool": pool,
    }
    folder = RunFolder(run, encoding | dataclasses.asdict(settings), fresh)
    key = hashlib.sha256(json.dumps(encoding, sort_keys=True).encode()).hexdigest()[:16]
    vectors = asked.encoded(searched, served, RunFolder(run / f"vectors-{key}", encoding), quiet)
    lengths = vectors["passages"].norm(dim=1)
    unit = bool(((lengths - 1).abs() < 1e-3).all())
    fitted = fit_uncertainty(searched, asked, vectors, settings, unit, device, folder, stop, quiet)
    save_members(run / "ensemble.safetensors", fitted.members)
    out.mkdir(parents=True, exist_ok=True)
    write_ensemble(out / ENSEMBLE, fitted.members)
    about = f"An ensemble on the vectors of questions of the expert {served.expert}, of {lengths.shape[0]:,} passages"
    (out / CARD).write_text(_card(f"# {served.expert}\n\n{about}.\n", fitted.summary, domain, settings), "utf-8")
    if not quiet:
        say(f"name {out / ENSEMBLE} as the expert's ensemble in conclave.yaml, and run conclave calibrate")
    return out / ENSEMBLE


def _card(old: str, summary: str, domain: Domain, settings: EnsembleSettings) -> str:
    """The old card with its section on confidence replaced, and the ensemble's settings."""
    start = old.find("## Confidence\n")
    end = old.find("\n## ", start + 1) if start >= 0 else -1
    before = old[:start] if start >= 0 else old.rstrip("\n") + "\n\n"
    rest = old[end:] if end >= 0 else ""
    values = {k: str(v) for k, v in vars(settings).items()}
    lines = [line for line in rest.split("\n") if line.split(" | ")[0].removeprefix("| ") not in values]
    rows = ", ".join(f"{k} {v}" for k, v in values.items())
    trained = f"Ensemble trained on {domain.name} ({len(domain.questions):,} questions): {rows}."
    return f"{before}## Confidence\n\n{summary}\n\n{trained}\n" + "\n".join(lines)
