"""The command ``reader`` from data to a verified bundle, with a tiny base."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

from conclave_train.bundle.manifest import read_manifest
from conclave_train.cli import main
from conclave_train.errors import Interrupted, TrainingError
from conclave_train.export import export
from conclave_train.model.checkpoint import read_checkpoint
from conclave_train.model.delta import Delta, load_merged, read_delta
from conclave_train.model.tensors import read_tensors
from conclave_train.reader import ReaderJob, train_reader
from conclave_train.reading.model import load_reader, new_reader, reader_delta
from conclave_train.settings import ReaderSettings
from conftest import After, contents, tiny_domain, write_checkpoint, write_domain

QUICK = ReaderSettings(
    epochs=15, batch=8, learning_rate=6e-3, head_rate=1e-2, rank=32, negatives_per_question=3, max_question_tokens=8,
    hold_out=0.25, chunk=64,
)  # fmt: skip
ONCE = replace(QUICK, epochs=1, hold_out=0.0)
DOMAIN = tiny_domain(questions=24)


def job(tmp_path: Path, **changes: object) -> ReaderJob:
    base = tmp_path / "base"
    if not base.exists():
        write_checkpoint(base, max_position_embeddings=64)
    plain = ReaderJob("tiny", (DOMAIN,), base, tmp_path / "experts" / "tiny", tmp_path / "run", QUICK, quiet=True)
    return replace(plain, **changes)  # type: ignore[arg-type]


def test_a_tiny_reader_learns_and_verifies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Questions share no word with the passages that answer them: nothing but training tells which do."""
    path = train_reader(job(tmp_path))
    card = (path / "CARD.md").read_text()
    cells = [[c.strip() for c in r.split("|")[1:-1]] for r in card.splitlines() if r.startswith("| ")]
    rows = {r[0]: [float(x) for x in r[1:]] for r in cells if len(r) == 5 and r[0] not in ("", "---")}
    assert list(rows) == ["after training", "as shipped (rank 32, fp16)"]
    top, auroc, exact, shared = rows["as shipped (rank 32, fp16)"]
    assert top > 60, card  # chance: 25
    assert auroc > 70, card  # chance: 50
    assert exact > 75, card  # chance: below 30
    assert shared >= exact, card
    values = read_manifest(path)
    assert {f.name for f in path.iterdir()} == {"CARD.md", "delta.safetensors", "expert.yaml"}
    wanted = {"kind": "reader", "longest_span": 30, "delta": "delta.safetensors", "lower_case": True}
    assert {k: values[k] for k in wanted} == wanted
    assert values["max_tokens"] == {"question": 8, "title": 32, "pair": 64}
    assert not {"dimension", "pooling", "normalise", "template", "similarity"} & values.keys()
    assert values["lineage"]["notes"]["data fingerprint"] == DOMAIN.fingerprint()
    tensors, about = read_tensors(path / "delta.safetensors")
    assert {n: tuple(t.shape) for n, t in tensors.items() if n.endswith(".new")} == {
        "shared.reader.span.weight.new": (2, 32),
        "shared.reader.span.bias.new": (2,),
        "shared.reader.select.weight.new": (1, 32),
        "shared.reader.select.bias.new": (1,),
    }
    assert not [n for n in tensors if "embeddings.word" in n]
    assert about["base_sha256"] == values["base"]["weights_sha256"]
    assert main(["verify", str(path)]) == 0
    assert "tiny, 2 files agree with the manifest" in capsys.readouterr().out


def test_a_resumed_run_gives_the_same_bytes(tmp_path: Path) -> None:
    """Stopped between saves and in a later epoch; dropout and negatives go on where they were."""
    settings = replace(QUICK, epochs=2, save_every=4, dropout=0.1, freeze=1, hold_out=0.0)
    whole = train_reader(job(tmp_path, settings=settings, out=tmp_path / "whole", run=tmp_path / "r1"))
    parts = job(tmp_path, settings=settings, out=tmp_path / "parts", run=tmp_path / "r2")
    for count, step in ((6, 6), (40, 46)):
        with pytest.raises(Interrupted, match=f"stopped after step {step} of 72; the same command goes on"):
            train_reader(replace(parts, stop=After(count)))
    again = train_reader(parts)
    assert contents(again) == contents(whole)


def test_other_settings_do_not_go_on_with_a_run(tmp_path: Path) -> None:
    first = job(tmp_path, settings=ONCE)
    train_reader(first)
    other = replace(first, settings=replace(ONCE, depth=21))
    with pytest.raises(TrainingError, match=r"depth was 20 and is 21.*--fresh"):
        train_reader(other)
    train_reader(replace(other, fresh=True))


def test_frozen_layers_stay_the_bases(tmp_path: Path) -> None:
    bundle = train_reader(job(tmp_path, settings=replace(ONCE, freeze=1)))
    changed = {n.split(".")[3] for n in read_delta(bundle / "delta.safetensors").tensors if ".layer." in n}
    assert changed == {"1"}
    assert not [n for n in read_delta(bundle / "delta.safetensors").tensors if "embeddings" in n]


