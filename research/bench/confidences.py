"""Measures the confidence and the verdict that a server says of the questions of a file, of which some have no answer.

    python3 research/bench/confidences.py --url http://127.0.0.1:8080 --questions questions.de.jsonl --half test \
        --foreign foreign.de.jsonl

The calibration error (ECE) and AUROC are of whether the first passage answers, over all questions; a foreign one has no
passage that does.
"""
import argparse
import json
import urllib.request


def ask(url, question):
    body = {"question": question, "timeout_ms": 4000}
    request = urllib.request.Request(url + "/v1/search", json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as response:
        return json.load(response)


def read(path, half):
    with open(path, encoding="utf-8") as file:
        return [q for q in map(json.loads, file) if not half or q.get("half", half) == half]


def calibration_error(pairs, bins=10):
    total = 0.0
    for b in range(bins):
        chosen = [(c, right) for c, right in pairs if min(int(c * bins), bins - 1) == b]
        if chosen:
            total += abs(sum(c for c, _ in chosen) - sum(right for _, right in chosen))
    return total / len(pairs)


def auroc(pairs):
    right = [c for c, ok in pairs if ok]
    wrong = [c for c, ok in pairs if not ok]
    return sum((a > b) + (a == b) / 2 for a in right for b in wrong) / (len(right) * len(wrong))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--url", required=True)
    options.add_argument("--questions", required=True)
    options.add_argument("--foreign", required=True)
    options.add_argument("--half", default="")
    given = options.parse_args()
    pairs, shares = [], []
    for path in given.questions, given.foreign:
        asked = read(path, given.half)
        found = 0
        for q in asked:
            answer = ask(given.url, q["question"])
            first = [r["id"] for r in answer["results"][:1]]
            if answer.get("confidence") is not None:
                pairs.append((answer["confidence"], bool(set(first) & set(q["positive_ids"]))))
            found += answer.get("verdict") == "found"
        shares.append(f"{100 - 100 * found / len(asked):.1f} % of {len(asked)}")
    figures = f"ECE {calibration_error(pairs):.3f}, AUROC {auroc(pairs):.3f}" if pairs else "no confidence"
    print(f"doubted {shares[0]}, foreign not found {shares[1]}; {figures}")


if __name__ == "__main__":
    main()
