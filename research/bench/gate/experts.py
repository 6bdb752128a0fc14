"""Compares ways to weigh experts alone, without words and late interaction.

    python research/bench/gate/experts.py EVIDENCE NAMES

EVIDENCE is of `conclave calibrate --specialists 0 --evidence` over a collection with several experts, NAMES are the
experts in the order of the collection, separated by commas. An oracle that knows the domain asks the expert of its name.
Nothing is fitted; temperatures are tried, each on all questions.
"""

import json
import sys

import numpy as np

rows = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
names = sys.argv[2].split(",")


def measure(weigh):
    """Top-1, top-20 and nDCG@10 in percent of a weighted sum; weigh gives weights by name for a question."""
    out = []
    for r in rows:
        w = weigh(r)
        z = sum(w[n] * np.array(s) for n, s in zip(names, r["scores"]) if w.get(n))
        grades = np.array(r["grades"])[np.argsort(-z, kind="stable")]
        best = np.sort(np.concatenate([r["grades"], r["missed"]]))[::-1][:10]
        gain = lambda g: (g[:10] / np.log2(np.arange(2, 2 + len(g[:10])))).sum()
        out.append([grades[0] > 0, (grades[:20] > 0).any(), gain(grades) / gain(best)])
    return 100 * np.mean(out, 0)


def familiarity(r):
    """Each specialist's familiarity less the highest, and the highest."""
    kinds = r["kinds"][: len(r["dense"])]
    return {n: x[0] for n, x, k in zip(names, r["dense"], kinds) if k == "specialist"}, r["dense"][0][2]


def softmax(logits):
    most = max(logits.values())
    return {n: np.exp(x - most) for n, x in logits.items()}


def shares(temperature, base=None):
    def weigh(r):
        own, _ = familiarity(r)
        w = softmax({n: x / temperature for n, x in own.items()})
        total = sum(w.values())
        w = {n: x / total for n, x in w.items()}
        return w | ({"base": base} if base else {})

    return weigh


def certainties(r, temperature=0.1, depth=30):
    """How sure each source is of its first passage: the softmax over its own first ones (as cce has it)."""
    out = {}
    for name, scores in zip(names, r["scores"]):
        first = np.sort(np.array(scores))[::-1][:depth] / temperature
        out[name] = 1 / np.exp(first - first[0]).sum()
    return out


def sure(temperature, power, others=()):
    """Shares by familiarity times a power of the certainty; others are experts without a domain, at the lowest share."""

    def weigh(r):
        w, c = shares(temperature)(r), certainties(r)
        w = {n: x * c[n] ** power for n, x in w.items()}
        return w | {n: max(w.values()) * share for n, share in others}

    return weigh


def shipped(r):
    own, top = familiarity(r)
    return softmax({n: 1.8138 + (13.679 + 18.02 * top) * x for n, x in own.items()} | {"base": -1.7512})


specialists = [n for n, k in zip(names, rows[0]["kinds"]) if k == "specialist"]
table = {n + " alone": measure(lambda r, n=n: {n: 1}) for n in names}
single = max((n + " alone" for n in specialists), key=lambda n: table[n][0])
table = {"base alone": table.get("base alone"), "best specialist alone: " + single.removesuffix(" alone"): table[single]}
table["plain sum of the specialists"] = measure(lambda r: {n: 1 for n in specialists})
table["oracle: the expert of the question's domain"] = measure(lambda r: {r["domain"]: 1})
table["the most familiar alone"] = measure(lambda r: {max(familiarity(r)[0], key=familiarity(r)[0].get): 1})
for t in (0.02, 0.05, 0.1, 0.2):
    table[f"shares by familiarity, temperature {t:g}"] = measure(shares(t))
for power in (1, 3):
    for t in (0.02, 0.05, 0.1):
        table[f"the same at {t:g}, times the certainty to the power of {power}"] = measure(sure(t, power))
if "desire-me" in names:
    table["at 0.05 with power 1, and desire-me at 0.3 of the highest"] = measure(sure(0.05, 1, [("desire-me", 0.3)]))
    table["at 0.05 with power 1, and desire-me at 0.6 of the highest"] = measure(sure(0.05, 1, [("desire-me", 0.6)]))
table["the same at 0.1, and the base at 0.3"] = measure(shares(0.1, 0.3))
table["the shipped gate's shares"] = measure(shipped)
print("| method | top-1 | top-20 | nDCG@10 |\n| --- | ---: | ---: | ---: |")
for name, found in table.items():
    if found is not None:
        print(f"| {name} | " + " | ".join(f"{x:.1f}" for x in found) + " |")
