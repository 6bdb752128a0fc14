"""The reader's input, its spans, its loss and its measures."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from conclave_train.data.records import Domain, Passage, Question
from conclave_train.model.tokens import Tokens
from conclave_train.reading.groups import Groups, hard_negatives, neighbours
from conclave_train.reading.loss import answer_nll, selection_nll, span_nll
from conclave_train.reading.measure import auroc
from conclave_train.reading.pairs import TITLE, Pairs
from conclave_train.reading.spans import best_span

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "who", "met", "?", "cat", "##s", "dog", "the", ".", "man", "##hole", ","]


def tokens() -> Tokens:
    """Word pieces whose ids are their places in WORDS."""
    tokenizer = Tokenizer(models.WordPiece({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return Tokens(tokenizer, "test")


def pairs(*passages: Passage, question: str = "Who met cats?") -> Pairs:
    return Pairs(tokens(), [question], passages, 4)


def spelt(ids: np.ndarray) -> str:
    return " ".join(WORDS[i] for i in ids)


def test_a_pair_is_question_title_and_text() -> None:
    """No [SEP] at the end; both others are there without a title; the question is cut first, then the text."""
    with_title, without = Passage("a", "The cats", "The Dog met the man."), Passage("b", "", "The dog.")
    made = pairs(with_title, without)
    first = made.pair(0, 0, 64)
    assert spelt(first.ids) == "[CLS] who met cat ##s [SEP] the cat ##s [SEP] the dog met the man ."
    assert first.text_at == 10
    second = made.pair(0, 1, 64)
    assert spelt(second.ids) == "[CLS] who met cat ##s [SEP] [SEP] the dog ."
    assert second.text_at == 7
    assert spelt(made.pair(0, 0, 12).ids).endswith("[SEP] the dog")
    long = pairs(Passage("c", "cat " * 50, "dog"))
    assert long.pair(0, 0, 256).text_at == 1 + 4 + 1 + TITLE + 1


def test_gold_spans_are_whole_words_that_are_read() -> None:
    made = pairs(Passage("a", "dog", "The dog met DOG , the cats met a manhole."))
    text = "[CLS] who met cat ##s [SEP] dog [SEP] the dog met dog , the cat ##s met [UNK] man ##hole ."
    dogs = made.pair(0, 0, 64, ["dog"])
    assert spelt(dogs.ids) == text
    assert dogs.spans == ((9, 9), (11, 11))  # not the title's
    assert [made.words(0, dogs, s) for s in dogs.spans] == ["dog", "DOG"]
    assert made.pair(0, 0, 64, ["cat"]).spans == ()  # the cats are not a cat
    assert made.pair(0, 0, 64, ["hole", "man"]).spans == ()
    cats = made.pair(0, 0, 64, ["the cats", "cats", "nobody"])
    assert cats.spans == ((13, 15), (14, 15))
    assert [made.words(0, cats, s) for s in cats.spans] == ["the cats", "cats"]
    assert made.pair(0, 0, 15, ["cats"]).spans == ()  # cut within
    assert made.pair(0, 0, 16, ["cats"]).spans == ((14, 15),)
    assert made.pair(0, 0, 64, [""]).spans == ()


def test_long_answers_are_left_out() -> None:
    made = pairs(Passage("a", "", "dog " * 40))
    assert len(made.pair(0, 0, 64, ["dog " * 30]).spans) == 10  # of eleven places, the first ten
    assert made.pair(0, 0, 64, ["dog " * 31]).spans == ()


def test_the_best_span_is_that_of_trying_all() -> None:
    random = np.random.default_rng(5)
    for _ in range(200):
        length = int(random.integers(3, 14))
        at, longest = int(random.integers(0, length)), int(random.integers(1, 5))
        # Few different values: ties come often.
        start, end = (random.integers(0, 4, length + 2).astype(np.float32) for _ in range(2))
        every = [(-(start[a] + end[b]), a, b) for a in range(at, length) for b in range(a, min(length, a + longest))]
        score, a, b = min(every)
        assert best_span(start, end, at, length, longest) == ((a, b), -float(score)), "seed 5"
    assert best_span(start, end, 4, 4) is None


def test_losses_by_hand() -> None:
    """Logarithms of round numbers: chances are shares of them."""
    out = -torch.inf
    start = torch.tensor([out, math.log(1), math.log(3), math.log(4), out])  # 1/8, 3/8, 4/8
    end = torch.tensor([out, math.log(2), math.log(2), math.log(4), out])  # 2/8, 2/8, 4/8
    value = span_nll(start, end, [(1, 2), (3, 3)])
    assert float(value) == pytest.approx(-math.log(1 / 8 * 2 / 8 + 4 / 8 * 4 / 8))
    # Of two questions one has fewer passages.
    select = torch.tensor([[math.log(3), math.log(1), math.log(2)], [math.log(1), math.log(4), out]])
    assert float(selection_nll(select)) == pytest.approx(-(math.log(3 / 6) + math.log(1 / 5)) / 2)
    positives = -(math.log(3 / 4) + math.log(1 / 2)) / 2
    others = -(math.log(1 / 2) + math.log(1 / 3) + math.log(1 / 5)) / 3
    assert float(answer_nll(select)) == pytest.approx((positives + others) / 2)
    assert float(answer_nll(select[:, :1])) == pytest.approx(positives)


def test_losses_have_gradients_that_are_numbers() -> None:
    logits = torch.zeros(2, 6, requires_grad=True)
    text = torch.tensor([False, False, True, True, True, False])
    start, end = logits.masked_fill(~text, -torch.inf)
    select = torch.stack([logits[:, 0], torch.tensor([1.0, -torch.inf])], dim=1)
    (span_nll(start, end, [(2, 3)]) + selection_nll(select) + answer_nll(select)).backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None and torch.isfinite(logits.grad).all()
    assert logits.grad[0, 2] < 0 < logits.grad[0, 3]


def test_auroc_by_hand() -> None:
    assert auroc([3, 1], [2, 1]) == pytest.approx((2 + 0.5) / 4)
    assert auroc([1], []) == 0.5


def domain() -> Domain:
    """One question asked of two passages, one of them a copy without the answer."""
    texts = ("the dog met the man", "the dog", "who met the cats", "who met the dog, man")
    asked = [
        Question("q0", "Who met the dog?", ("p1", "p0"), ("man",)),
        Question("q1", "who met the dog", ("p2",)),
        Question("q2", "who?", ("p0",), (), ("p3", "p1")),
        Question("q3", "who met?", ("p0",), ("elephant",)),
    ]
    return Domain("d", [Passage(f"p{i}", "", t) for i, t in enumerate(texts)], asked)


def test_negatives_are_the_datas_or_bm25s_without_answers() -> None:
    """Question 0: p3 holds the answer, p2 answers an equal question. Question 1: p3 may be one."""
    d = domain()
    found = hard_negatives(d, d.questions, 5, True)
    assert found[0] == []
    assert found[1] == [3]
    assert found[2] == [3, 1]
    assert hard_negatives(d, d.questions, 1, True)[2] == [3]


def test_neighbours_are_of_the_same_document() -> None:
    """Nearest first, two to each side; another title ends it, and what answers is none."""
    titles = "aabbbbbb"
    passages = [Passage(f"p{i}", t, f"man {i}" if i == 3 else f"dog {i}") for i, t in enumerate(titles)]
    asked = [Question("q", "who?", ("p4",), ("man",)), Question("r", "who?", ("p2",)), Question("s", "who?", ("p0",))]
    d = Domain("d", passages, asked)
    assert [neighbours(d, q) for q in asked] == [[5, 3, 6, 2], [3, 4], [1]]
    assert hard_negatives(d, asked[:1], 5, True) == [[5, 6, 2]]


def test_a_group_begins_with_a_passage_that_holds_the_answer() -> None:
    d = domain()
    places = [[d.index[id] for id in q.positives] for q in d.questions]
    made = Pairs(tokens(), [q.text for q in d.questions], d.passages, 8)
    groups = Groups(d.questions, places, [[2, 3], [3], [1, 3], [1]], made, 1, 64, 7)
    for step in range(8):
        group = groups.group(0, step)
        assert [WORDS[i] for i in group[0].ids[list(group[0].spans[0])]] == ["man", "man"]
        assert len(group) == 2
        assert not group[1].spans
        assert [g.ids.tolist() for g in groups.group(0, step)] == [g.ids.tolist() for g in group]
    assert {groups.group(2, s)[1].ids.tolist()[-1] for s in range(8)} == {WORDS.index("dog"), WORDS.index("man")}
    assert groups.group(1, 0)[0].spans == ()  # without answers, selection alone
    assert groups.group(3, 0) == []  # its answer is nowhere
