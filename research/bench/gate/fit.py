"""Fits the shipped gate's weights of words, phrases and late interaction.

    python research/bench/gate/fit.py EVIDENCE... [--experts shipped/calibration.yaml] [--shipped] [--write] [--table FILE]

EVIDENCE are files of `conclave calibrate --evidence`, one a collection, named for it.
The table has the shipped numbers, and a fit to the other domains for each that is left out;
with --shipped the shipped numbers alone, in seconds. Then all are fitted, and with --write
the numbers go into the file of --experts: `gate`, and `gate_without_late` for answers in
which late interaction takes no part. The loss has several minima: the fit of all begins at
START_* and at the numbers of --experts, and the lower one counts. The features come from the
evidence, as the server computes them; what is here is the weighted sum and its fit.
"""

import argparse
import json
import pathlib
import re

import numpy as np
from scipy.optimize import minimize

# What the weights read: places among LexicalFeatureNames and LateFeatureNames.
LEXICAL = {"coverage": 2, "log_spread": 6, "height_in_experts": 7, "height_of_late": 8}
LATE = {"log_spread": 6, "height_of_words": 7}
LEXICAL_FEATURES, LATE_FEATURES = 9, 8

# What words' logarithmic weight gains where the whole question is of words that very few
# passages have and that the encoder has in pieces (fusion.Observed.Exact). It is not
# fitted: few questions of these domains have such a word.
EXACT = 3.0

# What it gains where the texts are symbols rather than words (fusion.Symbols): by how far
# they are. Not fitted either: these domains have two such collections (exact.py).
SYMBOLS = -1.4

# Late interaction and the specialists were trained on other questions of these domains,
# so there it is better than it is elsewhere: they count less.
TRAINED, TRAINED_COUNTS = {"wiki", "nq", "medquad", "covid", "policy", "amazon", "fairytale"}, 0.15

QUESTIONS = 250  # of a domain, in the fit; all are measured
CANDIDATES = 128  # of a question, in the fit: the answers and what some source has first
SHARPNESS = 180.0  # how steeply a passage's rank follows the scores
RIDGE = 0.05
START_WORDS, START_LATE, START_PHRASES = 0.05, 2.0, 0.5


