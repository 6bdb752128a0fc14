"""Measures what `exact` of the shipped gate changes.

    python research/bench/gate/exact.py EVIDENCE...

EVIDENCE are files of `conclave calibrate --evidence`, one a collection. The table has the
nDCG@10 of the weights in shipped/calibration.yaml without and with `exact`, and the share
of questions that have such a word. Nothing is fitted.
"""

import pathlib
import re
import sys

import fit
import numpy as np

text = (pathlib.Path(__file__).parents[3] / "shipped/calibration.yaml").read_text(encoding="utf-8")
block = text.split("\ngate:\n")[1].split("\ngate_without_late:\n")[0]
number = lambda key: float(re.search(rf"(?m)^  {key}: (.*)$", block)[1])
numbers = lambda key: np.array([float(x) for x in re.search(rf"(?m)^  {key}:\n((?:    - .*\n?)+)", block)[1].replace("    - ", "").split()])


def ndcg(domain, exact):
    words = np.exp(number("words") + domain.lexical @ numbers("lexical")[list(fit.LEXICAL.values())] + exact * domain.exact)
    late = np.exp(number("tokens") + domain.late @ numbers("late")[list(fit.LATE.values())])
    weights = np.stack([np.ones(len(words)), words, words * number("phrases"), late], 1)
    return domain.ndcg(np.einsum("qs,qsc->qc", weights, domain.scores))


print("| domain | questions | with such a word | without `exact` | with |\n| --- | ---: | ---: | ---: | ---: |")
for path in sys.argv[1:]:
    d = fit.Domain(path)
    print(f"| {d.name} | {len(d.ideal):,} | {100 * np.mean(d.exact > 0):.1f} % | {ndcg(d, 0):.2f} | {ndcg(d, number('exact')):.2f} |", flush=True)
