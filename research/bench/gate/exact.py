"""Measures what `exact` and `symbols` of the shipped gate change.

    python research/bench/gate/exact.py EVIDENCE...

EVIDENCE are files of `conclave calibrate --evidence`, one a collection. The table has the
nDCG@10 of the weights in shipped/calibration.yaml without each and with both, the share
of questions that have an exact word, and how far the texts are symbols. Nothing is fitted.
"""

import pathlib
import sys

import fit
import numpy as np

shipped = fit.Shipped(pathlib.Path(__file__).parents[3] / "shipped/calibration.yaml", "gate")
print("| domain | questions | with an exact word | symbols | without `exact` | without `symbols` | with both |\n| --- |" + " ---: |" * 6)
for path in sys.argv[1:]:
    d = fit.Domain(path)
    cells = [d.ndcg(shipped.answer(d, **without)) for without in ({"exact": False}, {"symbols": False}, {})]
    print(
        f"| {d.name} | {len(d.ideal):,} | {100 * np.mean(d.exact > 0):.1f} % | {d.symbols.mean():.2f} | " + " | ".join(f"{c:.2f}" for c in cells) + " |",
        flush=True,
    )