class Domain:
    """A domain's questions: scores [n, 4, candidates] of base, words, phrases, late."""

    def __init__(self, path):
        self.name = pathlib.Path(path).name.split(".")[0]
        rows = [json.loads(line) for line in open(path, encoding="utf-8")]
        width = max(len(r["grades"]) for r in rows)
        self.scores = np.zeros((len(rows), 4, width))
        self.ranks = np.zeros((len(rows), 4, width), int)
        self.mask = np.zeros((len(rows), width), bool)
        self.grades = np.zeros((len(rows), width))
        self.near = np.zeros((len(rows), width))  # of evidence that has it
        self.ideal = np.zeros(len(rows))
        lexical, late = np.zeros((len(rows), LEXICAL_FEATURES)), np.zeros((len(rows), LATE_FEATURES))
        for i, r in enumerate(rows):
            dense = [k for k, kind in enumerate(r["kinds"]) if kind in ("base", "generalist", "specialist")]
            if len(dense) != 1:
                raise SystemExit(f"{path}: {len(dense)} dense sources; the base alone is meant")
            columns = dense + [r["kinds"].index(kind) for kind in ("lexical", "phrases", "late")]
            n = len(r["grades"])
            self.scores[i, :, :n] = [r["scores"][c] for c in columns]
            self.ranks[i, :, :n] = [r["ranks"][c] for c in columns]
            self.mask[i, :n], self.grades[i, :n] = True, r["grades"]
            if "near" in r["kinds"]:
                self.near[i, :n] = r["scores"][r["kinds"].index("near")]
            lexical[i], late[i] = r["lexical"], r["late"]
            best = np.sort(np.concatenate([r["grades"], r["missed"]]))[::-1][:10]
            self.ideal[i] = (best / np.log2(np.arange(2, len(best) + 2))).sum()
        self.exact = np.array([r.get("exact", 0.0) for r in rows])
        self.symbols = np.array([r.get("symbols", 0.0) for r in rows])
        self.lexical, self.late = lexical[:, list(LEXICAL.values())], late[:, list(LATE.values())]

    def ndcg(self, fused, among=None):
        """Mean nDCG@10 in percent of an order; among: sources whose hits alone count."""
        mask = self.mask if among is None else self.mask & (self.ranks[:, among] > 0).any(1)
        order = np.argsort(-np.where(mask, fused, -1e9), axis=1, kind="stable")[:, :10]
        gains = np.take_along_axis(np.where(mask, self.grades, 0), order, 1)
        return 100 * ((gains / np.log2(np.arange(2, 2 + gains.shape[1]))).sum(1) / self.ideal).mean()

    def fixed(self):
        """What needs no fit: RRF, and base + α·BM25."""
        ranks = self.ranks[:, :2]
        out = {"RRF": self.ndcg(np.where(ranks > 0, 1 / (60 + np.maximum(ranks, 1)), 0).sum(1), [0, 1])}
        for alpha in (0.03, 0.05, 0.1, 0.2):
            out[f"{alpha:g}"] = self.ndcg(self.scores[:, 0] + alpha * self.scores[:, 1], [0, 1])
        return out

    def part(self):
        """The questions and candidates that are fitted on."""
        keep = np.argsort([hash_of(i) for i in range(len(self.ideal))], kind="stable")[:QUESTIONS]
        scores, mask, grades = self.scores[keep], self.mask[keep], self.grades[keep]
        late = np.where(mask, scores[:, 3], -1e9)
        best = np.argsort(np.argsort(-late, 1, kind="stable"), 1, kind="stable") + 1
        ranks = self.ranks[keep][:, :3]
        best = np.minimum(best, np.where(ranks > 0, ranks, 999).min(1))
        best = np.where(grades > 0, 0, best)
        order = np.argsort(np.where(mask, best, 9999), 1, kind="stable")[:, :CANDIDATES]
        take = lambda a: np.take_along_axis(a, order, 1)
        some = (grades > 0).any(1)
        return (np.stack([take(scores[:, k]) for k in range(4)], 1)[some], take(mask)[some], take(grades)[some],
                self.ideal[keep][some], self.lexical[keep][some], self.late[keep][some], (EXACT * self.exact + SYMBOLS * self.symbols)[keep][some])


def hash_of(i):
    """A fixed shuffle."""
    return (i * 2654435761) % 2**32


