"""Write golden files for whoever merges deltas elsewhere: a base, three bundles, and what must come of them.

    python golden/make.py golden          all of them
    python golden/make.py golden late     the bundle of late interaction alone, on the base that is there
    python golden/make.py golden head     that of DESIRE-ME

The merged weights and vectors are computed here with NumPy from the files as
written, not by the package's own code: training/README.md is what both follow.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import torch

from conclave_train.bundle.manifest import Folder, HeadManifest, Manifest
from conclave_train.desire_me.graph import write_head
from conclave_train.desire_me.head import Head
from conclave_train.expert import train_expert
from conclave_train.job import Job
from conclave_train.model.checkpoint import read_checkpoint
from conclave_train.model.delta import Delta, write_delta
from conclave_train.settings import EnsembleSettings, ExpertSettings
from conftest import tiny_domain, vocabulary, write_checkpoint

Weights = dict[str, NDArray[Any]]
HEADS, EPSILON = 4, 1e-12
LATE = 8  # numbers in a token's vector
SETTINGS = ExpertSettings(
    epochs=2, batch=24, learning_rate=3e-3, temperature=0.1, rank=3, question_tokens=16, passage_tokens=24,
    hold_out=0.0, negatives="none", hard=0, dropout=0.0,
)  # fmt: skip
TEXTS = [("one", "the ask3 of say4 two"), ("", "some say7."), ("the", "of " * 60), ("two", "what ask1?")]


def main(out: Path) -> None:
    """Make everything anew in ``out``."""
    for name in ("base", "tied", "two", "runs"):
        shutil.rmtree(out / name, ignore_errors=True)
    base = write_checkpoint(out / "base")
    for name in ("tied", "two"):
        job = Job(
            f"golden-{name}", (tiny_domain(),), base, out / name, out / "runs" / name,
            replace(SETTINGS, towers=name), EnsembleSettings(members=3, hidden=4, ensemble_epochs=2, ensemble_hard=0),
            base_name="golden-base", licence="Apache-2.0 (made up)", quiet=True,
        )  # fmt: skip
        train_expert(job)
        merged = merge(load_file(base / "model.safetensors"), load_file(out / name / "delta.safetensors"))
        for tower, weights in merged.items():
            save_file(weights, out / f"{name}.{tower}.safetensors")
        rows = []
        for title, text in TEXTS:
            passage = f"{title}. {text}" if title else text
            question_weights = merged.get("shared") or merged["question"]
            passage_weights = merged.get("shared") or merged["passage"]
            rows.append(
                {
                    "title": title,
                    "text": text,
                    "question": [round(float(x), 7) for x in encode(question_weights, text)],
                    "passage": [round(float(x), 7) for x in encode(passage_weights, passage)],
                }
            )
        (out / f"{name}.vectors.json").write_text(json.dumps(rows, indent=1) + "\n")
    shutil.rmtree(out / "runs")
    late(out)
    head(out)


def late(out: Path) -> None:
    """A late expert's bundle with a head of random numbers, and every token's vector and importance."""
    base = read_checkpoint(out / "base")
    random = np.random.default_rng(7)
    head = {
        "projection.weight": random.normal(size=(LATE, base.config.hidden_size)),
        "importance.weight": 3 * random.normal(size=(1, base.config.hidden_size)),
        "importance.bias": np.array([0.54]),
    }
    tensors = {f"shared.late.{n}.new": torch.from_numpy(v.astype(np.float16)) for n, v in head.items()}
    with Folder(out / "late") as folder:
        write_delta(
            folder.path("delta.safetensors"),
            Delta(base.sha256, tensors),
            {"base": "golden-base", "name": "golden-late"},
        )
        manifest = Manifest(
            name="golden-late", kind="late", dimension=LATE, pooling="tokens", normalise=True,
            max_tokens=base.max_tokens, lower_case=base.tokens.lower_case, template="title-dot-text",
            source="golden-base", source_sha256=base.sha256, architecture=base.config.describe(),
            licence=base.licence, base_name="golden-base", delta="delta.safetensors",
        )  # fmt: skip
        folder.finish(manifest, "# golden-late\n\nA late expert for tests, whose head is random.\n")
    weights = load_file(out / "base" / "model.safetensors")
    written = load_file(out / "late" / "delta.safetensors")
    rows = [
        {"text": text, "tokens": [[round(float(x), 7) for x in row] for row in tokens(weights, written, text)]}
        for text in [f"{title}. {text}" if title else text for title, text in TEXTS] + [text for _, text in TEXTS[:1]]
    ]
    (out / "late.tokens.json").write_text(json.dumps(rows, indent=1) + "\n")


def tokens(w: Weights, delta: Weights, text: str) -> NDArray[np.float64]:
    """P h / ‖P h‖ and softplus(a · h/‖h‖ + b) of every token, the special ones included."""
    p, a, b = (
        delta[f"shared.late.{n}.new"].astype(np.float64)
        for n in ("projection.weight", "importance.weight", "importance.bias")
    )
    rows = []
    for h in hidden(w, text):
        vector = p @ h
        importance = math.log1p(math.exp(float(a[0] @ h) / math.sqrt(float(h @ h)) + float(b[0])))
        rows.append([*(vector / math.sqrt(float(vector @ vector))), importance])
    return np.array(rows)


def head(out: Path) -> None:
    """A DESIRE-ME expert's bundle with random specialisers, and what it makes of the vectors of texts."""
    base = read_checkpoint(out / "base")
    domains, beta = ("left", "middle", "right"), 0.4
    random = Head(base.config.output_size, len(domains), beta, True, seed=7).rounded()
    with torch.no_grad():
        random.gate_weights[2] *= 150  # else every probability is near a half
        random.gate_biases[2] -= 4
        random = random.rounded()
    with Folder(out / "desire-me") as folder:
        write_head(folder.path("head.onnx"), random)
        manifest = HeadManifest(
            name="golden-desire-me", kind="desire-me", dimension=random.dimension, normalise=True, domains=domains,
            lower_case=False, source="golden-base", source_sha256=base.sha256, architecture=base.config.describe(),
            licence=base.licence, base_name="golden-base", delta="head.onnx",
        )  # fmt: skip
        folder.finish(manifest, "# golden-desire-me\n\nA DESIRE-ME expert for tests, whose head is random.\n")
    weights = load_file(out / "base" / "model.safetensors")
    numbers = {name: value.numpy().astype(np.float64) for name, value in random.state_dict().items()}
    rows = []
    asked = [(text, hidden(weights, text).mean(0)) for _, text in TEXTS]
    drawn = np.random.default_rng(17)  # vectors of no text, at gates from wide open to nearly shut
    asked += [("", drawn.normal(size=random.dimension)) for _ in range(40)]
    for text, question in asked:
        question /= math.sqrt(float(question @ question))
        vector, gate = behind(numbers, question, beta)
        rows.append({"text": text, **{k: [round(float(x), 7) for x in v] for k, v in
                    (("question", question), ("vector", vector), ("gate", gate))}})  # fmt: skip
    (out / "desire-me.vectors.json").write_text(json.dumps(rows, indent=1) + "\n")


