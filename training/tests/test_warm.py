"""Warming up on passages alone: sentences, spans, and both loops."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from conclave_train.data.records import Domain, Passage
from conclave_train.end_to_end import train_end_to_end
from conclave_train.errors import Interrupted, TrainingError
from conclave_train.feedback.salient import MASK, inverse_cloze, masked_spans, sentences, spans
from conclave_train.feedback.warm import clozes, warm_up_retriever
from conclave_train.fit.encode import Device
from conclave_train.fit.state import RunFolder
from conclave_train.job import prepare
from conclave_train.labelled import train_labelled
from conftest import After, contents, tiny_domain
from test_joint import DOMAIN, QUICK, job


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        ("The mill was built by Anna Karlsson in 1784.", ["Anna Karlsson", "1784"]),
        ("Marie Curie was born on November 7, 1867, in Warsaw.", ["Marie Curie", "November 7, 1867", "Warsaw"]),
        ("It costs 12.50 euros, or 8% less on 2020-03-12.", ["12.50", "8%", "2020-03-12"]),
        ("The river rose in the night.", []),
        ("1911 was a cold year for (most of) Finland; Norway froze.", ["1911", "Finland", "Norway"]),
        ("He met Léa, Paul and the king.", ["Léa", "Paul"]),
        ("I saw it.", []),
        ("", []),
        ("– 5 –", ["5"]),
    ],
)
def test_spans(sentence: str, wanted: list[str]) -> None:
    assert [sentence[a:b] for a, b in spans(sentence)] == wanted


def test_sentences() -> None:
    assert sentences("One is 1.5 m. Two! And three? ") == ["One is 1.5 m.", "Two!", "And three?"]
    assert sentences("  ") == []


TEXTS = [
    "The old mill was built in 1784. It stands beside the river. Anna Karlsson sold it to a baker from Malmö.",
    "Short. Too short.",
    "Only one sentence is in this passage of 1911",
    "The bridge is two hundred metres long. Nobody knows who painted the door of the mill blue.",
]
PASSAGES = [Passage(str(i), "t", text) for i, text in enumerate(TEXTS)]


def test_inverse_cloze() -> None:
    """Of passages of several sentences; what is asked is taken out, but for a tenth."""
    made = inverse_cloze(PASSAGES, 1)
    assert [c.place for c in made] == [0, 3]
    for c in made:
        parts = sentences(TEXTS[c.place])
        assert c.question.text in parts
        assert c.question.positives == (str(c.place),)
        rest = [s for s in parts if s != c.question.text]
        assert sentences(c.passage.text) in (rest, parts)
    many = inverse_cloze([replace(PASSAGES[3], id=str(i)) for i in range(500)], 2)
    kept = sum(c.question.text in c.passage.text for c in many)
    assert 25 <= kept <= 85, kept
    assert {c.question.text for c in many} == set(sentences(TEXTS[3]))
    assert inverse_cloze(PASSAGES, 1) == made


def test_masked_spans() -> None:
    made = masked_spans(PASSAGES, 3)
    assert [c.place for c in made] == [0, 2]
    for c in made:
        answer = c.question.answers[0]
        assert c.question.text.replace(MASK, answer) in sentences(TEXTS[c.place])
        assert answer in ("1784", "Anna Karlsson", "Malmö", "1911")


def named() -> Domain:
    """The tiny domain with a second sentence and names."""
    domain = tiny_domain(questions=4)
    passages = [
        replace(p, text=f"{p.text} one two some. about who what Say{i % 5} the {p.text}.")
        for i, p in enumerate(domain.passages)
    ]
    return replace(domain, passages=passages)


@pytest.mark.parametrize(("what", "both"), [("ict", False), ("mss", True)])
def test_the_retriever_warms_up(tmp_path: Path, what: str, both: bool) -> None:
    """The loss falls, on the side or sides that are trained; a run that is stopped goes on to the same weights."""
    plain = job(tmp_path, domains=(named(),), reader=None)
    s = replace(QUICK, both_sides=both, warm_up_epochs=2, way="feedback", passage_tokens=48).of_way()
    prepared = prepare(replace(plain, settings=s).expert())
    made = clozes(prepared, s, what)
    ended = []
    for name, stop in (("whole", lambda: False), ("parts", After(5))):
        model = prepared.checkpoint.model().untied()
        folder = RunFolder(tmp_path / name, {})
        try:
            warm_up_retriever(model, what, made, prepared, s, Device(), folder, stop, True)
        except Interrupted:
            model = prepared.checkpoint.model().untied()
            warm_up_retriever(model, what, made, prepared, s, Device(), folder, lambda: False, True)
        ended.append(model)
    base = prepared.checkpoint.model().untied()
    for side in ("question", "passage"):
        one, other, before = (getattr(m, side).plain_state() for m in (*ended, base))
        assert all(torch.equal(one[n], other[n]) for n in one)
        assert any(not torch.equal(one[n], before[n]) for n in one) == (side == "question" or both)


def test_both_warm_up_and_a_resumed_run_gives_the_same_bytes(tmp_path: Path) -> None:
    s = replace(QUICK, warm_up="ict,mss", epochs=1, hold_out=0.0, limit=12, save_every=3)
    plain = job(tmp_path, domains=(named(),), settings=s)
    whole = train_end_to_end(replace(plain, out=tmp_path / "whole", run=tmp_path / "r1"))
    parts, stopped = replace(plain, out=tmp_path / "parts", run=tmp_path / "r2"), 0
    for count in (3, 6, 4):
        try:
            train_end_to_end(replace(parts, stop=After(count)))
        except Interrupted:
            stopped += 1
    assert stopped == 3
    assert contents(train_end_to_end(parts)) == contents(whole)
    assert contents(tmp_path / "parts-generator") == contents(tmp_path / "whole-generator")
    cold = train_end_to_end(replace(plain, settings=replace(s, warm_up=""), out=tmp_path / "cold", run=tmp_path / "r3"))
    assert contents(cold)["delta.safetensors"] != contents(whole)["delta.safetensors"]


def test_refuses(tmp_path: Path) -> None:
    plain = job(tmp_path)
    with pytest.raises(TrainingError, match=r"--warm-up: '0\.1' is neither ict nor mss \(.*--rate-warm-up\)"):
        train_end_to_end(replace(plain, settings=replace(QUICK, warm_up="ict,0.1")))
    plain = job(tmp_path, domains=(replace(DOMAIN, passages=[replace(p, text="the") for p in DOMAIN.passages]),))
    with pytest.raises(TrainingError, match="--warm-up mss: 0 of 48 passages have a sentence for it"):
        train_end_to_end(replace(plain, settings=replace(QUICK, warm_up="mss")))
    never = After(0)  # a step of the first warm-up would end with Interrupted; the folder of the run is free for others
    sentences = replace(
        DOMAIN, passages=[replace(p, text="the one of many words. and so on it goes.") for p in DOMAIN.passages]
    )
    plain = job(tmp_path, domains=(sentences,), stop=never)
    with pytest.raises(TrainingError, match="--warm-up mss: 0 of 48 passages have a sentence for it"):
        train_end_to_end(replace(plain, settings=replace(QUICK, warm_up="ict,mss")))
    with pytest.raises(TrainingError, match="--warm-up: it is for --way feedback"):
        train_labelled(replace(plain, reader=None, settings=replace(QUICK, warm_up="ict")))
