"""From a trained model to a bundle's folder."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from conclave_train.bundle.card import Card
from conclave_train.bundle.encoder_graph import write_encoder
from conclave_train.bundle.ensemble_graph import save_members, write_ensemble
from conclave_train.bundle.manifest import Folder, Manifest
from conclave_train.bundle.representatives import FILE as REPRESENTATIVES
from conclave_train.bundle.representatives import representatives, write_representatives
from conclave_train.fit.state import RunFolder
from conclave_train.job import Job, Prepared
from conclave_train.model.delta import Delta
from conclave_train.model.tower import BiEncoder
from conclave_train.selection import Selection
from conclave_train.uncertainty import Asked, Served, Uncertainty, fit_uncertainty

ENSEMBLE = "ensemble.onnx"


@dataclass(frozen=True)
class Result:
    """What training gave: the model as it is served, and its delta if it travels as one."""

    model: BiEncoder
    delta: Delta | None
    prepared: Prepared
    selection: Selection | None
    measured: dict[str, dict[str, float]]


def publish(job: Job, result: Result, card: Card, run: RunFolder) -> Path:
    """Add ensemble, calibration and representatives, and write the bundle."""
    prepared = result.prepared
    checkpoint = prepared.checkpoint
    served = Served(
        result.model.to(job.device.name),
        checkpoint.tokens,
        prepared.template,
        checkpoint.max_tokens,
        job.device,
    )
    uncertainty: Uncertainty | None = None
    if job.ensemble is not None:
        asked = Asked(prepared.train, prepared.held)
        uncertainty = fit_uncertainty(
            prepared.domain, asked, asked.encoded(prepared.domain, served, run, job.quiet), job.ensemble,
            checkpoint.head.normalise, job.device.name, run, job.stop, job.quiet,
        )  # fmt: skip
        card.calibration = uncertainty.summary
        card.settings |= dict(vars(job.ensemble))
        save_members(run.path / "ensemble.safetensors", uncertainty.members)
    with Folder(job.out) as folder:
        if result.delta is not None:
            job.write_delta(folder, result.delta)
        else:
            _graphs(folder, result.model, checkpoint.tokenizer_file)
        if uncertainty is not None:
            write_ensemble(folder.path(ENSEMBLE), uncertainty.members)
        if job.representatives and result.delta is not None:
            base = Served(
                checkpoint.model().eval().to(job.device.name), checkpoint.tokens, prepared.template,
                checkpoint.max_tokens, job.device,
            )  # fmt: skip
            chosen = representatives(base.questions(prepared.train, job.quiet), job.representatives, job.settings.seed)
            write_representatives(folder.path(REPRESENTATIVES), chosen, checkpoint.sha256)
            card.facts["representatives"] = f"{len(chosen)} training questions, as the base encodes them"
        manifest = _manifest(job, result, card, uncertainty)
        out = folder.finish(manifest, card.text(), uncertainty.calibration if uncertainty else None)
    return job.wrote(out)


def _graphs(folder: Folder, model: BiEncoder, tokenizer: Path) -> None:
    shutil.copyfile(tokenizer, folder.path(tokenizer.name))
    if model.tied:
        write_encoder(folder.path("encoder.onnx"), model.question)
    else:
        write_encoder(folder.path("question.onnx"), model.question)
        write_encoder(folder.path("passage.onnx"), model.passage)


def _manifest(job: Job, result: Result, card: Card, uncertainty: Uncertainty | None) -> Manifest:
    prepared, checkpoint = result.prepared, result.prepared.checkpoint
    tied = result.model.tied
    whole = result.delta is None
    stated = job.stated(checkpoint, card, prepared.domain)
    if whole:
        file = ("encoder.onnx", "encoder.onnx") if tied else ("question.onnx", "passage.onnx")
        stated |= {"base_name": "", "delta": "", "tokenizer": checkpoint.tokenizer_file.name}
        stated |= {"question": file[0], "passage": file[1]}
    return Manifest(
        **stated,
        dimension=checkpoint.config.output_size,
        pooling=checkpoint.head.pooling,
        normalise=checkpoint.head.normalise,
        max_tokens=checkpoint.max_tokens,
        template=prepared.template,
        prefix=checkpoint.tokens.prefix,
        ensemble=(ENSEMBLE, uncertainty.members.members) if uncertainty else None,
        representatives=REPRESENTATIVES if job.representatives and not whole else "",
    )
