"""The shipped gate's shares of the experts, fitted without each domain in turn.

    python research/bench/gate/shares.py EVIDENCE... [--experts shipped/calibration.yaml] [--table FILE]

EVIDENCE are files of `conclave calibrate --evidence`, of collections with specialists;
their lines name the domains. Words, phrases and late interaction keep the shipped
weights; the loss is that of fit.py. The table has each domain by the shares that were
fitted to the others, by the shipped ones, and by what needs no fit. Nothing is written
elsewhere: the shipped shares are those of `conclave calibrate`.
"""

import argparse
import json
import pathlib

import numpy as np
import yaml
from scipy.optimize import minimize

from fit import QUESTIONS, SHARPNESS, hash_of

DENSE = ("base", "generalist", "specialist")
FEATURES = [0, 1, 4, 5, 6]  # of DenseFeatureNames, those that differ between experts; MUF's confidence is not in the evidence
RIDGE = 0.001
CANDIDATES = 100


class Domain:
    """Questions: scores [n, experts and three, candidates], of experts, words, phrases, late."""

    def __init__(self, name, rows, gate):
        self.name, n = name, len(rows)
        width = max(len(r["grades"]) for r in rows)
        self.experts = max(sum(k in DENSE for k in r["kinds"]) for r in rows)
        self.scores = np.zeros((n, self.experts + 3, width))
        self.ranks = np.zeros((n, 2, width), int)  # of base and words
        self.mask, self.grades, self.ideal = np.zeros((n, width), bool), np.zeros((n, width)), np.zeros(n)
        self.features = np.zeros((n, self.experts, 1 + len(FEATURES)))  # the first says that it is a specialist
        self.asked, self.others = np.zeros((n, self.experts), bool), np.zeros((n, 3))
        for i, r in enumerate(rows):
            kinds, m = r["kinds"], len(r["grades"])
            dense = sorted((k for k, kind in enumerate(kinds) if kind in DENSE), key=lambda k: kinds[k] != "base")
            at = [k for k, kind in enumerate(kinds) if kind in DENSE]
            for j, k in enumerate(dense):
                own = np.array(r["dense"][at.index(k)])[FEATURES]
                self.features[i, j], self.asked[i, j] = [kinds[k] == "specialist", *own], True
                self.scores[i, j, :m] = r["scores"][k]
            rest = [kinds.index(kind) for kind in ("lexical", "phrases", "late")]
            self.scores[i, self.experts :, :m] = [r["scores"][k] for k in rest]
            self.ranks[i, :, :m] = [r["ranks"][k] for k in (dense[0], rest[0])]
            self.mask[i, :m], self.grades[i, :m] = True, r["grades"]
            best = np.sort(np.concatenate([r["grades"], r["missed"]]))[::-1][:10]
            self.ideal[i] = (best / np.log2(np.arange(2, len(best) + 2))).sum()
            words = np.exp(gate["words"] + np.dot(gate["lexical"], r["lexical"]))
            self.others[i] = words, words * gate["phrases"], np.exp(gate["tokens"] + np.dot(gate["late"], r["late"]))

    def measure(self, fused, mask):
        """nDCG@10, and the shares of questions with an answer first and among twenty, in percent."""
        order = np.argsort(-np.where(mask, fused, -1e9), 1, kind="stable")[:, :20]
        found = np.take_along_axis(np.where(mask, self.grades, 0), order, 1)
        ndcg = ((found[:, :10] / np.log2(np.arange(2, 12))).sum(1) / self.ideal).mean()
        return 100 * np.array([ndcg, (found[:, 0] > 0).mean(), (found > 0).any(1).mean()])

    def by(self, x):
        weights = np.hstack([shares(self.features, self.asked, x), self.others])
        return self.measure(np.einsum("qs,qsc->qc", weights, self.scores), self.mask)

    def fixed(self):
        mask, words = (self.ranks > 0).any(1), self.scores[:, self.experts]
        out = {"RRF": self.measure(np.where(self.ranks > 0, 1 / (60 + np.maximum(self.ranks, 1)), 0).sum(1), mask)}
        return out | {f"{a:g}": self.measure(self.scores[:, 0] + a * words, mask) for a in (0.03, 0.05, 0.1, 0.2)}

    def part(self):
        """The questions and candidates that are fitted on."""
        keep = np.argsort([hash_of(i) for i in range(len(self.ideal))], kind="stable")[:QUESTIONS]
        keep = keep[(self.grades[keep] > 0).any(1)]
        first = np.where(self.grades[keep] > 0, 1e9, np.where(self.mask[keep], self.scores[keep, -1], -1e9))
        order = np.argsort(-first, 1, kind="stable")[:, :CANDIDATES]
        take = lambda a: np.take_along_axis(a[keep], order, 1)
        scores = np.take_along_axis(self.scores[keep], order[:, None], 2)
        return scores, take(self.mask), take(self.grades), self.ideal[keep], self.features[keep], self.asked[keep], self.others[keep]


