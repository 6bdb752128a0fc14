"""DESIRE-ME: what the head computes, how it is trained and measured, and the bundle."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from torch.nn import functional as F

from conclave_train.bundle.manifest import read_manifest
from conclave_train.cli import main
from conclave_train.data.records import Domain, Passage, Question
from conclave_train.desire_me.fit import loss
from conclave_train.desire_me.gate import Gated, fit_gate, lower, nonsense, refused, surplus
from conclave_train.desire_me.graph import write_head
from conclave_train.desire_me.head import MODES, Head, combine, in_8_bits
from conclave_train.desire_me.measure import chance, measure
from conclave_train.desire_me.settings import DesireMeSettings
from conclave_train.desire_me.train import DesireMeJob, train_desire_me
from conclave_train.errors import Interrupted, TrainingError
from conclave_train.fit.loss import in_batch_nll
from conftest import After, contents, tiny_domain, write_checkpoint, write_domain

QUICK = DesireMeSettings(
    epochs=40,
    gate_epochs=20,
    betas="4",
    batch=24,
    learning_rate=3e-2,
    hold_out=0.25,
    depth=8,
    hard=1,
    nearest=0,
    nonsense=0.02,  # its words are those of the questions here
)
ONCE = QUICK
DOMAINS = (
    tiny_domain(name="left", topics=range(6)),
    tiny_domain(name="right", topics=range(6, 12), seed=4),
)


def test_the_example_worked_by_hand() -> None:
    """q [1,2], specialists [.3,-.4] and [1,1], logits [0,-2]: the arithmetic of the paper's formula."""
    q = torch.tensor([[1.0, 2.0]])
    g = torch.tensor([[0.0, -2.0]]).sigmoid()
    context = g @ torch.tensor([[0.3, -0.4], [1.0, 1.0]])
    torch.testing.assert_close(context, torch.tensor([[0.26920292, -0.08079708]]))
    unit = F.normalize(context)
    torch.testing.assert_close(combine(q, context, torch.ones(1, 2), 1.0, False), q + unit)
    torch.testing.assert_close(combine(q, context, g, 0.4, False), q + 0.4 * 0.5 * unit)
    torch.testing.assert_close(combine(q, torch.zeros(1, 2), g, 1.0, False), q)
    torch.testing.assert_close(combine(q, context, torch.zeros(1, 2), 1.0, False), q)
    torch.testing.assert_close(combine(q, context, g, 0.4, True), F.normalize(q + 0.2 * unit))


def test_the_head_is_a_gate_and_specialisers() -> None:
    head = Head(8, 3, 0.4, True, seed=5)
    x = F.normalize(torch.randn(5, 8), dim=-1)
    h = x
    for i in range(3):
        h = h @ head.gate_weights[i] + head.gate_biases[i]
        h = F.relu(h) if i < 2 else h
    assert [tuple(w.shape) for w in head.gate_weights] == [(8, 16), (16, 32), (32, 3)]
    own = [F.relu(x @ head.down[m] + head.down_bias[m]) @ head.up[m] + head.up_bias[m] for m in range(3)]
    assert head.down.shape == (3, 8, 4)
    context = sum(h.sigmoid()[:, m : m + 1] * own[m] for m in range(3))
    assert isinstance(context, torch.Tensor)
    changed, logits = head(x)
    torch.testing.assert_close(logits, h)
    torch.testing.assert_close(changed, combine(x, context, h.sigmoid(), 0.4, True))


def test_modes() -> None:
    heads = {mode: Head(32, 5, 0.4, True, mode, seed=5) for mode in MODES}
    x = torch.randn(3, 32)
    context = (heads["ones"](x)[0], heads["random"](x)[0], heads["random"](x)[0])
    assert not torch.allclose(context[1], context[2]), "weights are drawn anew"
    sizes = {mode: sum(p.numel() for p in head.parameters()) for mode, head in heads.items()}
    gate = sum(p.numel() for p in (*heads["adapter"].gate_weights, *heads["adapter"].gate_biases))
    # The adapter's gate takes no part; the rest has as many numbers as gate and specialisers together.
    assert abs(sizes["adapter"] - gate - sizes["desire-me"]) < 2 * 32 + 1