class Fit:
    """Weights: 1 for the base, exp(linear) for words and late, a share of words' for phrases."""

    def __init__(self, domains, late=True):
        parts = [d.part() for d in domains]
        counts = [TRAINED_COUNTS if d.name in TRAINED else 1.0 for d in domains]
        self.of = np.concatenate([np.full(len(p[3]), i) for i, p in enumerate(parts)])
        self.weight = np.concatenate([np.full(len(p[3]), c / len(p[3])) for p, c in zip(parts, counts)])
        width = max(p[1].shape[1] for p in parts)
        pad = lambda a: np.pad(a, [(0, 0)] * (a.ndim - 1) + [(0, width - a.shape[-1])])
        self.scores, self.mask, self.grades = (np.concatenate([pad(p[k]) for p in parts]) for k in range(3))
        self.ideal = np.concatenate([p[3] for p in parts])
        self.with_late = late
        lexical, tokens = (np.concatenate([p[k] for p in parts]) for k in (4, 5))
        if not late:
            lexical[:, list(LEXICAL).index("height_of_late")] = 0
        self.given = np.concatenate([p[6] for p in parts])
        w = self.weight / self.weight.sum()
        self.mean = [w @ lexical, w @ tokens]
        self.deviation = [np.sqrt(w @ (x - m) ** 2) + 1e-9 for x, m in zip((lexical, tokens), self.mean)]
        self.deviation = [np.where(d < 1e-6, 1, d) for d in self.deviation]
        self.features = [(x - m) / d for x, m, d in zip((lexical, tokens), self.mean, self.deviation)]
        # The answers, as pairs of question and candidate: of each question at most ten.
        first = np.argsort(-self.grades, 1, kind="stable")[:, :10]
        some = np.take_along_axis(self.grades, first, 1) > 0
        self.question, place = np.nonzero(some)
        self.answer_at = first[self.question, place]

    def weights(self, x, features, given):
        nl = len(LEXICAL)
        words = np.exp(x[0] + features[0] @ x[3:3 + nl] + given)
        late = np.exp(x[1] + features[1] @ x[3 + nl:]) * self.with_late
        return np.stack([np.ones(len(words)), words, words * np.exp(x[2]), late], 1)

    def loss(self, x, weight):
        """1 - nDCG@10 with smooth ranks (Qin et al., 2010), and a ridge; with its slope."""
        w = self.weights(x, self.features, self.given)
        z = SHARPNESS * np.einsum("qs,qsc->qc", w, self.scores)
        use = weight[self.question] > 0
        of, at = self.question[use], self.answer_at[use]
        per = weight[of] * self.grades[of, at] / self.ideal[of]
        ahead = 1 / (1 + np.exp(np.clip(z[of, at][:, None] - z[of], -30, 30))) * self.mask[of]
        rank = 0.5 + ahead.sum(1)
        inside = 1 / (1 + np.exp(np.clip((rank - 11) / 1.5, -30, 30)))
        log = np.log2(1 + rank)
        value = -4 * (per * inside / log).sum()
        slope_rank = 4 * per * (inside * (1 - inside) / 1.5 / log + inside / log**2 / ((1 + rank) * np.log(2)))
        steep = ahead * (1 - ahead) * slope_rank[:, None]
        slope_z = np.zeros_like(z)
        np.add.at(slope_z, of, steep)
        np.add.at(slope_z, (of, at), -steep.sum(1))
        slope_w = SHARPNESS * np.einsum("qc,qsc->qs", slope_z, self.scores)
        words, late = slope_w[:, 1] * w[:, 1] + slope_w[:, 2] * w[:, 2], slope_w[:, 3] * w[:, 3]
        grad = np.concatenate([[words.sum(), late.sum(), (slope_w[:, 2] * w[:, 2]).sum()],
                               self.features[0].T @ words, self.features[1].T @ late])
        pulled = x.copy()
        pulled[:2], pulled[2] = 0, x[2] - np.log(START_PHRASES)
        return value + RIDGE * (pulled**2).sum(), grad + 2 * RIDGE * pulled

    def best(self, without=None, start=None):
        weight = self.weight * (self.of != without) if without is not None else self.weight
        weight = weight / weight.sum()
        if start is None:
            start = np.zeros(3 + len(LEXICAL) + len(LATE))
            start[:3] = np.log([START_WORDS, START_LATE, START_PHRASES])
        return minimize(self.loss, start, args=(weight,), jac=True, method="L-BFGS-B", options={"maxiter": 80, "ftol": 1e-7}).x

    def answer(self, x, domain):
        lexical = domain.lexical.copy()
        if not self.with_late:
            lexical[:, list(LEXICAL).index("height_of_late")] = 0
        features = [(f - m) / d for f, m, d in zip((lexical, domain.late), self.mean, self.deviation)]
        return np.einsum("qs,qsc->qc", self.weights(x, features, EXACT * domain.exact + SYMBOLS * domain.symbols), domain.scores)

    def gate(self, x):
        """The gate's numbers, for features as they are."""
        nl = len(LEXICAL)
        lexical, late = np.zeros(LEXICAL_FEATURES), np.zeros(LATE_FEATURES)
        lexical[list(LEXICAL.values())] = x[3:3 + nl] / self.deviation[0]
        late[list(LATE.values())] = x[3 + nl:] / self.deviation[1]
        words = x[0] - (x[3:3 + nl] / self.deviation[0]) @ self.mean[0]
        tokens = x[1] - (x[3 + nl:] / self.deviation[1]) @ self.mean[1]
        out = {"lexical": lexical, "words": words, "exact": EXACT, "symbols": SYMBOLS, "phrases": np.exp(x[2])}
        if self.with_late:
            out |= {"tokens": tokens, "late": late}
        return out


