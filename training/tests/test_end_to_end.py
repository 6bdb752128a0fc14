"""The command ``end-to-end`` from questions and answers to a verified bundle, with a tiny base."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from conclave_train.bundle.manifest import read_manifest
from conclave_train.cli import main
from conclave_train.end_to_end import EndToEndJob, train_end_to_end
from conclave_train.errors import Interrupted, TrainingError
from conclave_train.feedback.holders import Holders
from conclave_train.feedback.refit import Refit
from conclave_train.feedback.rounds import Rounds
from conclave_train.feedback.teacher import alike
from conclave_train.fit.encode import Device, encode_all
from conclave_train.fit.loop import Texts
from conclave_train.fit.state import RunFolder
from conclave_train.model.checkpoint import read_checkpoint
from conclave_train.model.delta import load_merged, read_delta
from conclave_train.reader import train_reader
from conclave_train.reading.loop import read
from conclave_train.reading.loss import answer_among_nll
from conclave_train.reading.model import load_reader
from conclave_train.reading.pairs import Pairs
from conclave_train.settings import EndToEndSettings
from conftest import After, contents, tiny_domain, write_checkpoint, write_domain
from test_reader import ONCE
from test_reader import job as reader_job

QUICK = EndToEndSettings(
    way="feedback",
    hits=40,
    epochs=6,
    batch=8,
    learning_rate=1e-2,
    rank=32,
    most_common=0.2,
    hold_out=0.25,
    chunk=64,
    passage_tokens=64,
)
DOMAIN = tiny_domain(questions=24)


def job(tmp_path: Path, **changes: object) -> EndToEndJob:
    base = tmp_path / "base"
    if not base.exists():
        write_checkpoint(base, max_position_embeddings=64)
    plain = EndToEndJob("tiny", (DOMAIN,), base, tmp_path / "experts" / "tiny", tmp_path / "run", QUICK, quiet=True)
    return replace(plain, **changes)  # type: ignore[arg-type]


def rows(path: Path) -> dict[str, list[float]]:
    cells = [[c.strip() for c in r.split("|")[1:-1]] for r in (path / "CARD.md").read_text().splitlines()]
    return {c[0]: [float(x) for x in c[1:]] for c in cells if len(c) == 6 and c[0] not in ("", "---")}


@pytest.mark.parametrize("objective", ["emdr2", "kl"])
def test_questions_and_answers_are_enough(tmp_path: Path, objective: str) -> None:
    """No marked passage is seen: those of the data are false. The passages' encoder stays the base's."""
    wrong = replace(DOMAIN, questions=[replace(q, positives=("tiny:0-0",)) for q in DOMAIN.questions])
    path = train_end_to_end(job(tmp_path, domains=(wrong,), settings=replace(QUICK, objective=objective)))
    measured = rows(path)
    assert list(measured) == ["base", "after training", "as shipped (rank 32, fp16)"]
    assert measured["base"][0] < 40, measured
    assert measured["as shipped (rank 32, fp16)"][0] > 70, measured
    delta = read_delta(path / "delta.safetensors")
    assert delta.towers == ["question"]
    base = read_checkpoint(tmp_path / "base")
    merged = load_merged(base, delta)
    for name, value in merged.passage.plain_state().items():
        assert torch.equal(value, base.states["shared"][name]), name
    values = read_manifest(path)
    assert "ensemble" not in values
    assert (path / "representatives.safetensors").exists()
    assert "every passage that holds an answer" in (path / "CARD.md").read_text()
    assert main(["verify", str(path)]) == 0


def test_a_reader_teaches_and_a_resumed_run_gives_the_same_bytes(tmp_path: Path) -> None:
    """Stopped inside a round and at the beginning of one."""
    settings = replace(QUICK, epochs=2, save_every=4, dropout=0.1, hold_out=0.0)
    plain = job(tmp_path, settings=settings, reader=other_reader(tmp_path))
    whole = train_end_to_end(replace(plain, out=tmp_path / "whole", run=tmp_path / "r1"))
    parts = replace(plain, out=tmp_path / "parts", run=tmp_path / "r2")
    for count, step in ((7, "6"), (30, "36"), (4, "3[89]")):  # asked before reading too
        with pytest.raises(Interrupted, match=f"stopped after step {step} of 72; the same command goes on"):
            train_end_to_end(replace(parts, stop=After(count)))
    assert contents(train_end_to_end(parts)) == contents(whole)
    assert "the reader reader" in (whole / "CARD.md").read_text()


def other_reader(tmp_path: Path) -> Path:
    """A reader that was trained on other questions."""
    other = tiny_domain(seed=5, name="other", questions=24)
    return train_reader(
        reader_job(
            tmp_path, domains=(other,), name="reader", settings=ONCE, out=tmp_path / "reader", run=tmp_path / "r"
        )
    )


def test_the_reader_learns_too(tmp_path: Path) -> None:
    """It explains the answers better than before; a run that is stopped while it learns goes on to the same bytes."""
    reader = other_reader(tmp_path)
    settings = replace(QUICK, epochs=2, save_every=4, dropout=0.1, hold_out=0.0, refit_reader=True)
    plain = job(tmp_path, settings=settings, reader=reader)
    whole = train_end_to_end(replace(plain, out=tmp_path / "whole", run=tmp_path / "r1"))
    base, places = read_checkpoint(tmp_path / "base"), torch.load(tmp_path / "r1" / "round-1.pt")["places"].numpy()
    holders = Holders(DOMAIN.passages, 0.2)
    asked = [q for q in DOMAIN.questions if holders(q.answers)]
    pairs = Pairs(base.tokens, [q.text for q in asked], DOMAIN.passages, 8)
    held = [holders(q.answers) for q in asked]

    def loss(bundle: Path) -> float:
        given = load_reader(base, read_delta(bundle / "delta.safetensors"))
        refit = Refit(
            given,
            pairs,
            [q.answers for q in asked],
            held,
            places,
            64,
            settings,
            Device(),
            RunFolder(tmp_path / "x", {}),
        )
        values = []
        for group in filter(None, map(refit.group, range(len(asked)))):
            with torch.no_grad():
                start, end, select = read(given, group, base.tokens, Device())
                values.append(float(answer_among_nll(start, end, select, [p.spans for p in group])))
        return sum(values) / len(values)

    learned = tmp_path / "whole-reader"
    assert loss(learned) < loss(reader) - 0.1
    assert read_manifest(learned)["kind"] == "reader"
    assert "| trained before on | other |" in (learned / "CARD.md").read_text()
    assert main(["verify", str(learned)]) == 0

    parts = replace(plain, out=tmp_path / "parts", run=tmp_path / "r2")
    stopped = 0
    for count in (45, 12, 30, 40):
        try:
            train_end_to_end(replace(parts, stop=After(count)))
        except Interrupted:
            stopped += 1
    assert stopped > 2
    assert contents(train_end_to_end(parts)) == contents(whole)
    assert contents(tmp_path / "parts-reader") == contents(learned)
    with pytest.raises(TrainingError, match="--refit-reader: there is no reader to train"):
        train_end_to_end(job(tmp_path, settings=settings))


def test_both_sides(tmp_path: Path) -> None:
    """Passages are encoded anew in each round, and a resumed run agrees."""
    settings = replace(QUICK, both_sides=True, epochs=3, save_every=5, learning_rate=3e-3)
    whole = train_end_to_end(job(tmp_path, settings=settings, out=tmp_path / "whole", run=tmp_path / "r1"))
    assert read_delta(whole / "delta.safetensors").towers == ["passage", "question"]
    assert rows(whole)["as shipped (rank 32, fp16)"][0] > 60
    parts = job(tmp_path, settings=settings, out=tmp_path / "parts", run=tmp_path / "r2")
    with pytest.raises(Interrupted):
        train_end_to_end(replace(parts, stop=After(35)))
    assert contents(train_end_to_end(parts)) == contents(whole)


def test_questions_kept_back_choose_no_round(tmp_path: Path) -> None:
    """The weights stay those of the last round, though the score falls from round to round; measuring changes none."""
    checkpoint = read_checkpoint(write_checkpoint(tmp_path / "base", max_position_embeddings=64))
    rows = checkpoint.tokens.passages(DOMAIN.passages, "title-dot-text", 64)
    holders = Holders(DOMAIN.passages, 0.2)
    asked = [q for q in DOMAIN.questions if holders(q.answers)]
    texts = Texts(checkpoint.tokens.questions([q.text for q in asked], 64), [], checkpoint.tokens)
    ended = []
    for name, scores in (("unmeasured", None), ("falling", [3.0, 2.0, 1.0])):
        model = checkpoint.model().untied()
        passages = encode_all(model.passage, rows, checkpoint.tokens, Device())
        score = (lambda _, left=scores: {"score": left.pop(0)}) if scores else None
        rounds = Rounds(
            model, texts, alike([holders(q.answers) for q in asked]), passages, replace(QUICK, epochs=2), 0.05,
            Device(), RunFolder(tmp_path / name, {}), score, quiet=True,
        )  # fmt: skip
        rounds.fit()
        ended.append(model.question.plain_state())
    assert [h["score"] for h in rounds.state.history] == [3.0, 2.0, 1.0]
    for key, value in ended[0].items():
        assert torch.equal(value, ended[1][key]), key


def test_worse_than_the_base_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the teacher speaks of all passages but those that hold the answer."""
    everywhere = set(range(len(DOMAIN.passages)))
    monkeypatch.setattr(
        "conclave_train.end_to_end.alike", lambda holders: alike([sorted(everywhere - set(h)) for h in holders])
    )
    with pytest.raises(
        TrainingError, match=r"questions kept back lose \(top-1 .* What would help: --way labels or --both-sides"
    ):
        train_end_to_end(job(tmp_path))
    assert not (tmp_path / "experts" / "tiny").exists()


