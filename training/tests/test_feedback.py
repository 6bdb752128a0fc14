"""What a retriever learns from a reader: the objectives, who holds an answer, what the reader says."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from conclave_train.data.records import Passage
from conclave_train.errors import Interrupted
from conclave_train.feedback.holders import Holders
from conclave_train.feedback.loss import divergence, marginal_nll
from conclave_train.feedback.refit import Refit
from conclave_train.feedback.teacher import ReaderTeacher, alike
from conclave_train.fit.encode import Device
from conclave_train.fit.state import RunFolder
from conclave_train.model.checkpoint import read_checkpoint
from conclave_train.reading.loss import answer_among_nll
from conclave_train.reading.model import new_reader
from conclave_train.reading.pairs import Pair, Pairs
from conclave_train.settings import EndToEndSettings
from conftest import After, tiny_domain, write_checkpoint

SCORES = torch.tensor([[30.0, 20.0]], dtype=torch.float64) / math.sqrt(768)
TOKENS = torch.tensor([[[0.5, 0.4], [0.1, 0.8]]], dtype=torch.float64).log()  # one question, two passages, two tokens


def test_objectives_against_the_published_code() -> None:
    """Values that EMDR2's own functions gave: p = .58924471, .41075529; the teacher of KL .61257411, .38742589."""
    assert float(marginal_nll(SCORES, TOKENS)) == pytest.approx(0.831854592, abs=1e-9)
    assert float(marginal_nll(SCORES, TOKENS.sum(-1, keepdim=True))) == pytest.approx(1.892402033, abs=1e-9)
    assert float(divergence(SCORES, TOKENS)) == pytest.approx(0.001131277, abs=1e-9)


def test_a_shorter_answer_beside_a_longer_one() -> None:
    """What is not kept changes nothing, whatever stands there."""
    for objective in (marginal_nll, divergence):
        padded = torch.cat([TOKENS, torch.full((1, 2, 3), -torch.inf, dtype=torch.float64)], dim=-1)
        keep = torch.tensor([[True, True, False, False, False]])
        assert float(objective(SCORES, padded, keep)) == pytest.approx(float(objective(SCORES, TOKENS)))


@pytest.mark.parametrize("objective", [marginal_nll, divergence])
def test_gradients_by_hand(objective: object) -> None:
    """With teacher t and p = softmax(s): for emdr2 p - p·t/Σp·t, for kl p - t/Σt. Without an answer, nothing more."""
    t = torch.tensor([[0.3, 0.0, 0.05]], dtype=torch.float64)
    s = torch.tensor([[0.2, 1.4, -0.5]], dtype=torch.float64, requires_grad=True)
    p = s.detach().softmax(-1)
    if objective is marginal_nll:
        marginal_nll(s, t.log().unsqueeze(-1)).sum().backward()  # type: ignore[no-untyped-call]
        wanted = p - p * t / (p * t).sum()
    else:
        divergence(s, t.log().unsqueeze(-1)).sum().backward()  # type: ignore[no-untyped-call]
        wanted = p - t / t.sum()
    assert s.grad is not None
    assert torch.allclose(s.grad, wanted)


def test_a_reader_that_tells_no_difference_teaches_nothing() -> None:
    s = torch.tensor([[0.2, 1.4, -0.5]], requires_grad=True)
    marginal_nll(s, torch.full((1, 3, 1), -2.0)).sum().backward()  # type: ignore[no-untyped-call]
    assert s.grad is not None and float(s.grad.abs().max()) < 1e-7


def test_holders_are_those_of_looking_everywhere() -> None:
    passages = [Passage(str(i), "cat", t) for i, t in enumerate(("The cat's dog", "cats", "a CAT", "dog cat", "Café"))]
    find = Holders(passages, 0.6)
    assert find(["cat"]) == [0, 2, 3]
    assert find(["dog cat", "cafe\u0301"]) == [3, 4]
    assert find(["dogs", "", "cat dog"]) == []
    assert Holders(passages, 0.5)(["cat", "cats"]) == [1]  # three of five say nothing


