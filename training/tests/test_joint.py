"""A retriever and a T5 that learn together: likelihoods, gradients, the index that follows, a whole run."""

from __future__ import annotations

import json
import math
import socket
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from torch import Tensor

from conclave_train.bundle.manifest import read_manifest
from conclave_train.cli import main
from conclave_train.end_to_end import EndToEndJob, train_end_to_end
from conclave_train.errors import Interrupted, NoGainError, TrainingError
from conclave_train.feedback.evidence import Evidence
from conclave_train.feedback.joint import Joint, Pair, teacher_of
from conclave_train.feedback.loss import all_likely, divergence, marginal_nll
from conclave_train.fid import FidJob, Reading, train_fid
from conclave_train.fit.encode import Device, encode_all
from conclave_train.fit.fused import Asked, groups, learn, likelihoods, states
from conclave_train.fit.loop import Texts
from conclave_train.fit.state import RunFolder
from conclave_train.generator import is_t5
from conclave_train.job import with_dropout
from conclave_train.model.checkpoint import read_checkpoint
from conclave_train.model.delta import read_delta
from conclave_train.model.t5 import T5, read_t5
from conclave_train.model.tensors import read_tensors
from conclave_train.settings import EndToEndSettings, FidSettings
from conftest import After, cached, contents, tiny_domain, write_checkpoint, write_lines
from test_fid import t5_folder
from test_labelled import conclave

CPU = Device()
DOMAIN = tiny_domain(questions=4)
QUICK = EndToEndSettings(
    hits=4, epochs=2, batch=8, learning_rate=3e-3, reader_rate=3e-3, rank=8, most_common=0.2, hold_out=0.25, chunk=3,
    tokens=40, answer_tokens=8, question_tokens=16, passage_tokens=24, save_every=2,
)  # fmt: skip
PASSAGES = [[5, 9, 12, 1], [7, 30, 31, 40, 41, 1], [90, 2, 1]]
ASKED = [
    Asked(PASSAGES, [17, 60, 1]), Asked(PASSAGES[1:], [20, 1]), Asked(PASSAGES[:1], [5, 6, 7, 1]),
    Asked([[8, 1]], [1]),
]  # fmt: skip


def t5(tmp_path: Path) -> T5:
    folder = tmp_path / "t5"
    return read_t5(folder if folder.exists() else t5_folder(folder))


def sum_nll(model: T5, asked: Asked) -> Tensor:
    """The sum over the answer's tokens of -log p(a_t | a_<t, q, Z), in one graph."""
    said = torch.tensor([[model.c.start, *asked.answer[:-1]]])
    likely = model.say(states(model, asked.passages, CPU), said)[0].log_softmax(-1)
    return -torch.stack([likely[t, a] for t, a in enumerate(asked.answer)]).sum()


def gradients(model: T5) -> dict[str, Tensor]:
    made = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad(set_to_none=True)
    return made


def far(got: Tensor, wanted: Tensor) -> float:
    """The largest difference, as a share of the largest number; below 1e-6 they are nothing but rounding."""
    return float(((got - wanted).abs() - 1e-6).clamp_min(0).max() / wanted.abs().max().clamp_min(1e-9))


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 100])
def test_gradients_in_parts_are_those_of_the_whole(tmp_path: Path, size: int) -> None:
    """One graph of each question by itself, without padding, gives the same, whatever is computed at a time."""
    model = t5(tmp_path)
    losses = [sum_nll(model, one) for one in ASKED]
    (0.25 * torch.stack(losses).sum()).backward()  # type: ignore[no-untyped-call]
    wanted = gradients(model)
    said = learn(model, ASKED, CPU, size, (1, 2), 0.25)
    got = gradients(model)
    assert [one.loss for one in said] == pytest.approx([float(loss.detach()) for loss in losses], rel=1e-5)
    assert got.keys() == wanted.keys()
    for name, value in wanted.items():
        assert far(got[name], value) < 1e-5, name


