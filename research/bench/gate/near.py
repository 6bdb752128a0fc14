"""Fits the weight of nearness, and that of words beside it, and measures both on domains that are left out.

    python research/bench/gate/near.py EVIDENCE... [--control EVIDENCE...] [--experts shipped/calibration.yaml]

EVIDENCE are files of `conclave calibrate --evidence`, one a collection, named for it; those of --control were made with
a window that is longer than any passage (bm25.NearWindow). All other numbers of the gate stay as they are. The table
has nDCG@10 without nearness; what the two best numbers for all *other* domains change (left out); what those in the
file of --experts change, with p by paired randomisation; and the same by the control's evidence. A domain that late
interaction was trained on counts 0.15 in the gate with late interaction, as in fit.py.

--linear also fits a weight of nearness that is an exponential of the features of words, and measures it the same way.
"""

import argparse
import pathlib

import numpy as np
from fit import LATE, LEXICAL, SHARPNESS, TRAINED, TRAINED_COUNTS, Domain, Shipped
from scipy.optimize import minimize

BESIDE = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3)  # what words are multiplied by
NEAR = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0)  # of the weight of words
RANDOMISATIONS = 10_000


class NearDomain(Domain):
    """A domain with the parts of a gate's sum."""

    def weigh(self, gate):
        """Sets what words and nearness add at the weight 1, and all else."""
        lexical = self.lexical.copy()
        if not gate.with_late:
            lexical[:, list(LEXICAL).index("height_of_late")] = 0
        given = gate.number("exact") * self.exact + gate.number("symbols") * self.symbols
        words = np.exp(gate.number("words") + lexical @ gate.numbers("lexical")[list(LEXICAL.values())] + given)[:, None]
        self.rest = self.scores[:, 0] + words * gate.number("phrases") * self.scores[:, 2]
        if gate.with_late:
            late = np.exp(gate.number("tokens") + self.late @ gate.numbers("late")[list(LATE.values())])
            self.rest = self.rest + late[:, None] * self.scores[:, 3]
        self.prose = 1 - np.minimum(self.symbols, 1)[:, None]  # as fusion.Gate has it
        self.words, self.nearness, self.features = words * self.scores[:, 1], words * self.prose * self.near, lexical
        self.hits = self.mask if gate.with_late else self.mask & (self.ranks[:, :3] > 0).any(1)
        self.known = {}

    def fused(self, beside, near):
        """near is a number, or one for each question."""
        return self.rest + self.words * (1 - (1 - beside) * self.prose) + np.reshape(near, (-1, 1)) * self.nearness

    def each(self, beside, near):
        """nDCG@10 of each question in percent."""
        key = (beside, near) if np.isscalar(near) else None
        if key is None or key not in self.known:
            order = np.argsort(-np.where(self.hits, self.fused(beside, near), -1e9), axis=1, kind="stable")[:, :10]
            gains = np.take_along_axis(np.where(self.hits, self.grades, 0), order, 1)
            found = 100 * (gains / np.log2(np.arange(2, 2 + gains.shape[1]))).sum(1) / self.ideal
            if key is None:
                return found
            self.known[key] = found
        return self.known[key]

    def loss(self, beside, near):
        """1 - nDCG@10 with smooth ranks, as fit.py has it."""
        question, answer = np.nonzero((self.grades > 0) & self.hits)
        z = SHARPNESS * np.where(self.hits, self.fused(beside, near), -1e3)
        ahead = 1 / (1 + np.exp(np.clip(z[question, answer][:, None] - z[question], -30, 30)))
        rank = 0.5 + ahead.sum(1)
        inside = 1 / (1 + np.exp(np.clip((rank - 11) / 1.5, -30, 30)))
        gains = self.grades[question, answer] / self.ideal[question] * inside / np.log2(1 + rank)
        return 1 - gains.sum() / len(self.ideal)


def p_value(differences):
    """Of a paired randomisation of signs."""
    signs = np.random.default_rng(1).choice([-1.0, 1.0], (RANDOMISATIONS, len(differences)))
    return (1 + (np.abs(signs @ differences) >= abs(differences.sum()) - 1e-9).sum()) / (1 + RANDOMISATIONS)


