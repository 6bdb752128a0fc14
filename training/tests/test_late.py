"""The command ``late`` from data to a verified bundle, with a tiny base."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

from conclave_train.bundle.manifest import read_manifest
from conclave_train.cli import main
from conclave_train.ensemble import train_ensemble
from conclave_train.errors import Interrupted, TrainingError
from conclave_train.export import export
from conclave_train.interaction.head import load_late
from conclave_train.late import LateJob, train_late
from conclave_train.model.checkpoint import read_checkpoint
from conclave_train.model.delta import Delta, extract, read_delta, write_delta
from conclave_train.model.tensors import read_tensors, write_tensors
from conclave_train.settings import EnsembleSettings, LateSettings
from conftest import After, contents, tiny_domain, write_checkpoint, write_domain

QUICK = LateSettings(
    dimension=32, epochs=20, learning_rate=1e-2, importance_rate=3e-2, warm_up=10, negatives_per_question=12,
    depth=40, hold_out=0.25,
)  # fmt: skip
ONCE = replace(QUICK, epochs=1, dimension=8, hold_out=0.0)
DOMAIN = tiny_domain(questions=24)


def write_base(path: Path) -> Path:
    """A tiny base whose states say which word stands there: places and neighbours weigh a tenth of what is random."""
    write_checkpoint(path, hidden_size=64, num_hidden_layers=1)
    tensors, about = read_tensors(path / "model.safetensors")
    for name in tensors:
        if "position" in name or "output.dense.weight" in name:
            tensors[name] *= 0.1
    write_tensors(path / "model.safetensors", tensors, about)
    return path


def job(tmp_path: Path, **changes: object) -> LateJob:
    base = tmp_path / "base"
    if not base.exists():
        write_base(base)
    plain = LateJob("tiny", (DOMAIN,), base, tmp_path / "experts" / "tiny", tmp_path / "run", QUICK, quiet=True)
    return replace(plain, **changes)  # type: ignore[arg-type]


def test_a_tiny_late_expert_learns_and_verifies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Questions share no word with their passages: base, BM25 and the untrained head are at chance; it is not."""
    path = train_late(job(tmp_path))
    card = (path / "CARD.md").read_text()
    cells = [[c.strip() for c in r.split("|")[1:-1]] for r in card.splitlines() if r.startswith("| ")]
    rows = {r[0]: float(r[1]) for r in cells if len(r) == 6 and r[0] not in ("", "---")}
    assert list(rows) == ["base", "BM25", "before training", "as shipped (fp16)"]
    assert max(rows["base"], rows["BM25"], rows["before training"]) < 30
    assert rows["as shipped (fp16)"] > 90
    values = read_manifest(path)
    assert {f.name for f in path.iterdir()} == {"CARD.md", "delta.safetensors", "expert.yaml"}
    wanted = {"kind": "late", "pooling": "tokens", "normalise": True, "dimension": 32, "delta": "delta.safetensors"}
    assert {k: values[k] for k in wanted} == wanted
    assert values["max_tokens"] == {"question": 48, "passage": 48}
    assert "ensemble" not in values
    notes = values["lineage"]["notes"]
    assert notes["setting negatives_per_question"] == "12"
    assert notes["setting bf16"] == "False"
    assert notes["data fingerprint"] == DOMAIN.fingerprint()
    assert notes["version torch"] == torch.__version__
    tensors, about = read_tensors(path / "delta.safetensors")
    assert {n: (t.dtype, tuple(t.shape)) for n, t in tensors.items()} == {
        "shared.late.projection.weight.new": (torch.float16, (32, 64)),
        "shared.late.importance.weight.new": (torch.float16, (1, 64)),
        "shared.late.importance.bias.new": (torch.float16, (1,)),
    }
    assert about["format"] == "conclave-delta-1"
    assert about["base_sha256"] == values["base"]["weights_sha256"]
    assert main(["verify", str(path)]) == 0
    assert "tiny, 2 files agree with the manifest" in capsys.readouterr().out


def test_a_resumed_run_gives_the_same_bytes(tmp_path: Path) -> None:
    """Stopped while questions and passages are encoded, and twice in training, between saves and in a later epoch."""
    settings = replace(QUICK, epochs=6, save_every=5, pool=40)
    whole = train_late(job(tmp_path, settings=settings, out=tmp_path / "whole", run=tmp_path / "r1"))
    parts = job(tmp_path, settings=settings, out=tmp_path / "parts", run=tmp_path / "r2")
    states: list[str] = []
    for count in (2, 9, 10, 38):
        with pytest.raises(Interrupted, match="the same command goes on") as stopped:
            train_late(replace(parts, stop=After(count)))
        states.append(str(stopped.value))
    assert [s.split(";")[0] for s in states] == [
        "stopped after 64 of 216 questions",
        "stopped after 32 of 48 passages",
        "stopped after step 9 of 84",
        "stopped after step 47 of 84",
    ]
    again = train_late(parts)
    assert contents(again) == contents(whole)


def test_other_settings_do_not_go_on_with_a_run(tmp_path: Path) -> None:
    first = job(tmp_path, settings=ONCE)
    train_late(first)
    other = replace(first, settings=replace(ONCE, depth=41))
    with pytest.raises(TrainingError, match=r"depth was 40 and is 41.*--fresh"):
        train_late(other)
    train_late(replace(other, fresh=True))