def shares(features, asked, x):
    z = np.where(asked, features @ x, -1e9)
    e = np.exp(z - z.max(1, keepdims=True)) * asked
    return e / e.sum(1, keepdims=True)


def loss(x, parts, deviation):
    """1 - nDCG@10 with smooth ranks, the domains alike, and a ridge; with its slope."""
    value, slope = 0.0, np.zeros_like(x)
    for scores, mask, grades, ideal, features, asked, others in parts:
        p = shares(features, asked, x / deviation)
        z = SHARPNESS * np.einsum("qs,qsc->qc", np.hstack([p, others]), scores)
        first = np.argsort(-grades, 1, kind="stable")[:, :5]
        of, place = np.nonzero(np.take_along_axis(grades, first, 1) > 0)
        at = first[of, place]
        per = 4 * grades[of, at] / ideal[of] / len(ideal) / len(parts)
        ahead = mask[of] / (1 + np.exp(np.clip(z[of, at][:, None] - z[of], -30, 30)))
        rank = 0.5 + ahead.sum(1)
        inside, log = 1 / (1 + np.exp(np.clip((rank - 11) / 1.5, -30, 30))), np.log2(1.5 + ahead.sum(1))
        value -= (per * inside / log).sum()
        steep = ahead * (1 - ahead) * (per * (inside * (1 - inside) / 1.5 / log + inside / log**2 / ((1 + rank) * np.log(2))))[:, None]
        by_z = np.zeros_like(z)
        np.add.at(by_z, of, steep)
        np.add.at(by_z, (of, at), -steep.sum(1))
        by_share = SHARPNESS * np.einsum("qc,qsc->qs", by_z, scores[:, : p.shape[1]])
        slope += np.einsum("qd,qdf->f", p * (by_share - (p * by_share).sum(1, keepdims=True)), features) / deviation
    return value + RIDGE * (x**2).sum(), slope + 2 * RIDGE * x


def fit(parts):
    of = np.concatenate([features[asked & (features[:, :, 0] > 0)] for *_, features, asked, _ in parts])
    deviation = np.where(of.std(0) > 1e-6, of.std(0), 1)
    return minimize(loss, np.zeros(len(deviation)), (parts, deviation), jac=True, method="L-BFGS-B", options={"maxiter": 80, "ftol": 1e-8}).x / deviation


def main():
    args = argparse.ArgumentParser()
    args.add_argument("evidence", nargs="+")
    args.add_argument("--experts", default=pathlib.Path(__file__).parent / "../../../shipped/calibration.yaml")
    args.add_argument("--table")
    args = args.parse_args()
    gate = yaml.safe_load(pathlib.Path(args.experts).read_text(encoding="utf-8"))["gate"]
    rows = {}
    for path in args.evidence:
        for line in open(path, encoding="utf-8"):
            row = json.loads(line)
            rows.setdefault(row["domain"].removesuffix("-train"), []).append(row)
    domains = [Domain(name, some, gate) for name, some in rows.items()]
    parts = [d.part() for d in domains]
    shipped = np.array([gate["specialist"] - gate["base"], *np.array(gate["dense"])[FEATURES]])
    pair = lambda m: f"{m[0]:.1f} ({m[1]:.1f} / {m[2]:.1f})"
    table, all_rows = [], []
    for i, d in enumerate(domains):
        left_out, own, fixed = d.by(fit(parts[:i] + parts[i + 1 :])), d.by(shipped), d.fixed()
        best = max(fixed.values(), key=lambda m: m[0])
        all_rows.append([*(m[0] for m in fixed.values()), left_out[0], own[0], best[0]])
        table.append([d.name, f"{len(d.ideal):,}", *(f"{m[0]:.1f}" for m in fixed.values()), pair(left_out), pair(own), f"{left_out[0] - best[0]:+.1f}"])
    mean = np.mean(all_rows, 0)
    table.append(["mean", "", *(f"{m:.1f}" for m in mean[:-1]), f"{mean[-3] - max(mean[:-3]):+.1f}"])
    head = ["left out", "questions", *fixed, "gate, left out", "gate, shipped", "ahead of the best"]
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, ["---", *["---:"] * (len(head) - 1)], *table)]
    print("\n".join(lines))
    if args.table:
        pathlib.Path(args.table).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
