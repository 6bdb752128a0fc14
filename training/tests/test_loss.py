"""DPR's loss and its gradient."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from conclave_train.fit.loss import in_batch_nll

Q = torch.eye(2)
D = torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 3.0]])
TARGETS = torch.tensor([0, 2])


def test_known_value() -> None:
    """DPR's NLL on two questions and four passages, computed independently; one positive comes first."""
    loss = in_batch_nll(Q, D, TARGETS)
    assert float(loss.value) == pytest.approx(1.385895039, abs=1e-6)
    assert loss.correct == 1


def test_gradient_by_hand() -> None:
    """dL/dq_i = (Σ_j p_ij d_j - d_target) / (B·τ), with p the softmax of the scores."""
    q = Q.double().clone().requires_grad_()
    in_batch_nll(q, D.double(), TARGETS, temperature=0.5).value.backward()  # type: ignore[no-untyped-call]
    scores = (Q @ D.T).numpy() / 0.5
    p = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    expected = (p @ D.numpy() - D.numpy()[TARGETS]) / (2 * 0.5)
    assert q.grad is not None
    np.testing.assert_allclose(q.grad.numpy(), expected, atol=1e-6)


def test_gradients_are_the_differences() -> None:
    generator = torch.Generator().manual_seed(5)
    q = torch.randn(3, 4, generator=generator, dtype=torch.double, requires_grad=True)
    p = torch.randn(5, 4, generator=generator, dtype=torch.double, requires_grad=True)
    ignore = torch.zeros(3, 5, dtype=torch.bool)
    ignore[1, 4] = True

    def value(q: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
        return in_batch_nll(q, p, torch.tensor([0, 1, 3]), ignore, 0.3).value

    assert torch.autograd.gradcheck(value, (q, p))


def test_a_masked_passage_is_no_negative() -> None:
    """Masking a column is the same as leaving the passage out."""
    ignore = torch.zeros(2, 4, dtype=torch.bool)
    ignore[:, 3] = True
    masked = in_batch_nll(Q, D, TARGETS, ignore)
    without = in_batch_nll(Q, D[:3], TARGETS)
    assert float(masked.value) == pytest.approx(float(without.value), abs=1e-7)
    assert masked.correct == without.correct