def test_questions_go_together_up_to_a_number_of_passages() -> None:
    assert [[len(a.passages) for a in g] for g in groups(ASKED, 2)] == [[3], [2], [1, 1]]
    assert [[len(a.passages) for a in g] for g in groups(ASKED, 5)] == [[3, 2], [1, 1]]
    assert [[len(a.passages) for a in g] for g in groups(ASKED, 7)] == [[3, 2, 1, 1]]


@pytest.mark.parametrize("size", [2, 100])
def test_dropout_is_the_same_in_both_passes(tmp_path: Path, size: int) -> None:
    """With dropout, the gradient is that of the loss which was returned: a step along it changes just that."""
    model = read_t5(t5_folder(tmp_path / "t5"), 0.2).train()
    before = sum(one.loss for one in learn(model, ASKED, CPU, size, (3,), 1.0))
    made = gradients(model)
    step = 1e-4 / math.sqrt(sum(float(g.pow(2).sum()) for g in made.values()))
    with torch.no_grad():
        for name, p in model.named_parameters():
            if name in made:
                p.sub_(step * made[name])
    after = sum(one.loss for one in learn(model, ASKED, CPU, size, (3,), 1.0))
    slope = sum(float(g.pow(2).sum()) for g in made.values())
    assert after - before == pytest.approx(-step * slope, rel=0.1)


@pytest.mark.parametrize("size", [2, 100])
def test_likelihoods_of_each_passage_alone(tmp_path: Path, size: int) -> None:
    """As if the passage were the only one; nothing of them reaches the reader's gradients."""
    model = t5(tmp_path)
    whole = states(model, [p for a in ASKED for p in a.passages], CPU).detach()
    got = likelihoods(model, whole, ASKED, CPU, size)
    assert [tuple(one.shape) for one in got] == [(len(a.passages), len(a.answer)) for a in ASKED]
    assert not any(one.requires_grad for one in got)
    for one, said in zip(ASKED, got, strict=True):
        for passage, row in zip(one.passages, said, strict=True):
            with torch.no_grad():
                alone = model.say(states(model, [passage], CPU), torch.tensor([[model.c.start, *one.answer[:-1]]]))[0]
            wanted = [float(alone.log_softmax(-1)[t, a]) for t, a in enumerate(one.answer)]
            assert row.tolist() == pytest.approx(wanted, abs=1e-4)
    assert gradients(model) == {}


def test_objectives_by_hand() -> None:
    """Two passages, scores log 3 and 0: p = 3/4, 1/4. Tokens' likelihoods .5 and .4, and .1 and .8."""
    scores = torch.tensor([[math.log(3.0), 0.0]], dtype=torch.float64, requires_grad=True)
    said = [torch.tensor([[0.5, 0.4], [0.1, 0.8]], dtype=torch.float64).log()]
    whole, none = teacher_of(said, "sequence")
    assert none is None
    marginal = 0.75 * 0.2 + 0.25 * 0.08
    loss = marginal_nll(scores, whole)
    assert float(loss.detach()) == pytest.approx(-math.log(marginal))
    loss.sum().backward()  # type: ignore[no-untyped-call]
    assert scores.grad is not None  # p_k - posterior
    assert scores.grad[0].tolist() == pytest.approx([0.75 - 0.15 / marginal, 0.25 - 0.02 / marginal])
    posterior = [0.2 / 0.28, 0.08 / 0.28]
    kl = posterior[0] * math.log(posterior[0] / 0.75) + posterior[1] * math.log(posterior[1] / 0.25)
    assert float(divergence(scores.detach(), whole)) == pytest.approx(kl)
    assert float(all_likely(scores.detach(), whole)) == pytest.approx(-math.log(0.75) - math.log(0.25))
    short = [*said, torch.tensor([[0.3], [0.6]], dtype=torch.float64).log()]
    tokens, keep = teacher_of(short, "tokens")
    assert tokens.shape == (2, 2, 2)
    both = marginal_nll(scores.detach().expand(2, 2), tokens, keep)
    each = -0.5 * (math.log(0.75 * 0.5 + 0.25 * 0.1) + math.log(0.75 * 0.4 + 0.25 * 0.8))
    assert both.tolist() == pytest.approx([each, -math.log(0.75 * 0.3 + 0.25 * 0.6)])


