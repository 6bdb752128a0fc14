"""From data to a verified bundle with the tiny model."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
import yaml

from conclave_train.bundle.manifest import read_manifest, unseal
from conclave_train.cli import main
from conclave_train.data.records import Domain, Question
from conclave_train.ensemble import train_ensemble
from conclave_train.errors import Interrupted, TrainingError
from conclave_train.expert import train_expert
from conclave_train.export import export
from conclave_train.fit.encode import Device, encode_all
from conclave_train.job import Job
from conclave_train.model.checkpoint import read_checkpoint
from conclave_train.model.delta import load_merged, read_delta
from conclave_train.model.tensors import read_tensors
from conclave_train.progress import ends_when
from conclave_train.settings import EnsembleSettings, ExpertSettings
from conclave_train.uncertainty import Served
from conftest import After, tiny_domain, write_checkpoint, write_lines

QUICK = ExpertSettings(
    epochs=25, batch=24, learning_rate=3e-3, temperature=0.1, rank=24, question_tokens=16, passage_tokens=24,
    hold_out=0.25, chunk=24, dropout=0.0, negatives="none", hard=0,
)  # fmt: skip
DOMAIN = tiny_domain(questions=24)
MEMBERS = EnsembleSettings(members=4, hidden=8, ensemble_epochs=5, ensemble_batch=16, ensemble_hard=0)


def job(tmp_path: Path, **changes: object) -> Job:
    base = tmp_path / "base"
    if not base.exists():
        write_checkpoint(base)
    plain = Job("tiny", (tiny_domain(),), base, tmp_path / "experts" / "tiny", tmp_path / "run", QUICK, quiet=True)
    return replace(plain, **changes)  # type: ignore[arg-type]


def top_1(bundle: Path) -> tuple[float, float]:
    """Before and after, from the card."""
    rows = [
        r.split("|")
        for r in (bundle / "CARD.md").read_text().splitlines()
        if r.startswith(("| base |", "| as shipped", "| after"))
    ]
    found = {r[1].strip().split(" (")[0]: float(r[2]) for r in rows if r[2].strip()[0].isdigit()}
    return found["base"], found.get("as shipped", found["after training"])


def test_a_tiny_expert_learns_and_verifies(tmp_path: Path) -> None:
    """Questions share no word with their passages: the base is at chance, the expert is not."""
    path = train_expert(job(tmp_path, domains=(DOMAIN,), ensemble=MEMBERS))
    before, after = top_1(path)
    assert before < 30
    assert after > 80
    values = read_manifest(path)
    assert values["base"]["name"] == "base"
    assert (
        values["base"]["weights_sha256"]
        == hashlib.sha256((tmp_path / "base" / "model.safetensors").read_bytes()).hexdigest()
    )
    assert values["ensemble"] == {"file": "ensemble.onnx", "members": 4}
    assert set(values["files"]) == {"CARD.md", "delta.safetensors", "ensemble.onnx", "representatives.safetensors"}
    for name, sum in values["files"].items():
        assert hashlib.sha256((path / name).read_bytes()).hexdigest() == sum
    notes = values["lineage"]["notes"]
    assert notes["setting learning_rate"] == "0.003"
    assert notes["version torch"] == torch.__version__
    assert notes["data fingerprint"] == DOMAIN.fingerprint()
    calibration = yaml.safe_load((path / "calibration.yaml").read_bytes())
    assert calibration["encoder"] == values["files"]["delta.safetensors"]
    assert calibration["ece_after"] <= calibration["ece_before"]
    vectors, about = read_tensors(path / "representatives.safetensors")
    assert vectors["questions"].shape[1] == 32
    assert about["base_sha256"] == values["base"]["weights_sha256"]


@pytest.mark.parametrize("towers", ["tied", "two"])
def test_export_gives_the_same_vectors(tmp_path: Path, towers: str) -> None:
    """PyTorch and ONNX Runtime agree within 1e-4, on texts of different length in one batch."""
    settings = replace(QUICK, epochs=1, towers=towers, hold_out=0.0)
    bundle = train_expert(job(tmp_path, settings=settings, ensemble=MEMBERS))
    base = read_checkpoint(tmp_path / "base")
    whole = export(bundle, base.path, tmp_path / "whole")
    values = read_manifest(whole)
    model = load_merged(base, read_delta(bundle / "delta.safetensors")).eval()
    assert model.tied == (towers == "tied")
    domain = tiny_domain()
    rows = base.tokens.passages(domain.passages[:9], "title-dot-text", 24)
    ids, keep = base.tokens.pad_batch(rows)
    feed = {"input_ids": ids.numpy(), "attention_mask": keep.numpy().astype(np.int64)}
    for side, tower in (("question", model.question), ("passage", model.passage)):
        graph = onnxruntime.InferenceSession(str(whole / values[side]["file"]), providers=["CPUExecutionProvider"])
        own = encode_all(tower, rows, base.tokens, Device())
        out = graph.run([values[side]["embedding"]], feed)[0]
        assert out.shape == (9, 32)
        assert float(np.abs(out - own.numpy()).max()) < 1e-5
    if towers == "two":
        first, second = (t.state_dict()["bert.encoder.layer.0.output.dense.weight"] for t in model.towers().values())
        assert not torch.equal(first, second)


@pytest.mark.parametrize(("pooling", "act", "projection"), [("cls", "gelu_new", 0), ("mean", "relu", 7)])
def test_other_heads_are_exported_too(tmp_path: Path, pooling: str, act: str, projection: int) -> None:
    from conclave_train.bundle.encoder_graph import write_encoder
    from conclave_train.model.bert import BertConfig
    from conclave_train.model.tower import Head, Tower

    write_checkpoint(tmp_path / "base")
    config = replace(BertConfig.read(tmp_path / "base" / "config.json"), hidden_act=act, projection_dim=projection)
    for head in (Head(pooling, False), Head("pooler", True)):
        torch.manual_seed(2)
        tower = Tower(config, head).eval()
        write_encoder(tmp_path / "x.onnx", tower)
        graph = onnxruntime.InferenceSession(str(tmp_path / "x.onnx"), providers=["CPUExecutionProvider"])
        ids = torch.tensor([[2, 9, 10, 11, 3], [2, 8, 3, 0, 0]])
        with torch.no_grad():
            own = tower(ids, ids != 0).numpy()
        out = graph.run(None, {"input_ids": ids.numpy(), "attention_mask": (ids != 0).long().numpy()})[0]
        np.testing.assert_allclose(out, own, atol=1e-5)


def test_a_resumed_run_gives_the_same_bytes(tmp_path: Path) -> None:
    """Stopped twice in training and once in the ensemble, with dropout, mining and hard negatives."""
    settings = replace(
        QUICK, epochs=9, dropout=0.02, negatives="bm25", hard=1, mine_at="3,6", answer_filter=False, save_every=4
    )
    whole = train_expert(
        job(tmp_path, settings=settings, ensemble=MEMBERS, out=tmp_path / "whole", run=tmp_path / "r1")
    )
    parts = job(tmp_path, settings=settings, ensemble=MEMBERS, out=tmp_path / "parts", run=tmp_path / "r2")
    run = tmp_path / "r2"
    for stop in (After(9), After(30), lambda: (run / "vectors.pt").exists()):
        with pytest.raises(Interrupted, match="the same command goes on"):
            train_expert(replace(parts, stop=stop))
    assert (run / "ensemble.pt").exists()
    lists = [(run / f"negatives-{name}.json").read_bytes() for name in ("first", "epoch-3", "epoch-6")]
    assert len(set(lists)) == 3  # it did mine, and found others each time
    again = train_expert(parts)
    assert sorted(f.name for f in again.iterdir()) == sorted(f.name for f in whole.iterdir())
    for file in whole.iterdir():
        assert file.read_bytes() == (again / file.name).read_bytes(), file.name


def test_a_run_that_is_stopped_while_it_measures_gives_the_same_bytes(tmp_path: Path) -> None:
    """Told to stop before the first epoch's measuring, in a later one, and while negatives are mined."""
    settings = replace(
        QUICK, epochs=9, dropout=0.02, negatives="bm25", hard=1, mine_at="3,6", answer_filter=False, save_every=1000
    )
    whole = train_expert(job(tmp_path, settings=settings, out=tmp_path / "whole", run=tmp_path / "r1"))
    parts = job(tmp_path, settings=settings, out=tmp_path / "parts", run=tmp_path / "r2")
    stopped = []
    for ticks in (9, 160, 20, 60):
        with ends_when(After(ticks)):
            try:
                train_expert(parts)
            except Interrupted as error:
                stopped.append(re.sub(r"stopped while (.*), after .*", r"\1", str(error)))
    assert {"BM25 negatives", "measuring"} <= set(stopped), stopped
    again = train_expert(parts)
    for file in whole.iterdir():
        assert file.read_bytes() == (again / file.name).read_bytes(), file.name