def test_the_ranking_leaves_the_gate_alone() -> None:
    head = Head(8, 3, 0.4, True, seed=5)
    q, p = F.normalize(torch.randn(4, 8), dim=-1), F.normalize(torch.randn(6, 8), dim=-1)
    targets, ignore = torch.tensor([0, 1, 2, 3]), torch.zeros(4, 6, dtype=torch.bool)
    ignore[1, 5] = True
    ranking = in_batch_nll(head(q)[0], p, targets, ignore, 0.05).value
    value = loss(head, q, p, targets, ignore, 0.05)
    torch.testing.assert_close(value, ranking)
    value.backward()  # type: ignore[no-untyped-call]
    assert all(w.grad is None for w in head.gate())
    assert head.down.grad is not None


def clusters(count: int, each: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Questions [count·each, 16] about their domain's direction, and their domains [count·each, count]."""
    g = torch.Generator().manual_seed(seed)
    centres = torch.linalg.qr(torch.randn(16, 16, generator=torch.Generator().manual_seed(1)))[0][:count]
    near = centres.repeat_interleave(each, 0) + 0.15 * torch.randn(count * each, 16, generator=g)
    return F.normalize(near, dim=-1), torch.eye(count).repeat_interleave(each, 0)


def test_a_question_of_no_domain_keeps_its_vector() -> None:
    """A head of four domains is asked of a fifth one, which neither gate nor specialisers ever saw."""
    questions, labels = clusters(5, 80, seed=3)
    gated = Gated(questions[:320], labels[:320, :4], torch.empty(0, 16))
    settings = DesireMeSettings(gate_epochs=30, batch=64, learning_rate=1e-2, refuse=0.95)
    head = Head(16, 4, 0.8, True, seed=2)
    fit_gate(head, gated, settings, quiet=True)
    before = refused(head, questions[320:]).mean()
    lower(head, surplus(lambda domains: Head(16, domains, 0.8, True, seed=2), gated, settings, quiet=True))
    assert refused(head, questions[320:]).mean() > max(0.9, before), "what a domain left out needs helps another one"
    assert refused(head, clusters(5, 40, seed=9)[0][:160]).mean() < 0.1, "the domains' own questions pass the gate"


@pytest.mark.parametrize("largest", [1e-4, 0.01, 0.1, 0.3])
def test_how_far_a_question_moves_is_bounded_by_its_widest_gate(largest: float) -> None:
    """With β 0.4 and all gates below 0.3 the cosine is at least .99, whatever the specialisers say."""
    head = Head(24, 5, 0.4, True, seed=8)
    with torch.no_grad():
        head.gate_weights[2].zero_()
        head.gate_biases[2].fill_(math.log(largest / (1 - largest)))
        head.up.mul_(1000)
    q = F.normalize(torch.randn(200, 24, generator=torch.Generator().manual_seed(5)), dim=-1)
    cosine = F.cosine_similarity(head(q)[0], q)
    assert cosine.min() >= math.sqrt(1 - (0.4 * largest) ** 2) - 1e-5  # the sine is at most β·max(g)
    assert cosine.min() >= 0.99


def test_the_share_that_is_refused_decides_how_much_gates_are_lowered() -> None:
    questions, labels = clusters(4, 60, seed=4)
    gated = Gated(questions, labels, torch.empty(0, 16))

    def by(refuse: float) -> float:
        s = DesireMeSettings(gate_epochs=20, batch=64, learning_rate=1e-2, refuse=refuse)
        return surplus(lambda domains: Head(16, domains, 0.4, True, seed=2), gated, s, quiet=True)

    assert by(0.99) > by(0.9) > by(0.5) >= 0
    assert by(0) == 0


def test_foreign_questions_are_of_no_domain() -> None:
    """Questions that lie between two domains are refused where they were shown as foreign, and not without."""
    questions, labels = clusters(2, 100, seed=6)
    between = F.normalize(questions[:100] + questions[100:], dim=-1)
    shares = []
    for foreign in (torch.empty(0, 16), between[:50]):
        head = Head(16, 2, 0.4, True, seed=2)
        settings = DesireMeSettings(gate_epochs=30, batch=50, learning_rate=1e-2)
        fit_gate(head, Gated(questions, labels, foreign), settings, quiet=True)
        shares.append(float(refused(head, between[50:]).mean()))
    assert shares[0] < 0.5 < 0.9 < shares[1]


def test_nonsense_is_the_same_for_a_seed_and_asks_nothing_of_the_questions() -> None:
    asked = ["how long do refunds take", "who wrote the ninth symphony"]
    made = nonsense(asked, 20, 3)
    assert made == nonsense(asked, 20, 3) != nonsense(asked, 20, 4)
    assert len(set(made)) == 20 and not set(made) & set(asked)
    words = {w for text in asked for w in text.split()}
    assert all(set(text.split()) <= words for text in made[1::2])


@pytest.mark.parametrize("normalise", [False, True])
def test_the_graph_gives_the_same(tmp_path: Path, normalise: bool) -> None:
    head = Head(24, 5, 0.4, normalise, seed=2).rounded()
    write_head(tmp_path / "head.onnx", head)
    session = onnxruntime.InferenceSession(str(tmp_path / "head.onnx"), providers=["CPUExecutionProvider"])
    assert [(i.name, i.shape) for i in session.get_inputs()] == [("question", ["batch", 24])]
    assert [(o.name, o.shape) for o in session.get_outputs()] == [("vector", ["batch", 24]), ("gate", ["batch", 5])]
    for batch in (1, 7):
        x = F.normalize(torch.randn(batch, 24), dim=-1)
        vector, gate = session.run(["vector", "gate"], {"question": x.numpy()})
        changed, logits = head(x)
        np.testing.assert_allclose(vector, changed.detach().numpy(), atol=1e-5)
        np.testing.assert_allclose(gate, logits.detach().sigmoid().numpy(), atol=1e-5)


def test_a_head_is_shipped_in_8_bits(tmp_path: Path) -> None:
    whole, scale = in_8_bits(torch.tensor([[[0.5, -2.0], [-1.0, 1.0]]]))
    assert whole.tolist() == [[[64, -127], [-127, 64]]]  # 63.5 to even
    torch.testing.assert_close(scale, torch.tensor([[[1 / 127, 2 / 127]]]))
    head = Head(48, 7, 0.4, True, seed=3)
    numbers = sum(p.numel() for p in head.parameters())
    write_head(tmp_path / "head.onnx", head.rounded())
    assert (tmp_path / "head.onnx").stat().st_size < 1.3 * numbers
    x = F.normalize(torch.randn(50, 48), dim=-1)
    assert F.cosine_similarity(head(x)[0], head.rounded()(x)[0]).min() > 0.9999


def test_measures_by_hand() -> None:
    """Question 0: answers at ranks 2 and 3 of its two; question 1: none among the first 20."""
    passages = torch.stack([torch.tensor([math.cos(a), math.sin(a)]) for a in np.linspace(0, 3, 40)])
    questions = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    found = measure(questions, passages, [[1, 2], [39]])
    ideal = 1 + 1 / math.log2(3)
    assert found["ndcg@10"] == pytest.approx([(1 / math.log2(3) + 1 / math.log2(4)) / ideal, 0])
    assert found["top-1"].tolist() == [0, 0]
    assert found["top-20"].tolist() == [1, 0]


def test_the_chance_of_a_difference() -> None:
    """Against all 2^n signs of a small sample."""
    random = np.random.default_rng(7)
    a, b = random.random(9), random.random(9)
    d = a - b
    sums = [abs(sum(s * x for s, x in zip(signs, d, strict=True))) for signs in itertools.product((1, -1), repeat=9)]
    exact = float(np.mean(np.array(sums) >= abs(d.sum()) - 1e-9))
    assert chance(a, b) == pytest.approx(exact, abs=0.02)
    assert chance(a, a) == 1


def job(tmp_path: Path, **changes: object) -> DesireMeJob:
    base = tmp_path / "base"
    if not base.exists():
        write_checkpoint(base)
    plain = DesireMeJob("tiny", DOMAINS, base, tmp_path / "experts" / "tiny", tmp_path / "run", QUICK, quiet=True)
    return replace(plain, **changes)  # type: ignore[arg-type]


def test_a_tiny_expert_learns_and_verifies(tmp_path: Path) -> None:
    """Questions share no word with their passages: the base is at chance; the head is not, and its gate knows."""
    path = train_desire_me(job(tmp_path, compare=DOMAINS))
    values = read_manifest(path)
    assert {f.name for f in path.iterdir()} == {"CARD.md", "expert.yaml", "head.onnx"}
    wanted = {"kind": "desire-me", "dimension": 32, "normalise": True, "precision": "fp32", "delta": "head.onnx"}
    assert {k: values[k] for k in wanted} == wanted
    assert values["head"] == {"file": "head.onnx", "domains": ["left", "right"]}
    assert values["base"]["name"] == "base"
    card = (path / "CARD.md").read_text()
    cells = [[c.strip() for c in r.split("|")[1:-1]] for r in card.splitlines() if r.startswith("| ")]
    rows = {r[0]: float(r[2]) for r in cells if len(r) == 4 and r[0] not in ("", "---")}
    assert list(rows) == ["zeros (the base)", "random", "ones", "adapter", "desire-me"]
    assert 1.5 * rows["zeros (the base)"] < rows["desire-me"]
    assert "desire-me against zeros (the base): ndcg@10 p 0.0001" in card


def test_a_resumed_run_gives_the_same_bytes(tmp_path: Path) -> None:
    whole = train_desire_me(job(tmp_path, settings=ONCE, out=tmp_path / "whole", run=tmp_path / "r1"))
    parts = job(tmp_path, settings=ONCE, out=tmp_path / "parts", run=tmp_path / "r2")
    for count in (0, 3, 6):
        with pytest.raises(Interrupted):
            train_desire_me(replace(parts, stop=After(count)))
    assert contents(train_desire_me(parts)) == contents(whole)


def test_tags_are_domains(tmp_path: Path) -> None:
    """Passages with tags are of these; a question is of all that its passages are of."""
    passages = [Passage(f"p{i}", "", f"say{i % 3}", ("a", "b") if i % 3 == 2 else ("ab"[i % 3],)) for i in range(12)]
    questions = [Question(f"q{i}", f"ask{i % 3} {'of ' * (i % 5)}", (f"p{i % 12}",)) for i in range(60)]
    tagged = (Domain("tagged", passages, questions),)
    path = train_desire_me(job(tmp_path, domains=tagged, settings=replace(ONCE, epochs=20)))
    assert read_manifest(path)["head"]["domains"] == ["a", "b"]


def test_what_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="all passages are of left: a gate needs two domains or more"):
        train_desire_me(job(tmp_path, domains=DOMAINS[:1]))
    with pytest.raises(TrainingError, match="the head finds no more than the base"):
        train_desire_me(job(tmp_path, settings=replace(ONCE, learning_rate=1e-12, betas="0.000001")))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_checkpoint(tmp_path / "base")
    data = [str(write_domain(tmp_path / d.name, d)) for d in DOMAINS]
    foreign = tmp_path / "foreign.jsonl"
    foreign.write_text('{"question": "neither of the two", "positive_ids": ["elsewhere"]}\n')
    arguments = [
        *("desire-me", "--data", data[0], "--data", data[1], "--base", str(tmp_path / "base"), "--name", "both"),
        *("--out", str(tmp_path / "out"), "--run", str(tmp_path / "run"), "--quiet", "--epochs", "40", "--batch", "24"),
        *("--learning-rate", "0.03", "--gate-epochs", "20", "--foreign", str(foreign)),
        *("--nearest", "0", "--nonsense", "0.02"),
        *("--betas", "4", "--hold-out", "0.25", "--depth", "8", "--hard", "1"),
    ]
    assert main(arguments) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "out")
    assert "| questions of no domain | 1, and " in (tmp_path / "out" / "CARD.md").read_text()
    assert main([*arguments, "--refuse", "1"]) == 1
    assert "--refuse: 1.0 is not at least 0 and below 1" in capsys.readouterr().err
    assert main([*arguments, "--betas", "odd"]) == 1
    assert "--betas: 'odd' is no list of numbers" in capsys.readouterr().err