def job(tmp_path: Path, **changes: Any) -> EndToEndJob:
    base, reader = tmp_path / "base", tmp_path / "t5"
    if not base.exists():
        write_checkpoint(base, max_position_embeddings=64)
    if not reader.exists():
        t5_folder(reader)
    plain = EndToEndJob(
        "tiny", (DOMAIN,), base, tmp_path / "experts" / "tiny", tmp_path / "run", QUICK, reader, quiet=True
    )
    return replace(plain, **changes)


@pytest.mark.parametrize(("both", "chunk"), [(False, 3), (True, 3), (False, 8)])
def test_one_step_against_autograd(tmp_path: Path, both: bool, chunk: int) -> None:
    """The gradients of both models after a step are those of L_reader + L_retriever, written down in one graph."""
    job(tmp_path)
    checkpoint = with_dropout(read_checkpoint(tmp_path / "base"), 0.0)
    s = replace(QUICK, both_sides=both, max_norm=1e9, epochs=1, batch=3, chunk=chunk)
    pair = Pair(checkpoint.model().untied(), read_t5(tmp_path / "t5"))
    asked = list(DOMAIN.questions[:3])
    tokens = checkpoint.tokens
    texts = Texts(
        tokens.questions([q.text for q in asked], 16), tokens.passages(DOMAIN.passages, "title-dot-text", 24), tokens
    )
    words = Tokenizer.from_file(str(tmp_path / "t5" / "tokenizer.json"))
    reading = Reading(asked, DOMAIN, [], words, FidSettings(tokens=40, answer_tokens=8))

    def encode(tower: Any, _: bool) -> Tensor:
        return encode_all(tower, texts.passages, tokens, CPU)

    folder = RunFolder(tmp_path / "r", {})
    evidence = Evidence(encode, pair.retriever.passage, 0, 100, folder)
    joint = Joint(pair, texts, reading, evidence, s, 0.05, CPU, folder, quiet=True)
    evidence.begin(0)
    vectors = evidence.at(0)
    rows = [2, 0, 1]
    places = joint.find(rows, vectors)
    answers = [reading.answer(i, 0) for i in rows]
    count = sum(map(len, answers))
    total = torch.zeros(())
    for n, (i, answer) in enumerate(zip(rows, answers, strict=True)):
        met = [reading.input(asked[i], int(p)) for p in places[n]]
        # SG: nothing of the second term goes to the reader.
        alone = torch.stack([-sum_nll(pair.reader, Asked([m], answer)) for m in met]).detach()
        q = pair.retriever.question(*tokens.pad_batch([texts.questions[i]], "cpu"))[0]
        found = [texts.passages[int(p)] for p in places[n]]
        p = pair.retriever.passage(*tokens.pad_batch(found, "cpu")) if both else vectors[places[n]]
        likely = (p @ q / 0.05).softmax(-1)
        total = (
            total
            + sum_nll(pair.reader, Asked(met, answer)) / count
            - torch.log((alone.exp() * likely).sum()) / len(rows)
        )
    total.backward()  # type: ignore[no-untyped-call]
    wanted = {n: p.grad.clone() for n, p in pair.named_parameters() if p.grad is not None and p.requires_grad}
    pair.zero_grad(set_to_none=True)
    joint.optimiser.step = lambda *_: None  # type: ignore[method-assign, assignment]
    joint.step(rows, 0, 1)
    got = {n: p.grad for n, p in pair.named_parameters() if p.grad is not None}
    assert got.keys() == wanted.keys()
    assert any("retriever.question" in n for n in got)
    assert any("retriever.passage" in n for n in got) == both
    for name, value in wanted.items():
        grad = got[name]
        assert grad is not None
        assert far(grad, value) < 1e-4, name


