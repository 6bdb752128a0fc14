"""Fits the weights of words and of late interaction beside the encoder for many languages.

    python3 research/bench/languages/weights.py EVIDENCE... [--gate shipped/calibration.yaml]

EVIDENCE are files of `conclave calibrate --evidence`, one a collection that `multilingual` and `multilingual-late`
encode, named LANGUAGE.half.jsonl. Printed are right first and nDCG@10 of each on a grid of foreign_words and of a factor
of late interaction's weight, by the shipped gate's other numbers, and the pair whose mean nDCG@10 over those named dev is
highest.
"""

import argparse
import json
import math
import pathlib
import re

WORDS = (0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1)
TOKENS = (0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5)


def section(text, name):
    """The numbers of a section of the calibration, by their names; lists as lists."""
    out, last = {}, ""
    body = re.search(rf"^{name}:\n((?:  .*\n)+)", text, re.M).group(1)
    for line in body.splitlines():
        if line.startswith("    - "):
            out[last].append(float(line[6:]))
        else:
            last, value = line.strip().split(":")
            out[last] = float(value) if value.strip() else []
    return out


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def rank_of(row, gate, words, tokens):
    """(right first, nDCG@10) of one question."""
    at = {kind: i for i, kind in enumerate(row["kinds"])}
    dense = next(i for kind, i in at.items() if kind in ("base", "generalist"))
    w = words * math.exp(
        gate["words"] + dot(gate["lexical"], row["lexical"]) + gate["exact"] * row["exact"] + gate["symbols"] * row["symbols"]
    )
    prose = 1 - min(row["symbols"], 1)
    weights = {dense: gate["spread"] / row["spread"][dense], at["lexical"]: w * (1 - (1 - gate["beside_near"]) * prose)}
    if "phrases" in at:
        weights[at["phrases"]] = w * gate["phrases"]
    if "near" in at:
        weights[at["near"]] = w * gate["near"] * prose
    if "late" in at:
        weights[at["late"]] = tokens * math.exp(gate["tokens"] + dot(gate["late"], row["late"]))
    fused = [sum(x * row["scores"][i][c] for i, x in weights.items()) for c in range(len(row["grades"]))]
    order = sorted(range(len(fused)), key=lambda c: -fused[c])[:10]
    ideal = sorted(row["grades"] + row["missed"], reverse=True)[:10]
    gain = lambda grades: sum(g / math.log2(i + 2) for i, g in enumerate(grades))
    return row["grades"][order[0]] > 0, gain([row["grades"][c] for c in order]) / gain(ideal)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("evidence", nargs="+", type=pathlib.Path)
    parser.add_argument("--gate", type=pathlib.Path, default=pathlib.Path("shipped/calibration.yaml"))
    args = parser.parse_args()
    gate = section(args.gate.read_text(), "gate")
    sets = {p.name.removesuffix(".jsonl"): [json.loads(line) for line in p.open()] for p in args.evidence}
    table = {}
    for words in WORDS:
        for tokens in TOKENS:
            for name, rows in sets.items():
                found = [rank_of(row, gate, words, tokens) for row in rows]
                table[words, tokens, name] = [100 * sum(x) / len(found) for x in zip(*found, strict=True)]
    names = sorted(sets)
    print("| words | tokens | " + " | ".join(names) + " | mean of dev |")
    print("| ---: | ---: |" + " ---: |" * (len(names) + 1))
    dev = [name for name in names if ".dev" in name] or names
    mean = lambda words, tokens, i: sum(table[words, tokens, n][i] for n in dev) / len(dev)
    for words in WORDS:
        for tokens in TOKENS:
            cells = [f"{first:.1f} / {ndcg:.1f}" for first, ndcg in (table[words, tokens, n] for n in names)]
            cells.append(f"{mean(words, tokens, 0):.1f} / {mean(words, tokens, 1):.1f}")
            print(f"| {words} | {tokens} | " + " | ".join(cells) + " |")
    best = max(((w, t) for w in WORDS for t in TOKENS), key=lambda pair: mean(*pair, 1))
    print(f"best on dev: foreign_words {best[0]}, late interaction times {best[1]}")


main()