def test_other_settings_do_not_go_on_with_a_run(tmp_path: Path) -> None:
    first = job(tmp_path, settings=replace(QUICK, epochs=1, hold_out=0.0))
    train_expert(first)
    other = replace(first, settings=replace(first.settings, learning_rate=1e-3))
    with pytest.raises(TrainingError, match=r"learning_rate was 0.003 and is 0.001.*--fresh"):
        train_expert(other)
    train_expert(replace(other, fresh=True))


def test_low_rank_training(tmp_path: Path) -> None:
    settings = replace(QUICK, update="low-rank", rank=16, learning_rate=1e-2, epochs=12)
    before, after = top_1(train_expert(job(tmp_path, settings=settings)))
    assert before < 30
    assert after > 50


def test_an_expert_that_is_no_better_is_not_published(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="no epoch was better than the base"):
        train_expert(job(tmp_path, settings=replace(QUICK, epochs=1, learning_rate=1e-9)))
    assert not (tmp_path / "experts" / "tiny").exists()


def test_a_new_ensemble_for_an_expert(tmp_path: Path) -> None:
    bundle = train_expert(job(tmp_path, settings=replace(QUICK, epochs=1, hold_out=0.0), ensemble=MEMBERS))
    before = read_manifest(bundle)
    more = replace(MEMBERS, members=6)
    new = train_ensemble(bundle, tmp_path / "base", tiny_domain(9), more, tmp_path / "run2", hold=0.3, quiet=True)
    after = read_manifest(new)
    assert new == bundle
    assert after["ensemble"]["members"] == 6
    assert after["files"]["delta.safetensors"] == before["files"]["delta.safetensors"]
    assert after["files"]["ensemble.onnx"] != before["files"]["ensemble.onnx"]
    card = (bundle / "CARD.md").read_text()
    assert card.count("## Confidence") == 1
    assert "6 members" in card
    assert "members 6, hidden 8" in card
    assert "| members |" not in card  # the earlier ones', among the other settings
    assert "## Settings" in card
    assert "## Trained on" in card