def test_the_index_follows_some_steps_behind(tmp_path: Path) -> None:
    """The vectors at a step are those of the weights at the multiple before the last; a run that goes on agrees."""
    tower = read_checkpoint(write_checkpoint(tmp_path / "base")).model().passage

    def encode(tower: Any, _: bool) -> Tensor:
        return tower.bert.embeddings.LayerNorm.bias.detach().clone()[None]  # type: ignore[no-any-return]

    def change(step: int) -> None:
        with torch.no_grad():
            tower.bert.embeddings.LayerNorm.bias.fill_(float(step + 1))

    first = float(encode(tower, True)[0, 0])
    whole = Evidence(encode, tower, 3, 2, RunFolder(tmp_path / "whole", {}))
    whole.begin(0)
    seen = []
    for step in range(14):
        seen.append(float(whole.at(step)[0, 0]))
        change(step)
    whole.close()
    assert seen == [first] * 6 + [3.0] * 3 + [6.0] * 3 + [9.0] * 2
    for stop in (1, 3, 4, 6, 7, 9, 11):
        tower = read_checkpoint(tmp_path / "base").model().passage
        folder = RunFolder(tmp_path / f"r{stop}", {})
        one = Evidence(encode, tower, 3, 2, folder)
        one.begin(0)
        again = []
        for step in range(14):
            if step == stop:
                one = Evidence(encode, tower, 3, 2, folder)
                one.begin(step)
            again.append(float(one.at(step)[0, 0]))
            change(step)
        one.close()
        assert again == seen, stop


@pytest.mark.parametrize("both", [False, True])
def test_a_resumed_run_gives_the_same_bytes(tmp_path: Path, both: bool) -> None:
    """Expert and generator, also where passages are encoded beside the training."""
    s = replace(QUICK, dropout=0.1, both_sides=both, refresh=3, learning_rate=1e-4)
    plain = job(tmp_path, settings=s)
    whole = train_end_to_end(replace(plain, out=tmp_path / "whole", run=tmp_path / "r1"))
    assert read_delta(whole / "delta.safetensors").towers == (["passage", "question"] if both else ["question"])
    assert main(["verify", str(whole)]) == 0
    before, _ = read_tensors(tmp_path / "t5" / "model.safetensors")
    after, _ = read_tensors(tmp_path / "whole-generator" / "model.safetensors")
    assert after.keys() == before.keys()
    assert any(not torch.equal(after[n].half(), before[n].half()) for n in after)
    card = (whole / "CARD.md").read_text()
    assert "em" in card
    assert "which learned too" in card
    parts, stopped = replace(plain, out=tmp_path / "parts", run=tmp_path / "r2"), 0
    for count in (3, 4, 2):
        try:
            train_end_to_end(replace(parts, stop=After(count)))
        except Interrupted:
            stopped += 1
    assert stopped == 3
    assert contents(train_end_to_end(parts)) == contents(whole)
    assert contents(tmp_path / "parts-generator") == contents(tmp_path / "whole-generator")


def test_refuses(tmp_path: Path) -> None:
    plain = job(tmp_path)
    assert is_t5(tmp_path / "t5")
    assert not is_t5(tmp_path / "base")
    with pytest.raises(TrainingError, match="--refit-reader: it is of a reader that marks words"):
        train_end_to_end(replace(plain, settings=replace(QUICK, refit_reader=True)))
    with pytest.raises(TrainingError, match="--objective alt-1: without feedback"):
        train_end_to_end(replace(plain, reader=None, settings=replace(QUICK, objective="alt-1", way="feedback")))
    silent = replace(DOMAIN, questions=[replace(q, answers=()) for q in DOMAIN.questions])
    with pytest.raises(TrainingError, match="0 training questions have answers"):
        train_end_to_end(replace(plain, domains=(silent,)))
    (tmp_path / "t5" / "tokenizer.json").unlink()
    with pytest.raises(TrainingError, match=r"has no tokenizer\.json"):
        train_end_to_end(plain)