def behind(w: Weights, q: NDArray[np.float64], beta: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """unit(q + β·max(g)·unit(Σ g·S(q))) and g, by the formulas of training/README.md."""
    x = q
    for i in range(3):
        x = x @ w[f"gate_weights.{i}"] + w[f"gate_biases.{i}"]
        x = np.maximum(x, 0) if i < 2 else x
    gate = 1 / (1 + np.exp(-x))
    context = sum(
        g * (np.maximum(q @ w["down"][m] + w["down_bias"][m, 0], 0) @ w["up"][m] + w["up_bias"][m, 0])
        for m, g in enumerate(gate)
    )
    out = q + beta * gate.max() * context / math.sqrt(float(context @ context))
    return out / math.sqrt(float(out @ out)), gate


def merge(base: Weights, delta: Weights) -> dict[str, Weights]:
    """W + up·down, v + diff, per tower."""
    towers = {name.split(".")[0] for name in delta}
    merged = {tower: dict(base) for tower in towers}
    for full in delta:
        tower, name = full.split(".", 1)
        name, _, suffix = name.rpartition(".")
        if suffix == "up":
            up, down = (delta[f"{tower}.{name}.{s}"].astype(np.float64) for s in ("up", "down"))
            merged[tower][name] = (base[name] + up @ down).astype(np.float32)
        elif suffix == "diff":
            merged[tower][name] = base[name] + delta[full].astype(np.float32)
    return merged


def encode(w: Weights, text: str) -> NDArray[np.float64]:
    """A text's vector: the mean of its tokens' states, of unit length."""
    mean = hidden(w, text).mean(0)
    return np.asarray(mean / np.linalg.norm(mean))


def hidden(w: Weights, text: str) -> NDArray[np.float64]:
    """The last states [T,H] by BERT's formulas in float64; words are split by hand (the vocabulary has them whole)."""
    places = {piece: i for i, piece in enumerate(vocabulary())}
    pieces = text.lower().replace(".", " . ").replace("?", " ? ").split()
    ids = [places["[CLS]"], *(places.get(p, places["[UNK]"]) for p in pieces[:46]), places["[SEP]"]]
    w = {name: value.astype(np.float64) for name, value in w.items()}

    def linear(name: str, x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(x @ w[name + ".weight"].T + w[name + ".bias"])

    def norm(name: str, x: NDArray[np.float64]) -> NDArray[np.float64]:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
        return np.asarray(scaled * w[name + ".weight"] + w[name + ".bias"])

    e = "embeddings."
    x = w[e + "word_embeddings.weight"][ids] + w[e + "position_embeddings.weight"][: len(ids)]
    x = norm(e + "LayerNorm", x + w[e + "token_type_embeddings.weight"][0])
    layers = 1 + max(int(n.split(".")[2]) for n in w if n.startswith("encoder.layer."))
    for i in range(layers):
        at = f"encoder.layer.{i}."
        q, k, v = (linear(f"{at}attention.self.{n}", x) for n in ("query", "key", "value"))
        size = x.shape[1] // HEADS
        mixed = np.empty_like(x)
        for h in range(HEADS):
            part = slice(h * size, (h + 1) * size)
            scores = np.exp(q[:, part] @ k[:, part].T / math.sqrt(size))
            mixed[:, part] = scores / scores.sum(1, keepdims=True) @ v[:, part]
        x = norm(at + "attention.output.LayerNorm", x + linear(at + "attention.output.dense", mixed))
        wide = linear(at + "intermediate.dense", x)
        wide = wide * 0.5 * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
        x = norm(at + "output.LayerNorm", x + linear(at + "output.dense", wide))
    return np.asarray(x)


if __name__ == "__main__":
    if sys.argv[2:] == ["late"]:
        late(Path(sys.argv[1]))
    elif sys.argv[2:] == ["head"]:
        head(Path(sys.argv[1]))
    else:
        main(Path(sys.argv[1]))