class Shipped:
    """The numbers of a gate in a calibration."""

    def __init__(self, path, name):
        text = pathlib.Path(path).read_text(encoding="utf-8").split(f"\n{name}:\n")[1]
        self.block = re.split(r"(?m)^\S", text)[0]
        self.with_late = "  late:" in self.block

    def number(self, key):
        found = re.search(rf"(?m)^  {key}: (.*)$", self.block)
        return float(found[1]) if found else 0.0

    def numbers(self, key):
        return np.array([float(x) for x in re.search(rf"(?m)^  {key}:\n((?:    - .*\n?)+)", self.block)[1].replace("    - ", "").split()])

    def answer(self, domain, exact=True, symbols=True):
        """A domain's fused scores [n, candidates]."""
        lexical = domain.lexical.copy()
        if not self.with_late:
            lexical[:, list(LEXICAL).index("height_of_late")] = 0
        given = exact * self.number("exact") * domain.exact + symbols * self.number("symbols") * domain.symbols
        words = np.exp(self.number("words") + lexical @ self.numbers("lexical")[list(LEXICAL.values())] + given)
        late = np.zeros(len(words))
        if self.with_late:
            late = np.exp(self.number("tokens") + domain.late @ self.numbers("late")[list(LATE.values())])
        prose = (1 - np.minimum(domain.symbols, 1)) * (self.number("near") > 0) * domain.near.any()
        beside = words * (1 - (1 - (self.number("beside_near") or 1)) * prose)
        weights = np.stack([np.ones(len(words)), beside, words * self.number("phrases"), late], 1)
        return np.einsum("qs,qsc->qc", weights, domain.scores) + (words * self.number("near") * prose)[:, None] * domain.near

    def start(self, fit):
        """The numbers as a fit has them, for features of its means and deviations."""
        lexical, late = self.numbers("lexical")[list(LEXICAL.values())], np.zeros(len(LATE))
        if self.with_late:
            late = self.numbers("late")[list(LATE.values())]
        first = [self.number("words") + lexical @ fit.mean[0], self.number("tokens") + late @ fit.mean[1], np.log(self.number("phrases"))]
        return np.concatenate([first, lexical * fit.deviation[0], late * fit.deviation[1]])