def test_a_loss_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where exact match stays and the first passage is worse, though among the first twenty nothing changes."""
    rows = iter([{"em": 5.0, "top-1": 60.0, "top-20": 100.0}, {"em": 5.0, "top-1": 40.0, "top-20": 100.0}])
    monkeypatch.setattr("conclave_train.generator.scorer", lambda *_: lambda _: {"score": 0.0, **next(rows)})
    plain = job(tmp_path, settings=replace(QUICK, epochs=1, limit=8))
    said = (
        r"questions kept back lose \(em 5\.0 → 5\.0, top-1 60\.0 → 40\.0.*: a reader that answers .* more questions: 8"
    )
    with pytest.raises(NoGainError, match=said):
        train_end_to_end(plain)
    assert not plain.out.exists()
    assert not plain.out.with_name("tiny-generator").exists()


def test_no_gain_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Where nothing changes, with what would help; of a reader that answers already, no other one is asked for."""
    same = {"score": 0.0, "em": 40.0, "top-1": 60.0, "top-20": 100.0}
    monkeypatch.setattr("conclave_train.generator.scorer", lambda *_: lambda _: dict(same))
    train_end_to_end(job(tmp_path, settings=replace(QUICK, epochs=1, limit=8), quiet=False))
    said = " ".join(capsys.readouterr().err.split())
    assert "questions kept back gain nothing (em 40.0 → 40.0" in said
    assert "What would help: a lower --learning-rate" in said
    assert "conclave-train fid" not in said


