"""Holding questions back, by a hash, so that every run of every machine holds back the same ones."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from conclave_train.data.records import Domain, Question


def share(key: str, salt: str) -> float:
    """A number in [0, 1) that ``key`` and ``salt`` decide."""
    digest = hashlib.sha256(f"{salt}\n{key}".encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def hold_out(
    questions: Sequence[Question], fraction: float, most: int, salt: str = "hold-out"
) -> tuple[list[Question], list[Question]]:
    """``(rest, held)``: about ``fraction`` of the questions, at most ``most``, are held back.

    Questions with the same first positive go together: a passage whose
    questions were trained on says little about questions never seen. A question
    without one goes by itself.
    """
    keys = [(q.positives or (q.id,))[0] for q in questions]
    ranked = sorted(set(keys), key=lambda id: (share(id, salt), id))
    chosen = {id for id in ranked if share(id, salt) < fraction}
    counts: dict[str, int] = {}
    for key in keys:
        counts[key] = counts.get(key, 0) + 1
    total, kept = 0, set()
    for id in ranked:
        if id in chosen and total + counts[id] <= most:
            total += counts[id]
            kept.add(id)
    held = [q for q, key in zip(questions, keys, strict=True) if key in kept]
    return [q for q, key in zip(questions, keys, strict=True) if key not in kept], held


def choose_pool(domain: Domain, questions: Sequence[Question], most: int) -> Domain:
    """At most ``most`` passages (0: all): every one that ``questions`` name, and others chosen by a hash of the id.

    Those that are named stay in even where they are more.
    """
    if not most or len(domain.passages) <= most:
        return Domain(domain.name, domain.passages, questions)
    named = {id for q in questions for id in (*q.positives, *q.negatives)}
    others = sorted((p.id for p in domain.passages if p.id not in named), key=lambda id: (share(id, "pool"), id))
    kept = named.union(others[: max(0, most - len(named))])
    return Domain(domain.name, [p for p in domain.passages if p.id in kept], questions)
