"""How often the passage that conclave finds for a question and its answers is the marked one.

    python research/bench/reader/found_labels.py --data DATA/policy --collection policy [--data … --collection …]

Each collection holds the passages of the data beside it. Without a judge: the first passage found that holds
an answer. It needs the package of training/ and the program conclave.
"""

import argparse
import dataclasses
import tempfile
from pathlib import Path

from conclave_train.data.load import load
from conclave_train.feedback.holders import Holders
from conclave_train.finding.hits import DEPTH
from conclave_train.finding.labels import label
from conclave_train.finding.program import Collection, Program
from conclave_train.settings import EndToEndSettings

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--data", type=Path, action="append", required=True)
parser.add_argument("--collection", type=Path, action="append", required=True)
parser.add_argument("--conclave", default="conclave")
parser.add_argument("--limit", type=int, default=2000, help="the first so many questions with answers")
options = parser.parse_args()
s = EndToEndSettings()
print("| data | questions | with a passage | marked | in several | of these marked |\n| --- " + "| ---: " * 5 + "|")
for data, collection in zip(options.data, options.collection, strict=True):
    domain = load(data)
    domain = dataclasses.replace(domain, questions=[q for q in domain.questions if q.answers][: options.limit])
    with tempfile.TemporaryDirectory() as work:
        finder = Collection(Program(options.conclave), collection, Path(work), Path())
        rankings = finder.rankings([q.text for q in domain.questions], DEPTH)
    holders = Holders(domain.passages, s.most_common)
    got = label(domain, rankings, holders, s.hits, 1)
    marked = {q.id: q.positives for q in domain.questions}
    right = [q is not None and q.positives[0] in marked[q.id] for q in got.questions]
    several = [
        sum(hit.id in domain.index and domain.index[hit.id] in held for hit in ranking[: s.hits]) > 1
        for ranking, held in ((r, set(holders(q.answers))) for r, q in zip(rankings, domain.questions, strict=True))
    ]
    both = sum(a and b for a, b in zip(several, right, strict=True))
    print(
        f"| {domain.name} | {got.asked:,} | {got.count:,} | {100 * sum(right) / got.count:.1f} % "
        f"| {got.ambiguous:,} | {100 * both / max(1, got.ambiguous):.1f} % |"
    )
