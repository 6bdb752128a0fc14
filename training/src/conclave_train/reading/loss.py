"""What the reader is trained for.

DPR's two terms (Karpukhin et al. 2020, section 6.1): the marginal likelihood of
the positive's gold spans, and the likelihood of the positive among the passages
of its question. Starts and ends are told from those in the other passages too
(Clark & Gardner 2018, "Simple and Effective Multi-Paragraph Reading
Comprehension", section 3.3, shared normalisation), so that spans of several
passages compare. A third term, not theirs, gives the selection score a meaning
for one passage alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from conclave_train.reading.pairs import Span


def span_nll(start: Tensor, end: Tensor, spans: Sequence[Span]) -> Tensor:
    """-log Σ over ``spans`` of P_start·P_end, a scalar.

    ``start``, ``end`` [L] are the logits of one passage, or of several one after
    the other; they are -inf outside the texts.
    """
    first, last = torch.tensor(spans, device=start.device).unbind(-1)
    return -torch.logsumexp(start.log_softmax(-1)[first] + end.log_softmax(-1)[last], dim=0)


def answer_among_nll(start: Tensor, end: Tensor, select: Tensor, spans: Sequence[Sequence[Span]]) -> Tensor:
    """-log p(a|q,Z) = -log Σ_k P_select(k) · Σ P_start·P_end over the answer's places in passage k, a scalar.

    (Sachan et al. 2021, EMDR2, section 2.3, the first term, for a reader that
    marks a span.) ``start``, ``end`` [K,L] and ``select`` [K] are the logits of K
    passages; ``spans`` are the answer's places in each, in one at least.
    """
    held = [k for k, places in enumerate(spans) if places]
    chosen = select.log_softmax(-1)
    return -torch.logsumexp(torch.stack([chosen[k] - span_nll(start[k], end[k], spans[k]) for k in held]), dim=0)


def selection_nll(select: Tensor) -> Tensor:
    """-log P_select of the first column, the mean over questions; ``select`` [Q,C] is -inf where there is none."""
    return F.cross_entropy(select, torch.zeros(len(select), dtype=torch.int64, device=select.device))


def answer_nll(select: Tensor) -> Tensor:
    """Cross entropy of "this passage answers": the mean of the positives' and of the others', each half.

    ``select`` [Q,C], the positives first, -inf where there is no passage. With
    halves, sigmoid(select) is a chance for a passage that answers in one of two
    cases.
    """
    others = select[:, 1:][~torch.isinf(select[:, 1:])]
    positives = F.softplus(-select[:, 0]).mean()
    return (positives + F.softplus(others).mean()) / 2 if len(others) else positives
