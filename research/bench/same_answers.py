"""Whether two servers give the same answers: a collection and the store it was exported to.

    python3 research/bench/same_answers.py URL OTHER_URL QUESTIONS.jsonl [N] [REQUEST]

Both are asked the first N questions (default 1,000), one at a time and in turns. REQUEST is
JSON that is added to each search, such as '{"experts": []}' for words alone. Printed are
how many questions have the same first ten passages, and of the others how many have the same
ones among the first twenty and how far apart the first two that changed places are; for how
many each has those that the first one finds by exact search, the largest difference of a
source's contribution, for how many passages BM25's scores are equal to the last bit, by what
share the others differ at most, by how much the confidences differ, and the times.
"""

import json
import pathlib
import statistics
import sys
import urllib.request


def ask(url, question, **special):
    body = {"question": question, "k": 20, "timeout_ms": 10000} | more | special
    request = urllib.request.Request(url + "/v1/search", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        found = json.load(answer)
    if found["degraded"]:
        sys.exit(f"{url}: {question!r}: {found['degraded']}")
    return found


def ids(found):
    return [r["id"] for r in found["results"]][:10]


def contributions(found):
    return {(r["id"], c["source"]): c for r in found["results"][:10] for c in r["contributions"]}


def swapped(one, other):
    """How far apart in the first answer the first two passages are that are at one place; None where an answer lacks a passage of the other's ten."""
    scores, there = ({r["id"]: r["score"] for r in found["results"]} for found in (one, other))
    if not scores.keys() >= set(ids(other)) or not there.keys() >= set(ids(one)):
        return None
    return next(abs(scores[a] - scores[b]) for a, b in zip(ids(one), ids(other)) if a != b)


urls, lines = sys.argv[1:3], pathlib.Path(sys.argv[3]).read_text().splitlines()
most = int(sys.argv[4]) if len(sys.argv) > 4 else 1000
more = json.loads(sys.argv[5]) if len(sys.argv) > 5 else {}
same, gaps, exact, largest, scored, equal, apart, took = 0, [], [0, 0], {}, 0, 0, 0, ([], [])
confidences = []
for line in lines[:most]:
    one, other = (ask(url, json.loads(line)["question"]) for url in urls)
    if ids(one) == ids(other):
        same += 1
    else:
        gaps.append(swapped(one, other))
    if None not in (sure := [found.get("confidence") for found in (one, other)]):
        confidences.append(sure)
    right = ids(ask(urls[0], json.loads(line)["question"], exact=True))
    exact = [n + (ids(found) == right) for n, found in zip(exact, (one, other))]
    there = contributions(other)
    for key, c in contributions(one).items():
        if key not in there:
            continue
        difference = abs(c["contribution"] - there[key]["contribution"])
        largest[key[1]] = max(largest.get(key[1], 0), difference)
        if key[1] in ("bm25", "phrases", "near"):
            scored += 1
            score, other_score = c.get("score") or 0, there[key].get("score") or 0
            equal += score == other_score
            apart = max(apart, abs(score - other_score) / max(score, other_score, 1e-9))
    for times, found in zip(took, (one, other)):
        times.append(found["took_ms"])
print(f"{same} of {len(lines[:most])} questions: the same first ten passages, in the same order")
if near := [gap for gap in gaps if gap is not None]:
    print(f"{len(near)} of the other {len(gaps)} have them in another order, which scores {statistics.median(near):.1e} apart decide, {max(near):.1e} at most")
print("the same as by exact search:", " and ".join(map(str, exact)))
print("largest difference of a contribution:", ", ".join(f"{name} {x:.1e}" for name, x in sorted(largest.items())))
print(f"scores of BM25 that are equal to the last bit: {equal} of {scored}; the others differ by up to {apart:.2%}")
if differences := sorted(abs(a - b) for a, b in confidences):
    sides = sum((a < 0.2) != (b < 0.2) for a, b in confidences)
    print(
        f"confidences differ by {statistics.median(differences):.1e} at the median, {differences[-1]:.1e} at most; "
        f"{sides} of {len(confidences)} are below 0.2 on one side alone"
    )
print("median milliseconds:", ", ".join(f"{statistics.median(t):.1f}" for t in took))
