"""BM25, ranks, negatives and batches."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from conclave_train.data.records import Domain, Passage, Question
from conclave_train.errors import TrainingError
from conclave_train.fit.batches import Batches
from conclave_train.retrieval.accuracy import accuracy, first_ranks, search
from conclave_train.retrieval.bm25 import BM25
from conclave_train.retrieval.negatives import Filter, from_bm25, from_vectors, merge
from conftest import tiny_domain


def test_bm25_by_hand() -> None:
    """idf·tf/(tf + k1·(1 - b + b·length/average)), with "the" a stop word and "running" stemmed to "run"."""
    index = BM25([Passage("a", "", "the running dogs"), Passage("b", "Run", "cat cat fish"), Passage("c", "", "fish")])
    assert index.words("The Running DOGS' fish's") == ["run", "dog", "fish"]
    average = (2 + 4 + 1) / 3
    idf = {"run": math.log(1 + 1.5 / 2.5), "cat": math.log(1 + 2.5 / 1.5)}

    def worth(tf: int, length: int) -> float:
        return tf / (tf + 0.9 * (0.6 + 0.4 * length / average))

    scores = [idf["run"] * worth(1, 2), idf["run"] * worth(1, 4) + idf["cat"] * worth(2, 4)]
    places, values = index._terms["run"]
    assert places.tolist() == [0, 1]
    assert values[0] == pytest.approx(scores[0])
    assert scores[1] > scores[0]
    assert index.search("runs cats", 3) == [1, 0]
    assert index.search("nothing here", 3) == []
    assert index.search("fish", 1) == [2]  # the shorter passage


def test_ranks_are_those_of_a_full_sort() -> None:
    random = np.random.default_rng(8)
    q = torch.from_numpy(random.integers(-2, 3, (300, 4)).astype(np.float32))  # small integers: many ties
    p = torch.from_numpy(random.integers(-2, 3, (40, 4)).astype(np.float32))
    positives = [sorted(random.choice(40, 3, replace=False).tolist()) for _ in range(300)]
    ranks = first_ranks(q, p, positives)
    places, values = search(q, p, 40)
    for i in range(300):
        order = sorted(range(40), key=lambda j, i=i: (-float(q[i] @ p[j]), j))  # type: ignore[misc]
        assert places[i].tolist() == order
        assert ranks[i] == 1 + min(order.index(x) for x in positives[i])
    assert (np.diff(values, axis=1) <= 0).all()
    found = accuracy(np.array([1, 2, 30, 500]), (1, 20))
    assert found == {"top-1": 25.0, "top-20": 50.0, "mrr@10": 37.5}


DOMAIN = Domain(
    "d",
    [
        Passage("gold", "", "Paris is the capital of France."),
        Passage("copy", "", "Paris is the capital of France."),
        Passage("answer", "", "They say PARIS; the capital, is large."),
        Passage("hard", "", "Lyon is no capital of France."),
        Passage("part", "", "Parisians like the capital of France."),
    ],
    [Question("q", "capital of France?", ("gold",), ("Paris",))],
)


def test_what_may_be_a_negative() -> None:
    """No positive, no copy of one, nothing that holds an answer as whole words."""
    found = from_bm25(DOMAIN, DOMAIN.questions, Filter(DOMAIN), 5, lambda n: None)[0]
    assert sorted(found) == [3, 4]
    assert sorted(from_bm25(DOMAIN, DOMAIN.questions, Filter(DOMAIN, False), 5, lambda n: None)[0]) == [2, 3, 4]


def test_what_scores_like_the_answer_is_left_out() -> None:
    q = torch.tensor([[1.0, 0.0]])
    p = torch.tensor([[0.8, 0], [0.8, 0], [0.9, 0], [0.5, 0], [0.79, 0]])
    assert from_vectors(DOMAIN, DOMAIN.questions, (q, p), Filter(DOMAIN), 5, 0.95)[0] == [3]
    assert from_vectors(DOMAIN, DOMAIN.questions, (q, p), Filter(DOMAIN), 5, 1.0)[0] == [4, 3]
    assert merge([[1, 2, 3]], [[9, 1]], 4) == [[1, 9, 2, 3]]


def batches(domain: Domain, size: int = 8, seed: int = 5) -> Batches:
    negatives = [[domain.index[p.id] for p in domain.passages[:6] if p.id not in q.positives] for q in domain.questions]
    return Batches(domain, domain.questions, negatives, size=size, hard=2, seed=seed)


def test_every_question_once_an_epoch_and_no_false_negative() -> None:
    domain = tiny_domain()
    b = batches(domain)
    order = b.epoch(3)
    assert sorted(int(i) for part in order for i in part) == list(range(len(domain.questions)))
    assert len(order) == b.per_epoch == 24
    for number in range(len(order)):
        batch = b.batch(3, number, order)
        assert len(set(batch.passages.tolist())) == len(batch.passages)
        for row, question in enumerate(batch.questions):
            positives = {domain.index[id] for id in domain.questions[question].positives}
            assert int(batch.passages[batch.targets[row]]) in positives
            for column, passage in enumerate(batch.passages):
                masked = bool(batch.ignore[row, column])
                assert masked == (int(passage) in positives and column != batch.targets[row])


def test_a_batch_depends_on_seed_epoch_and_number_alone() -> None:
    domain = tiny_domain()
    one, two = batches(domain).batch(2, 5), batches(domain).batch(2, 5)
    assert all(np.array_equal(a, b) for a, b in zip(vars(one).values(), vars(two).values(), strict=True))
    assert not np.array_equal(one.questions, batches(domain, seed=6).batch(2, 5).questions)
    assert not np.array_equal(one.questions, batches(domain).batch(1, 5).questions)


def test_equal_questions_share_their_answers() -> None:
    """The same question of two sources: neither's passage is a negative of the other, nor is a copy of a passage."""
    passages = [Passage("a", "", "x"), Passage("b", "", "y"), Passage("c", "", "x"), Passage("d", "", "z")]
    questions = [Question("1", "Why?", ("a",)), Question("2", "why ?", ("b",)), Question("3", "How?", ("d",))]
    batch = Batches(Domain("d", passages, questions), questions, [[2], [], []], size=3, hard=1, seed=1).batch(0, 0)
    assert len(batch.passages) == 3  # the copy "c" of a positive is no hard negative
    rows = {int(q): batch.ignore[i] for i, q in enumerate(batch.questions)}
    column = {int(p): i for i, p in enumerate(batch.passages)}
    assert rows[0][column[1]]
    assert rows[1][column[0]]
    assert not rows[2].any()
    assert not rows[0][column[3]]


def test_batches_by_domain() -> None:
    domain = tiny_domain()
    groups = [i % 3 for i in range(len(domain.questions))]
    b = Batches(domain, domain.questions, [[] for _ in groups], size=10, hard=0, seed=1, groups=groups)
    order = b.epoch(0)
    assert all(len({groups[i] for i in part}) == 1 for part in order)
    assert sum(len(part) for part in order) >= len(groups) - 3
    assert len(order) == b.per_epoch
    assert [groups[part[0]] for part in order] != sorted(groups[part[0]] for part in order)


def test_a_batch_of_one_is_refused() -> None:
    with pytest.raises(TrainingError, match="at least 2"):
        batches(tiny_domain(), size=1)