def test_a_reader_of_the_same_domain_is_refused(tmp_path: Path) -> None:
    """By the domain's name; a bundle of another kind too."""
    reader = train_reader(reader_job(tmp_path, settings=ONCE, out=tmp_path / "reader", run=tmp_path / "r"))
    with pytest.raises(TrainingError, match="was trained on tiny itself"):
        train_end_to_end(job(tmp_path, reader=reader))
    expert = train_end_to_end(job(tmp_path, settings=replace(QUICK, epochs=1, hold_out=0.0)))
    with pytest.raises(TrainingError, match="a reader is needed"):
        train_end_to_end(job(tmp_path, reader=expert))


def test_answers_that_are_nowhere_or_everywhere(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="0 of 209 training questions have an answer that stands in a passage"):
        train_end_to_end(job(tmp_path, settings=replace(QUICK, most_common=0.05)))


def test_the_command_needs_no_marked_passages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = write_checkpoint(tmp_path / "base", max_position_embeddings=64)
    data = write_domain(tmp_path / "tiny", DOMAIN)
    file = data / "questions.train.jsonl"
    asked = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps({k: q[k] for k in ("id", "question", "answers")}) + "\n" for q in asked))
    arguments = ["--data", str(data), "--base", str(base), "--name", "mine", "--run", str(tmp_path / "run")]
    arguments += ["--out", str(tmp_path / "out"), "--device", "cpu", "--threads", "1", "--no-bf16"]
    quick = "--hits 40 --passage-tokens 64 --epochs 2 --learning-rate 1e-2 --most-common 0.2 --rank 8".split()
    arguments += ["--way", "feedback"]
    assert main(["end-to-end", *arguments, *quick]) == 0
    said = capsys.readouterr()
    assert said.out == f"{tmp_path / 'out'}\n"
    assert "training questions with an answer in the passages" in said.err
    assert "questions in " in said.err and "% with an answer found" in said.err
    assert main(["reader", *arguments[:-2]]) == 1
    assert "positive_ids" in capsys.readouterr().err
    for wrong, message in (
        (["--hits", "1"], "--hits: 1; at least 2"),
        (["--most-common", "2"], "--most-common: 2.0 is not above 0"),
        (["--passage-tokens", "64", "--reader", "nowhere"], "nowhere is no expert bundle"),
    ):
        assert main(["end-to-end", *arguments, *wrong]) == 1
        assert message in capsys.readouterr().err
