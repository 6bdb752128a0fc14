"""Counts the verdicts that a server says of the questions of a file, without a reader and, with --reader, with one.

    python3 research/bench/verdicts.py --url http://127.0.0.1:8080 --questions nfcorpus.dev.jsonl --reader
"""
import argparse
import collections
import json
import urllib.request


def verdict(url, body):
    request = urllib.request.Request(url + "/v1/search", json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as response:
        return json.load(response).get("verdict", "none")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--url", required=True)
    options.add_argument("--questions", required=True)
    options.add_argument("--reader", action="store_true")
    given = options.parse_args()
    with open(given.questions, encoding="utf-8") as file:
        questions = [json.loads(line)["question"] for line in file if line.strip()]
    for reader in [False, True][: 1 + given.reader]:
        more = {"answer": True} if reader else {}
        counts = collections.Counter(
            verdict(given.url, {"question": question, "timeout_ms": 4000, **more}) for question in questions
        )
        shares = {name: f"{100 * n / len(questions):.1f} %" for name, n in counts.most_common()}
        print(f"{'with a reader' if reader else 'without'}: {len(questions)} questions, {shares}")


if __name__ == "__main__":
    main()
