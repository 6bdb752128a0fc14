"""Distant supervision: a positive passage for questions that come with answers alone."""

from __future__ import annotations

import dataclasses

from conclave_train.data.records import Domain, Question
from conclave_train.errors import TrainingError
from conclave_train.progress import Progress
from conclave_train.retrieval.bm25 import BM25
from conclave_train.retrieval.negatives import flat

DEPTH = 100


def supervise(domain: Domain, quiet: bool = False) -> tuple[Domain, int, int]:
    """Each question that names no positive gets one: the first of BM25's passages that has an answer.

    An answer is in a passage when its tokens are, in a row. A question of whose
    first 100 passages none has one is left out. Returned with the domain is how
    many questions got a passage, and how many are left out. (Karpukhin et al.
    2020, section 4.2, "Selection of positive passages")
    """
    missing = [q for q in domain.questions if not q.positives]
    if not missing:
        return domain, 0, 0
    for question in missing:
        if not any(flat(a).strip() for a in question.answers):
            raise TrainingError(
                f"{domain.name}: question {question.id!r} has neither positive_ids nor answers: "
                "one of them is needed to know what answers it"
            )
    index, texts = BM25(domain.passages), [flat(p.text) for p in domain.passages]
    chosen: dict[str, Question] = {}
    with Progress("finding passages with the answers", len(missing), "questions", quiet=quiet) as bar:
        for question in missing:
            answers = [a for a in map(flat, question.answers) if a.strip()]
            found = index.search(question.text, DEPTH)
            first = next((p for p in found if any(a in texts[p] for a in answers)), None)
            if first is not None:
                chosen[question.id] = dataclasses.replace(question, positives=(domain.passages[first].id,))
            bar.tick(1)
    if not chosen and len(missing) == len(domain.questions):
        raise TrainingError(f"{domain.name}: no question has an answer in the first {DEPTH} passages that BM25 finds")
    kept = [chosen.get(q.id, q) for q in domain.questions if q.positives or q.id in chosen]
    return dataclasses.replace(domain, questions=kept), len(chosen), len(missing) - len(chosen)
