"""How well a reader tells a passage that answers from others, and how well it finds the words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from conclave_train.fit.encode import Device, chunks
from conclave_train.model.tokens import Tokens
from conclave_train.progress import Progress
from conclave_train.reading.groups import Groups
from conclave_train.reading.loop import read
from conclave_train.reading.model import Reader
from conclave_train.reading.pairs import Pair, Span
from conclave_train.reading.spans import best_span
from conclave_train.reading.squad import exact_match, f1

METRICS = ("top-1", "auroc", "em", "f1")


def answer(
    reader: Reader, pairs: Sequence[Pair], tokens: Tokens, device: Device, size: int
) -> tuple[NDArray[np.float32], list[tuple[Span, float] | None]]:
    """Selection scores [N], and each pair's best span with its score."""
    scores = np.empty(len(pairs), np.float32)
    spans: list[tuple[Span, float] | None] = [None] * len(pairs)
    with torch.inference_mode():
        for part in chunks([len(p.ids) for p in pairs], size):
            start, end, select = read(reader, [pairs[i] for i in part], tokens, device)
            scores[part] = select.cpu().numpy()
            for i, s, e in zip(part, start.cpu().numpy(), end.cpu().numpy(), strict=True):
                spans[i] = best_span(s, e, pairs[i].text_at, len(pairs[i].ids))
    return scores, spans


def measure(reader: Reader, groups: Groups, device: Device, size: int, label: str, quiet: bool) -> dict[str, float]:
    """In percent, over each question's passage that answers and its hardest ``groups.count`` others.

    ``top-1``: questions whose own passage scores above all others. ``auroc``:
    the chance that a passage that answers scores above one that does not, of
    whatever question. ``em`` and ``f1``: of the span in the question's own
    passage, over questions with answers.
    """
    reader.eval()
    first: list[bool] = []
    good: list[float] = []
    bad: list[float] = []
    exact: list[float] = []
    shared: list[float] = []
    with Progress(label, len(groups.questions), "questions", quiet=quiet) as bar:
        for i, question in enumerate(groups.questions):
            bar.tick(1)
            found = groups.positive(i, groups.positives[i])
            if found is None or not groups.negatives[i]:
                continue
            place, own = found
            others = [groups.pairs.pair(i, p, groups.longest) for p in groups.negatives[i][: groups.count]]
            scores, spans = answer(reader, [own, *others], groups.pairs.tokens, device, size)
            first.append(bool((scores[1:] < scores[0]).all()))
            good.append(float(scores[0]))
            bad += [float(s) for s in scores[1:]]
            if own.spans and (best := spans[0]) is not None:
                words = groups.pairs.words(place, own, best[0])
                exact.append(exact_match(words, question.answers))
                shared.append(f1(words, question.answers))
    parts = (np.mean(first) if first else 0.0, auroc(good, bad), _mean(exact), _mean(shared))
    return {name: 100 * float(value) for name, value in zip(METRICS, parts, strict=True)}


def auroc(good: Sequence[float], bad: Sequence[float]) -> float:
    """The share of pairs of a good and a bad score that are in order, equal ones counting half; 0.5 without pairs."""
    if not good or not bad:
        return 0.5
    low = np.sort(np.asarray(bad))
    at = np.asarray(good)
    below, upto = np.searchsorted(low, at, "left"), np.searchsorted(low, at, "right")
    return float((below + upto).mean() / 2 / len(low))


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0
