"""A delta as a bundle of whole graphs, merged and written here instead of by the server."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import Any

from conclave_train.bundle.encoder_graph import write_encoder, write_late_encoder, write_reader
from conclave_train.bundle.manifest import (
    CALIBRATION,
    CARD,
    Folder,
    manifest_of,
    read_manifest,
    reader_manifest_of,
    unseal,
)
from conclave_train.errors import TrainingError
from conclave_train.interaction.head import load_late
from conclave_train.job import DELTA
from conclave_train.model.checkpoint import Checkpoint, read_checkpoint
from conclave_train.model.delta import load_merged, read_delta
from conclave_train.publish import ENSEMBLE
from conclave_train.reading.model import load_reader


def export(bundle: Path, base: Path, out: Path) -> Path:
    """Write the expert in ``bundle`` to ``out`` with ONNX graphs that need no base."""
    values = read_manifest(bundle)
    if "delta" not in values:
        raise TrainingError(f"{bundle} holds whole graphs already")
    if values.get("kind") == "late":
        return _export_late(bundle, read_checkpoint(base), values, out)
    if values.get("kind") == "reader":
        return _export_reader(bundle, read_checkpoint(base), values, out)
    checkpoint = read_checkpoint(base, values["pooling"], values["normalise"])
    model = load_merged(checkpoint, read_delta(bundle / DELTA)).eval()
    tokenizer = checkpoint.tokenizer_file
    manifest = dataclasses.replace(
        manifest_of(values),
        base_name="",
        delta="",
        representatives="",
        tokenizer=tokenizer.name,
        question="encoder.onnx" if model.tied else "question.onnx",
        passage="encoder.onnx" if model.tied else "passage.onnx",
    )
    calibration = None
    if (old := bundle / CALIBRATION).exists():
        calibration = {k: v for k, v in unseal(old, old.read_bytes()).items() if k != "encoder"}
    with Folder(out) as folder:
        shutil.copyfile(tokenizer, folder.path(tokenizer.name))
        write_encoder(folder.path(manifest.question), model.question)
        if not model.tied:
            write_encoder(folder.path(manifest.passage), model.passage)
        if manifest.ensemble:
            shutil.copyfile(bundle / ENSEMBLE, folder.path(ENSEMBLE))
        return folder.finish(manifest, (bundle / CARD).read_text("utf-8"), calibration)


def _export_late(bundle: Path, checkpoint: Checkpoint, values: dict[str, Any], out: Path) -> Path:
    """One graph serves both sides: a question's importances and a passage's vectors come of the same."""
    tower, head = load_late(checkpoint, read_delta(bundle / DELTA))
    tokenizer = checkpoint.tokenizer_file
    manifest = dataclasses.replace(
        manifest_of(values),
        base_name="",
        delta="",
        tokenizer=tokenizer.name,
        question="encoder.onnx",
        passage="encoder.onnx",
    )
    if head.dimension != manifest.dimension:
        raise TrainingError(
            f"{bundle}: the head gives {head.dimension} numbers, its manifest says {manifest.dimension}"
        )
    with Folder(out) as folder:
        shutil.copyfile(tokenizer, folder.path(tokenizer.name))
        write_late_encoder(folder.path("encoder.onnx"), tower.eval(), head)
        return folder.finish(manifest, (bundle / CARD).read_text("utf-8"))


def _export_reader(bundle: Path, checkpoint: Checkpoint, values: dict[str, Any], out: Path) -> Path:
    """One graph, with the heads' three outputs."""
    reader = load_reader(checkpoint, read_delta(bundle / DELTA)).eval()
    tokenizer = checkpoint.tokenizer_file
    manifest = dataclasses.replace(
        reader_manifest_of(values), base_name="", delta="", tokenizer=tokenizer.name, graph="reader.onnx"
    )
    with Folder(out) as folder:
        shutil.copyfile(tokenizer, folder.path(tokenizer.name))
        write_reader(folder.path("reader.onnx"), reader)
        return folder.finish(manifest, (bundle / CARD).read_text("utf-8"))
