"""What a retriever is trained for when a reader says how well each passage explains the answer.

Shapes: Q questions, K passages found for each, T parts of the answer that the
reader gives a likelihood of: its tokens for a reader that generates, 1 for one
that marks a span. ``scores`` [Q,K] are the retriever's, and p(z|q) their softmax
over K. ``teacher`` [Q,K,T] are log p(a_t | a_<t, q, z), -inf where a passage
cannot give the answer; no gradient goes to the reader. ``keep`` bool [Q,T] is
False beside a shorter answer.
"""

from __future__ import annotations

import torch
from torch import Tensor


def marginal_nll(scores: Tensor, teacher: Tensor, keep: Tensor | None = None) -> Tensor:
    """-log Σ_k p(a_t|q,z_k)·p(z_k|q), the mean over the answer's parts, [Q].

    (Sachan et al. 2021, EMDR2, section 2.3, the second term.) With T = 1 it is
    the sequence's marginal; with tokens, the marginal of each, as the published
    code has it.
    """
    parts = torch.logsumexp(scores.log_softmax(-1).unsqueeze(-1) + teacher.detach(), dim=1)
    return -_mean(parts, keep)


def divergence(scores: Tensor, teacher: Tensor, keep: Tensor | None = None) -> Tensor:
    """KL(softmax_k of the answer's mean log-likelihood ‖ p(z|q)), [Q] (the published code's other objective)."""
    target = _mean(teacher.detach(), None if keep is None else keep[:, None, :]).log_softmax(-1)
    known = target.exp()
    difference = torch.where(known > 0, target - scores.log_softmax(-1), torch.zeros_like(known))
    return (known * difference).sum(-1)


def all_likely(scores: Tensor, teacher: Tensor, keep: Tensor | None = None) -> Tensor:
    """-Σ_k log p(z_k|q), [Q]: no feedback from the reader (the paper's first alternative objective)."""
    return -scores.log_softmax(-1).sum(-1)


OBJECTIVES = {"emdr2": marginal_nll, "kl": divergence, "alt-1": all_likely}


def _mean(parts: Tensor, keep: Tensor | None) -> Tensor:
    """The mean over the last axis of what is kept."""
    if keep is None:
        return parts.mean(-1)
    return torch.where(keep, parts, torch.zeros_like(parts)).sum(-1) / keep.sum(-1)