def write(path, gates):
    """Puts the numbers in the place of those in the shipped calibration."""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    head, rest = text.split("\ngate:\n")
    both = dict(zip(("gate", "gate_without_late"), rest.split("\ngate_without_late:\n")))
    out = head
    for name, numbers in gates.items():
        block = both[name].rstrip("\n")
        for key, value in numbers.items():
            number = lambda v: repr(round(float(v), 4))
            if np.ndim(value):
                new = f"  {key}:\n" + "\n".join(f"    - {number(v)}" for v in value)
                block = re.sub(rf"(?m)^  {key}:\n(?:    - .*\n?)+", new.replace("\\", "") + "\n", block + "\n").rstrip("\n")
            else:
                block = re.sub(rf"(?m)^  {key}: .*$", f"  {key}: {number(value)}", block)
        out += f"\n{name}:\n{block}"
    pathlib.Path(path).write_text(out + "\n", encoding="utf-8")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("evidence", nargs="+")
    args.add_argument("--also", nargs="*", default=[], help="evidence that is measured with what all of EVIDENCE gave, and not fitted on")
    args.add_argument("--experts", default=str(pathlib.Path(__file__).parents[3] / "shipped/calibration.yaml"))
    args.add_argument("--shipped", action="store_true", help="measure the numbers of --experts and fit nothing")
    args.add_argument("--write", action="store_true", help="write what is fitted into --experts")
    args.add_argument("--table")
    args = args.parse_args()
    domains = [Domain(path) for path in args.evidence]
    lines = []
    gates = {}
    for name, late in (("gate", True), ("gate_without_late", False)):
        shipped, among = Shipped(args.experts, name), None if late else [0, 1, 2]
        if not args.shipped:
            fit = Fit(domains, late)
            weight = fit.weight / fit.weight.sum()
            starts = [fit.best(), fit.best(start=shipped.start(fit))]
            x = min(starts, key=lambda x: fit.loss(x, weight)[0])
            gates[name] = fit.gate(x)
            lines += ["Loss: {:.4f} of the shipped numbers; {:.4f} by a fit from START, {:.4f} from the shipped numbers.".format(
                *(fit.loss(x, weight)[0] for x in (shipped.start(fit), *starts))), ""]
        rows, fixed_all = [], {}
        for i, d in enumerate(domains):
            now = d.ndcg(shipped.answer(d), among)
            own = now if args.shipped else d.ndcg(fit.answer(fit.best(i), d), among)
            fixed = d.fixed()
            for k, v in fixed.items():
                fixed_all.setdefault(k, []).append(v)
            rows.append((d.name, own, fixed, now))
        header = ["domain" if args.shipped else "left out", "questions", *fixed_all, "shipped", "gate", "ahead of the best"]
        if args.shipped:
            header.remove("gate")
        lines += [name.replace("_", " "), "", "| " + " | ".join(header) + " |", "| --- |" + " ---: |" * (len(header) - 1)]
        for d, (n, own, fixed, now) in zip(domains, rows):
            both = [f"{now:.1f}"] + [f"{own:.1f}"] * (not args.shipped)
            lines.append("| " + " | ".join([n, f"{len(d.ideal):,}", *(f"{v:.1f}" for v in fixed.values()), *both, f"{own - max(fixed.values()):+.1f}"]) + " |")
        means = {k: np.mean(v) for k, v in fixed_all.items()}
        own = np.mean([r[1] for r in rows])
        both = [f"{np.mean([r[3] for r in rows]):.1f}"] + [f"{own:.1f}"] * (not args.shipped)
        lines.append("| " + " | ".join(["mean", "", *(f"{v:.1f}" for v in means.values()), *both, f"{own - max(means.values()):+.1f}"]) + " |")
        best = np.mean([max(f.values()) for _, _, f, _ in rows])
        lines += ["", f"Ahead of the best of each domain by {own - best:+.2f} on average, at worst by {min(o - max(f.values()) for _, o, f, _ in rows):+.2f}.", ""]
        if args.shipped:
            continue
        for path in args.also:
            d = Domain(path)
            lines.append(f"{d.name}: {d.ndcg(fit.answer(x, d), None if late else [0, 1, 2]):.1f}; " + ", ".join(f"{k} {v:.1f}" for k, v in d.fixed().items()))
        names = list(LEXICAL) + list(LATE)
        lines += ["At the features' means: words {:.3f}, late {:.2f}, phrases {:.2f} of words; by deviation: {}".format(
            *np.exp(x[[0, 1, 2]]), ", ".join(f"{n} {v:+.2f}" for n, v in zip(names, x[3:]))), ""]
    print("\n".join(lines))
    if args.table:
        pathlib.Path(args.table).write_text("\n".join(lines), encoding="utf-8")
    if args.write and gates:
        write(args.experts, gates)


if __name__ == "__main__":
    main()