def test_teachers(tmp_path: Path) -> None:
    """The reader's likelihood is sigmoid(select) times the sum over the answer's places, both softmaxes in the text."""
    base = read_checkpoint(write_checkpoint(tmp_path / "base", max_position_embeddings=64))
    domain = tiny_domain()
    reader = new_reader(base, 3)
    with torch.no_grad():
        for head in reader.head_parameters():
            head.normal_()
    asked = [domain.questions[0], domain.questions[20]]
    answers = [("say0", "nobody"), ("say1",)]
    held = [[0, 1, 2, 3], [4, 5]]
    pairs = Pairs(base.tokens, [q.text for q in asked], domain.passages, 8)
    folder = RunFolder(tmp_path / "run", {})

    def begin(stop: After) -> ReaderTeacher:
        return ReaderTeacher(reader, pairs, answers, held, Device(), EndToEndSettings(chunk=3), folder, stop, True)

    teacher = begin(After(1))
    places = np.array([[0, 9, 3], [4, 0, 7]])
    said = teacher(places)
    assert torch.equal(said.isinf(), torch.tensor([[False, True, False], [False, True, True]]))
    assert torch.equal(alike(held)(places).isinf(), said.isinf())
    assert len(teacher.said) == 3
    for i, place in ((0, 0), (0, 3), (1, 4)):
        pair = pairs.pair(i, place, 64, answers[i])
        ids = torch.from_numpy(pair.ids).long()[None]
        with torch.no_grad():
            start, end, select = (x[0] for x in reader(ids, torch.ones_like(ids, dtype=torch.bool)))
        s, e = start[pair.text_at :].softmax(-1), end[pair.text_at :].softmax(-1)
        at = [(a - pair.text_at, b - pair.text_at) for a, b in pair.spans]
        wanted = math.log(float(select.sigmoid()) * float(sum(s[a] * e[b] for a, b in at)))
        assert float(said[i][list(places[i]).index(place)]) == pytest.approx(wanted, abs=1e-4)
    assert torch.equal(begin(After(0))(places), said)  # kept
    with pytest.raises(Interrupted, match="stopped after 0 of 1 passages read"):
        begin(After(0))(np.array([[1], [9]]))


def test_the_likelihood_of_an_answer_among_passages_by_hand() -> None:
    """p(a|q,Z) is the sum, over the passages that hold the answer, of P_select times Σ P_start·P_end."""
    none = -math.inf  # outside of the text
    start = torch.tensor([[none, 0.2, 1.1, -0.4], [none, none, 0.3, 0.9], [none, 2.0, 0.1, 0.5]], dtype=torch.float64)
    end = torch.tensor([[none, -0.1, 0.6, 0.2], [none, none, 1.5, -1.0], [none, 0.4, 0.3, 0.2]], dtype=torch.float64)
    select = torch.tensor([1.2, -0.3, 0.5], dtype=torch.float64)
    spans = [[(1, 2), (3, 3)], [], [(2, 3)]]

    def shares(logits: list[float]) -> list[float]:
        whole = sum(math.exp(x) for x in logits)
        return [math.exp(x) / whole for x in logits]

    chosen, wanted = shares(select.tolist()), 0.0
    for k, places in enumerate(spans):
        s, e = shares(start[k].tolist()), shares(end[k].tolist())
        wanted += chosen[k] * sum(s[a] * e[b] for a, b in places)
    assert float(answer_among_nll(start, end, select, spans)) == pytest.approx(-math.log(wanted), abs=1e-12)


def test_what_a_reader_learns_from(tmp_path: Path) -> None:
    """The first passages found; where none of them holds the answer, one that was found later stands for the last."""
    base = read_checkpoint(write_checkpoint(tmp_path / "base", max_position_embeddings=64))
    domain = tiny_domain()
    pairs = Pairs(base.tokens, [domain.questions[0].text], domain.passages, 8)
    answers = [domain.questions[0].answers]
    found = np.array([[*range(20, 30), 0, 1]])

    def learned(held: list[int]) -> list[Pair]:
        refit = Refit.__new__(Refit)
        refit.pairs, refit.answers, refit.holders, refit.places, refit.longest = pairs, answers, [held], found, 64
        return refit.group(0)

    texts = [list(pairs.pair(0, p, 64).ids) for p in (*range(20, 27), 0)]
    assert [list(pair.ids) for pair in learned([0, 1])] == texts
    assert [bool(pair.spans) for pair in learned([0, 1])] == [False] * 7 + [True]
    assert learned([2]) == []