def best(domains, counts):
    """The two numbers with the highest weighted mean of nDCG@10; the smaller weight of nearness of equals."""
    def mean(pair):
        return sum(c * d.each(*pair).mean() for d, c in zip(domains, counts))
    return max(((b, n) for n in NEAR for b in BESIDE if n or b == 1), key=mean)


def linear(domains, counts, start):
    """Words' factor, and the coefficients of the logarithm of nearness's weight: intercept and features."""
    mean = np.concatenate([d.features for d in domains]).mean(0)

    def loss(x):
        return sum(c * d.loss(np.exp(x[0]), np.exp(x[1] + (d.features - mean) @ x[2:])) for d, c in zip(domains, counts)) / sum(
            counts) + 0.002 * (x[2:] ** 2).sum()

    x0 = np.concatenate([np.log([start[0], max(start[1], 0.1)]), np.zeros(len(mean))])
    x = minimize(loss, x0, method="L-BFGS-B", options={"maxiter": 25}).x
    return lambda d: (float(np.exp(x[0])), np.exp(x[1] + (d.features - mean) @ x[2:])), x


def main():
    args = argparse.ArgumentParser()
    args.add_argument("evidence", nargs="+")
    args.add_argument("--control", nargs="*", default=[])
    args.add_argument("--linear", action="store_true")
    args.add_argument("--experts", default=str(pathlib.Path(__file__).parents[3] / "shipped/calibration.yaml"))
    args = args.parse_args()
    domains = [NearDomain(path) for path in args.evidence]
    controls = {d.name: d for d in map(NearDomain, args.control)}
    for name, late in (("gate", True), ("gate_without_late", False)):
        gate = Shipped(args.experts, name)
        for d in [*domains, *controls.values()]:
            d.weigh(gate)
        shipped = (gate.number("beside_near") or 1.0, gate.number("near"))
        counts = [TRAINED_COUNTS if late and d.name in TRAINED else 1.0 for d in domains]
        print(f"{name.replace('_', ' ')}: all domains' best is words x {{:g}}, nearness {{:g}}; shipped are {{:g}} and {{:g}}.\n".format(
            *best(domains, counts), *shipped))
        columns = ["domain", "questions", "without", "left out", "shipped", "p", *["control"] * bool(controls), *["linear"] * args.linear]
        print("| " + " | ".join(columns) + " |\n| --- |" + " ---: |" * (len(columns) - 1))
        rows = []
        for i, d in enumerate(domains):
            others = [o for o in domains if o is not d], [c for o, c in zip(domains, counts) if o is not d]
            without, pair = d.each(1.0, 0.0), best(*others)
            row = [without.mean(), d.each(*pair).mean() - without.mean(), (d.each(*shipped) - without).mean(),
                   p_value(d.each(*shipped) - without)]
            if controls:
                of = controls.get(d.name)
                row.append((of.each(*shipped) - of.each(1.0, 0.0)).mean() if of else np.nan)
            if args.linear:
                row.append(d.each(*linear(*others, pair)[0](d)).mean() - without.mean())
            rows.append(row)
            print(f"| {d.name} | {len(d.ideal)} | {row[0]:.1f} | {row[1]:+.1f} | {row[2]:+.1f} | {row[3]:.3f} |"
                  + "".join(f" {x:+.1f} |" for x in row[4:]))
        mean = np.nanmean(np.array(rows), 0)
        print(f"| mean |  | {mean[0]:.2f} | {mean[1]:+.2f} | {mean[2]:+.2f} |  |" + "".join(f" {x:+.2f} |" for x in mean[4:]))
        if late:
            rest = np.nanmean(np.array([r for r, d in zip(rows, domains) if d.name not in TRAINED]), 0)
            print(f"| mean of those that nothing was trained on |  | {rest[0]:.2f} | {rest[1]:+.2f} | {rest[2]:+.2f} |  |"
                  + "".join(f" {x:+.2f} |" for x in rest[4:]))
        print()


if __name__ == "__main__":
    main()