def test_worse_answers_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where better passages outweigh them, both are written, and what to do is said."""
    rows = iter([{"em": 18.0, "top-1": 17.0, "top-20": 82.0}, {"em": 5.0, "top-1": 99.0, "top-20": 100.0}])
    monkeypatch.setattr("conclave_train.generator.scorer", lambda *_: lambda _: {"score": 0.0, **next(rows)})
    assert train_end_to_end(job(tmp_path, settings=replace(QUICK, epochs=1, limit=8), quiet=False)).exists()
    said = " ".join(capsys.readouterr().err.split())
    assert "answers from all 4 of them are not (em 18.0 → 5.0" in said
    assert "use the expert with the reader as it was" in said


@pytest.mark.parametrize("objective", ["kl", "alt-1"])
def test_other_objectives_run(tmp_path: Path, objective: str) -> None:
    s = replace(QUICK, objective=objective, epochs=1, hold_out=0.0, marginal="tokens", limit=8)
    path = train_end_to_end(job(tmp_path, settings=s))
    assert read_manifest(path)["lineage"]["notes"]["setting objective"] == objective


def run(program: str, *arguments: str | Path, at: Path) -> str:
    """What the program says, which has to end well."""
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, cwd=at)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def ask(address: str, body: dict[str, Any], server: subprocess.Popen[str]) -> dict[str, Any]:
    """The answer of a server that is starting."""
    request = urllib.request.Request(f"http://{address}/v1/search", json.dumps(body).encode())
    request.add_header("Content-Type", "application/json")
    for _ in range(600):
        assert server.poll() is None, "the server has ended"
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return dict(json.load(response))
        except urllib.error.HTTPError as error:
            assert error.code == 503, error.read()
        except OSError:
            pass
        time.sleep(0.2)
    raise AssertionError("no answer")


def test_a_t5_of_elsewhere_writes_what_is_served(tmp_path: Path) -> None:
    """From the folder of a T5 to a served answer, by the steps of the README: what comes out of the loop is imported,
    the expert finds passages by its base's vectors, and the server writes what the trained T5 writes of what it found.
    """
    program, at = conclave(), tmp_path
    cached("bundles")
    plain = job(tmp_path, settings=replace(QUICK, epochs=1, hold_out=0.0, limit=8))
    fid = FidJob(
        "writer", (DOMAIN,), tmp_path / "t5", tmp_path / "read", tmp_path / "r-read", quiet=True,
        settings=FidSettings(epochs=1, batch=8, passages_per_question=3, tokens=QUICK.tokens, limit=8),
    )  # fmt: skip
    path = train_end_to_end(replace(plain, reader=train_fid(fid)))
    made = path.with_name("tiny-generator")
    bundles = tmp_path / "bundles"
    base, own = tmp_path / "base", f"--base={tmp_path / 'base'}"
    for folder, name, more in ((base, "base", ["--unchecked"]), (path, "tiny", [own]), (made, "writer", [])):
        run(program, "models", "import", folder, "--name", name, "--out", bundles / name, *more, at=at)
    run(program, "models", "verify", bundles / "writer", at=at)
    lines = write_lines(tmp_path / "p.jsonl", [{"id": p.id, "title": p.title, "text": p.text} for p in DOMAIN.passages])
    index = ["index", "--collection", "c", "--bundles", str(bundles)]
    run(program, *index, "--in", lines, "--experts", "base", at=at)
    before = {f.name for f in (at / "c").rglob("*.vectors")}
    run(program, *index, "--add-expert", "tiny", at=at)
    assert {f.name for f in (at / "c").rglob("*.vectors")} == before, "the passages were encoded again"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    (at / "conclave.yaml").write_text(
        f"collection: c\nbundles: bundles\nreaders: [writer]\nlisten: {address}\n"
        "search: {timeout: 60s}\nlimits: {timeout: 60s}\n"
    )
    question = DOMAIN.questions[0]
    body = {"question": question.text, "k": 4, "answer": {"reader": "writer", "passages": 4, "max_tokens": 8}}
    quiet = subprocess.DEVNULL
    server = subprocess.Popen([program, "serve"], cwd=at, stdout=quiet, stderr=quiet, text=True)
    try:
        got = ask(address, body, server)
    finally:
        server.terminate()
        server.wait()
    assert {"base", "tiny"} <= {source["name"] for source in got["sources"]}
    words = Tokenizer.from_file(str(made / "tokenizer.json"))
    reading = Reading([question], DOMAIN, [], words, FidSettings(tokens=QUICK.tokens))
    places = [DOMAIN.index[r["id"]] for r in got["results"]]
    reader = read_t5(made).eval()
    with torch.inference_mode():
        said = reader.answer(states(reader, [reading.input(question, p) for p in places], CPU), 1, 8)
    assert got["generated"]["text"] == words.decode(said).strip()
    assert got["generated"]["tokens"] > 0


def test_hidden_passages_are_not_found(tmp_path: Path) -> None:
    job(tmp_path)
    checkpoint = read_checkpoint(tmp_path / "base")
    tokens, asked = checkpoint.tokens, list(DOMAIN.questions[:5])
    texts = Texts(tokens.questions([q.text for q in asked], 16), [], tokens)
    vectors = encode_all(
        checkpoint.model().passage, tokens.passages(DOMAIN.passages, "title-dot-text", 24), tokens, CPU
    )
    folder = RunFolder(tmp_path / "r", {})
    pair = Pair(checkpoint.model().untied(), read_t5(tmp_path / "t5"))
    evidence = Evidence(lambda *_: vectors, pair.retriever.passage, 0, 100, folder)
    reading = Reading(asked, DOMAIN, [], Tokenizer.from_file(str(tmp_path / "t5" / "tokenizer.json")), FidSettings())
    all = Joint(pair, texts, reading, evidence, QUICK, 0.05, CPU, folder, quiet=True).find([0, 1, 2, 3, 4], vectors)
    hidden = [int(all[0][0]), int(all[1][2]), 47, -1, int(all[4][3])]
    joint = Joint(pair, texts, reading, evidence, QUICK, 0.05, CPU, folder, hidden=hidden, quiet=True)
    some = joint.find([0, 1, 2, 3, 4], vectors)
    assert some.shape == all.shape
    for row, place in zip(some, hidden, strict=True):
        assert place not in row
    assert np.array_equal(some[0][:3], all[0][1:])
    assert np.array_equal(some[3], all[3])
