"""Questions with answers alone: which passage they are trained on."""

from __future__ import annotations

import pytest

from conclave_train.data.records import Domain, Passage, Question
from conclave_train.errors import TrainingError
from conclave_train.retrieval.bm25 import BM25
from conclave_train.retrieval.distant import supervise

PASSAGES = [
    Passage("rival", "", "lighthouse keeper keeper lighthouse lamp"),  # BM25's first, without the answer
    Passage("title", "Ann Bell", "the lighthouse keeper"),  # the answer in the title alone
    Passage("right", "", "the lighthouse keeper was Ann Bell, they say on the coast"),
    Passage("later", "", "Ann Bell was once seen beside a lighthouse and a very long row of other things on the coast"),
    Passage("whole", "", "the lighthouse keeper Joann Bellamy"),  # as letters, not as tokens
    *(Passage(f"other-{i}", "", f"nothing of it {i}") for i in range(5)),
]


def asked(*answers: str, id: str = "q", positives: tuple[str, ...] = ()) -> Question:
    return Question(id, "who was the lighthouse keeper?", positives, answers)


def test_the_first_of_bm25_that_has_an_answer() -> None:
    order = [PASSAGES[i].id for i in BM25(PASSAGES).search("who was the lighthouse keeper?", 10)]
    assert order.index("rival") < order.index("right") < order.index("later")
    domain, found, lost = supervise(Domain("d", PASSAGES, [asked("ann  BELL")]), quiet=True)
    assert [(q.id, q.positives, q.answers) for q in domain.questions] == [("q", ("right",), ("ann  BELL",))]
    assert (found, lost) == (1, 0)


def test_what_is_given_stays_and_what_is_not_found_goes() -> None:
    questions = [asked("Ann Bell", id="a", positives=("later",)), asked("Joan", id="b"), asked("lamp", "Joan", id="c")]
    domain, found, lost = supervise(Domain("d", PASSAGES, questions), quiet=True)
    assert [(q.id, q.positives) for q in domain.questions] == [("a", ("later",)), ("c", ("rival",))]
    assert (found, lost) == (1, 1)
    same = Domain("d", PASSAGES, questions[:1])
    assert supervise(same, quiet=True) == (same, 0, 0)


def test_no_passage_beyond_the_first_hundred() -> None:
    """As in DPR; the answer is in the text that ranks last."""
    many = [Passage(f"p{i}", "", "keeper keeper lighthouse") for i in range(100)]
    last = Passage("last", "", "the keeper Ann Bell and so many more words that it ranks behind all of the others")
    near, far = [*many[:99], last], [*many, last]
    question = asked("Ann Bell")
    assert supervise(Domain("d", near, [question]), quiet=True)[0].questions[0].positives == ("last",)
    with pytest.raises(TrainingError, match="no question has an answer in the first 100"):
        supervise(Domain("d", far, [question]), quiet=True)


@pytest.mark.parametrize("answers", [(), (" ",)])
def test_neither_passages_nor_answers(answers: tuple[str, ...]) -> None:
    with pytest.raises(TrainingError, match="question 'q' has neither positive_ids nor answers"):
        supervise(Domain("d", PASSAGES, [asked(*answers)]), quiet=True)