def test_export_gives_the_same_logits(tmp_path: Path) -> None:
    """PyTorch and ONNX Runtime agree, on pairs of different length."""
    bundle = train_reader(job(tmp_path, settings=ONCE))
    base = read_checkpoint(tmp_path / "base")
    whole = export(bundle, base.path, tmp_path / "whole")
    values = read_manifest(whole)
    assert (values["kind"], values["tokenizer"]) == ("reader", "vocab.txt")
    reader = load_reader(base, read_delta(bundle / "delta.safetensors")).eval()
    ids, keep = base.tokens.pad_batch(base.tokens.passages(DOMAIN.passages[:9], "title-dot-text", 24))
    with torch.no_grad():
        own = reader(ids, keep)
    names = values["reader"]
    graph = onnxruntime.InferenceSession(str(whole / names["file"]), providers=["CPUExecutionProvider"])
    feed = {names["input_ids"]: ids.numpy(), names["attention_mask"]: keep.numpy().astype(np.int64)}
    found = graph.run([names["start"], names["end"], names["select"]], feed)
    for ours, theirs in zip(own, found, strict=True):
        assert theirs.shape == tuple(ours.shape)
        difference = np.abs(ours.numpy() - theirs)
        assert float((difference[keep.numpy()] if difference.ndim == 2 else difference).max()) < 1e-5


def test_a_delta_of_full_rank_is_the_reader(tmp_path: Path) -> None:
    base = read_checkpoint(write_checkpoint(tmp_path / "base"))
    reader = new_reader(base, 3)
    torch.manual_seed(2)
    with torch.no_grad():
        for p in reader.parameters():
            if p.requires_grad:
                p.add_(0.05 * torch.randn_like(p))
    delta = reader_delta(base, reader, 64)
    again = load_reader(base, delta).state_dict()
    for name, value in reader.state_dict().items():
        assert float((value - again[name]).abs().max()) < 2e-3, name
    with pytest.raises(TrainingError, match="which a bi-encoder has not"):
        load_merged(base, delta)
    lacking = Delta(base.sha256, {n: t for n, t in delta.tensors.items() if "select.bias" not in n})
    with pytest.raises(TrainingError, match=r'"shared.reader.select.bias.new" is missing; \(1,\) is needed'):
        load_reader(base, lacking)


def test_a_reader_that_knows_nothing_is_not_published(tmp_path: Path) -> None:
    """Passages of the questions kept back are made indistinguishable from the others."""
    domain = replace(DOMAIN, questions=[replace(q, answers=()) for q in DOMAIN.questions])
    domain = replace(domain, passages=[replace(p, title="one", text="one") for p in domain.passages])
    named = [
        replace(q, positives=q.positives[:1], negatives=(f"tiny:{(i + 5) % 12}-0",))
        for i, q in enumerate(domain.questions)
    ]
    with pytest.raises(TrainingError, match="no better than chance"):
        train_reader(job(tmp_path, domains=(replace(domain, questions=named),), settings=replace(QUICK, epochs=1)))
    assert not (tmp_path / "experts" / "tiny").exists()


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two domains are one pool; the run says how far it is; help names every setting."""
    base = write_checkpoint(tmp_path / "base", max_position_embeddings=64)
    halves = [tiny_domain(name=n, seed=s, topics=t) for n, s, t in (("one", 3, range(6)), ("two", 4, range(6, 12)))]
    data = [str(write_domain(tmp_path / d.name, d)) for d in halves]
    arguments = [
        *("reader", "--data", data[0], "--data", data[1], "--base", str(base), "--name", "both"),
        *("--out", str(tmp_path / "out"), "--run", str(tmp_path / "run"), "--limit", "20", "--rank", "4"),
        *"--epochs 1 --batch 8 --negatives-per-question 3 --max-question-tokens 8 --hold-out 0".split(),
        *"--device cpu --threads 1 --no-bf16".split(),
    ]
    assert main(arguments) == 0
    said = capsys.readouterr()
    assert said.out == f"{tmp_path / 'out'}\n"
    assert "both: 40 training questions, 40 with answers, 0 kept back, 48 passages" in said.err
    assert "training: 40 questions in " in said.err
    assert read_manifest(tmp_path / "out")["lineage"]["notes"]["trained on"] == "one, two"
    with pytest.raises(SystemExit, match="0"):
        main(["reader", "--help"])
    text = capsys.readouterr().out
    for option in ("--data", "--passages", "--tokens", "--negatives-per-question", "--freeze", "--rank"):
        assert option in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--name", "My Reader"], "--name"),
        (["--negatives-per-question", "0"], "--negatives-per-question: 0 is not positive"),
        (["--depth", "5"], "--negatives-per-question: 7 need a larger --depth"),
        (["--freeze", "2"], "--freeze: 2 of the base's 2 layers: one must learn"),
        (["--tokens", "60"], "--tokens: 60 have no room for a text beside 64 tokens of a question"),
        (["--warm-up", "1"], "--warm-up: 1.0 is not between 0 and 1"),
        (["--base", "nowhere"], "there is no checkpoint at nowhere"),
        (["--limit", "-1"], "--limit: -1 is negative"),
    ],
)
def test_settings_that_cannot_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    write_checkpoint(tmp_path / "base", max_position_embeddings=256)
    data = write_domain(tmp_path / "tiny", tiny_domain())
    base = [] if "--base" in arguments else ["--base", str(tmp_path / "base")]
    run = ["--run", str(tmp_path / "run"), "--out", str(tmp_path / "out")]
    assert main(["reader", "--data", str(data), *base, *run, *arguments]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