@pytest.mark.parametrize("changed", [False, True])
def test_export_gives_the_same_tokens(tmp_path: Path, changed: bool) -> None:
    """PyTorch and ONNX Runtime agree, on texts of different length; a delta may change the encoder too."""
    bundle = train_late(job(tmp_path, settings=ONCE))
    base = read_checkpoint(tmp_path / "base")
    delta = read_delta(bundle / "delta.safetensors")
    if changed:
        torch.manual_seed(1)
        tuned = {n: t + 0.1 * torch.randn_like(t) for n, t in base.states["shared"].items()}
        delta = Delta(base.sha256, delta.tensors | extract(base, {"shared": tuned}, 4).tensors)
        write_delta(bundle / "delta.safetensors", delta, {})
        text = (bundle / "expert.yaml").read_text().rpartition("# sha256")[0]
        old = read_sum(text)
        new = hashlib.sha256((bundle / "delta.safetensors").read_bytes()).hexdigest()
        (bundle / "expert.yaml").write_text(text.replace(old, new))
    whole = export(bundle, base.path, tmp_path / "whole")
    values = read_manifest(whole)
    assert values["kind"] == "late"
    assert values["question"] == values["passage"]
    tower, head = load_late(base, delta)
    ids, keep = base.tokens.pad_batch(base.tokens.passages(DOMAIN.passages[:9], "title-dot-text", 24))
    with torch.no_grad():
        vectors, importance = head(tower.eval().bert(ids, keep))
    graph = onnxruntime.InferenceSession(str(whole / values["passage"]["file"]), providers=["CPUExecutionProvider"])
    feed = {"input_ids": ids.numpy(), "attention_mask": keep.numpy().astype(np.int64)}
    out = graph.run([values["passage"]["embedding"]], feed)[0]
    assert out.shape == (*ids.shape, 9)
    own = torch.cat([vectors, importance.unsqueeze(-1)], dim=-1)
    assert float(np.abs(out - own.numpy())[keep.numpy()].max()) < 1e-5


def read_sum(manifest: str) -> str:
    """The delta's SHA-256 in a manifest's text."""
    return manifest.split("delta.safetensors: ")[-1].split()[0]


def test_what_a_late_expert_cannot_have(tmp_path: Path) -> None:
    bundle = train_late(job(tmp_path, settings=ONCE))
    with pytest.raises(TrainingError, match="is a late expert, with a vector per token: an ensemble needs one"):
        train_ensemble(bundle, tmp_path / "base", DOMAIN, EnsembleSettings(), tmp_path / "run2", quiet=True)


def test_a_head_that_is_no_better_is_not_published(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="in no better order than the base"):
        train_late(job(tmp_path, settings=replace(QUICK, epochs=1, learning_rate=1e-9, importance_rate=1e-9)))
    assert not (tmp_path / "experts" / "tiny").exists()


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two domains are one pool; the run says how far it is; help names every setting."""
    write_base(tmp_path / "base")
    halves = [tiny_domain(name=n, seed=s, topics=t) for n, s, t in (("one", 3, range(6)), ("two", 4, range(6, 12)))]
    data = [str(write_domain(tmp_path / d.name, d)) for d in halves]
    arguments = [
        *("late", "--data", data[0], "--data", data[1], "--base", str(tmp_path / "base"), "--name", "both"),
        *("--out", str(tmp_path / "out"), "--run", str(tmp_path / "run"), "--limit", "50", "--dimension", "16"),
        *"--epochs 4 --batch 8 --negatives-per-question 10 --hold-out 0 --device cpu --threads 1 --no-bf16".split(),
    ]
    assert main(arguments) == 0
    said = capsys.readouterr()
    assert said.out == f"{tmp_path / 'out'}\n"
    assert "both: 100 training questions, 0 kept back, 48 passages of 48" in said.err
    for part in ("encoding passages: 48 texts in ", "training: 400 questions in "):
        assert part in said.err
    assert read_manifest(tmp_path / "out")["lineage"]["notes"]["trained on"] == "one, two"
    with pytest.raises(SystemExit, match="0"):
        main(["late", "--help"])
    text = capsys.readouterr().out
    for option in (
        "--data",
        "--passages",
        "--max-passage-tokens",
        "--negatives-per-question",
        "--bm25-share",
        "--pool",
    ):
        assert option in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--name", "My Domain"], "--name"),
        (["--dimension", "6"], "--dimension: 6 is no multiple of 4 from 4 to 256"),
        (["--dimension", "260"], "--dimension: 260 is no multiple"),
        (["--dimension", "128"], "--dimension: 128 is more than the base's 64"),
        (["--negatives-per-question", "0"], "--negatives-per-question: 0 is not positive"),
        (["--depth", "5"], "need a larger --depth"),
        (["--bm25-share", "2"], "--bm25-share: 2.0 is not between 0 and 1"),
        (["--max-passage-tokens", "4"], "at least 8 are needed"),
        (["--template", "odd"], "--template: 'odd' is not one of"),
        (["--base", "nowhere"], "there is no checkpoint at nowhere"),
        (["--limit", "-1"], "--limit: -1 is negative"),
    ],
)
def test_settings_that_cannot_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    write_base(tmp_path / "base")
    data = write_domain(tmp_path / "tiny", tiny_domain())
    base = [] if "--base" in arguments else ["--base", str(tmp_path / "base")]
    run = ["--run", str(tmp_path / "run"), "--out", str(tmp_path / "out")]
    assert main(["late", "--data", str(data), *base, *run, *arguments]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