def test_vectors_serve_all_ensembles_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other members need no other vectors; other questions do. The card says what the confidence is worth."""
    bundle = train_expert(job(tmp_path, settings=replace(QUICK, epochs=1, hold_out=0.0), ensemble=None))
    texts: list[int] = []
    encode = Served.questions

    def counted(self: Served, questions: Sequence[Question], quiet: bool = False) -> torch.Tensor:
        texts.append(len(questions))
        return encode(self, questions, quiet)

    monkeypatch.setattr(Served, "questions", counted)
    foreign = [tiny_domain(5, "one", topics=(1, 2)), tiny_domain(6, "two", topics=(3, 4))]

    def train(settings: EnsembleSettings, limit: int = 0) -> str:
        path = train_ensemble(
            bundle, tmp_path / "base", tiny_domain(9), settings, tmp_path / "run2", tmp_path / "out", 0.3, limit,
            pool=30, foreign=foreign, fresh=True, quiet=True,
        )  # fmt: skip
        return (path / "CARD.md").read_text()

    card = train(MEMBERS)
    encoded = len(texts)
    assert encoded == 3
    assert "the members' own top-1 is" in card
    assert "Questions at home against foreign ones: 0." in card
    assert "foreign questions together" in card
    train(replace(MEMBERS, members=6))
    assert len(texts) == encoded
    train(MEMBERS, limit=40)
    assert texts[encoded:][0] == 40


def test_an_expert_of_questions_with_answers_alone(tmp_path: Path) -> None:
    """The words that questions and passages share lead to a passage, and training to the topic."""
    domain = tiny_domain(questions=24)
    passages = [replace(p, text=f"{p.text} hint{p.id.split(':')[1].split('-')[0]}") for p in domain.passages]
    questions = [
        replace(q, text=f"{q.text} hint{q.id.split('-')[1]}", positives=()) if i % 2 else q
        for i, q in enumerate(domain.questions)
    ]
    path = train_expert(job(tmp_path, domains=(Domain("tiny", passages, questions),), settings=QUICK))
    before, after = top_1(path)
    assert after > before + 20
    card = (path / "CARD.md").read_text()
    assert f"| questions whose passage is BM25's first with an answer | {len(questions) // 2} |" in card


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One command from two files to a bundle; a bad line is one line of error and status 1."""
    domain = tiny_domain()
    write_checkpoint(tmp_path / "base")
    passages = write_lines(tmp_path / "p.jsonl", [vars(p) | {"index": 0} for p in domain.passages])
    rows = [
        {"id": q.id, "question": q.text, "positive_ids": q.positives, "answers": q.answers} for q in domain.questions
    ]
    questions = write_lines(tmp_path / "q.jsonl", rows)
    arguments = [
        *("expert", "--passages", str(passages), "--questions", str(questions), "--name", "mydomain"),
        *("--base", str(tmp_path / "base"), "--out", str(tmp_path / "out"), "--run", str(tmp_path / "run")),
        *(
            "--epochs",
            "16",
            "--learning-rate",
            "3e-3",
            "--batch",
            "24",
            "--temperature",
            "0.1",
            "--no-answer-filter",
            "--rank",
            "24",
        ),
        *("--question-tokens", "16", "--passage-tokens", "24", "--device", "cpu", "--threads", "1"),
        *("--members", "3", "--hidden", "8", "--ensemble-epochs", "2", "--hold-out", "0.2", "--dropout", "0"),
    ]
    assert main(arguments) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'out'}\n"
    assert main(["verify", str(tmp_path / "out")]) == 0
    (tmp_path / "out" / "CARD.md").write_text("changed")
    assert main(["verify", str(tmp_path / "out")]) == 1
    assert "CARD.md has changed" in capsys.readouterr().err
    write_lines(questions, [*rows, {**rows[0], "id": "new", "positive_ids": ["nowhere"]}])
    assert main(arguments) == 1
    expected = f"q.jsonl:{len(rows) + 1}: field \"positive_ids[0]\": 'nowhere' is the id of no passage given"
    assert capsys.readouterr().err.strip().endswith(expected)
    with pytest.raises(SystemExit, match="2"):
        main(["expert"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--name", "My Domain"], "--name"),
        (["--name", "x", "--epochs", "0"], "--epochs: 0 is not positive"),
        (["--name", "x", "--mine-at", "5"], "outside 1 to 2"),
        (["--name", "x", "--embeddings", "trained"], "add --weights onnx"),
        (["--name", "x", "--passage-tokens", "900"], "900 tokens are asked for"),
        (["--name", "x", "--base", "nowhere"], "there is no checkpoint at nowhere"),
        (["--name", "x", "--share", "0"], "--share: 0"),
    ],
)
def test_settings_that_cannot_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    domain = tiny_domain()
    write_checkpoint(tmp_path / "base")
    write_lines(tmp_path / "passages.jsonl", [vars(p) | {"index": 0} for p in domain.passages])
    rows = [{"id": q.id, "question": q.text, "positive_ids": q.positives} for q in domain.questions]
    write_lines(tmp_path / "questions.train.jsonl", rows)
    base = [] if "--base" in arguments else ["--base", str(tmp_path / "base")]
    run = ["--run", str(tmp_path / "run"), "--out", str(tmp_path / "out")]
    assert main(["expert", "--data", str(tmp_path), *base, *run, *arguments]) == 1
    assert message in capsys.readouterr().err


def test_a_changed_byte_of_the_manifest_is_found(tmp_path: Path) -> None:
    bundle = train_expert(job(tmp_path, settings=replace(QUICK, epochs=1, hold_out=0.0)))
    path = bundle / "expert.yaml"
    data = path.read_bytes()
    for at in (0, 30, len(data) // 2, len(data) - 20):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises((TrainingError, UnicodeDecodeError)):
            read_manifest(bundle)
    edited = data[: data.rindex(b"# sha256")].replace(b"licence: apache-2.0", b"licence: mine")
    assert unseal(path, edited)["lineage"]["licence"] == "mine"
    assert json.dumps(unseal(path, data)["files"])
