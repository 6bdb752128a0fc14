"""Measures what a generator's answers are worth, by a server that has one.

    python3 research/bench/written.py --url http://127.0.0.1:8080 --reader local \
      --answered shipped/demo/questions/dev.jsonl --unanswered shipped/demo/questions/elsewhere.jsonl --each 20

It asks every n-th question of each file, so that there are --each of them, and prints: of the questions that
the collection answers, how many got an answer, the share of its sentences that cite a passage and that the
passages which they cite support, and of those that it does not answer the share that was refused: by the
verdict, without a call, or by the model.
"""
import argparse
import json
import time
import urllib.request


def questions(path, most):
    with open(path, encoding="utf-8") as lines:
        everything = [json.loads(line)["question"] for line in lines if line.strip()]
    return everything[:: max(len(everything) // most, 1)][:most]


def ask(url, reader, question):
    body = json.dumps({"question": question, "answer": {"reader": reader}}).encode()
    request = urllib.request.Request(url + "/v1/search", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as response:
        return json.load(response)


def measure(url, reader, asked):
    counts = dict.fromkeys(["asked", "verdict", "refused", "failed", "written", "whole", "sentences", "cited", "supported",
                            "all_supported"], 0)
    for question in asked:
        answer = ask(url, reader, question)
        generated = answer.get("generated")
        counts["asked"] += 1
        if answer.get("verdict") == "not_found":
            counts["verdict"] += 1
        elif generated is None:
            counts["failed"] += 1
        elif generated.get("refused"):
            counts["refused"] += 1
        else:
            sentences = generated.get("sentences", []) + generated.get("dropped", [])
            counts["written"] += 1
            counts["whole"] += generated["complete"]
            counts["sentences"] += len(sentences)
            counts["cited"] += sum(bool(s["citations"]) for s in sentences)
            counts["supported"] += sum(s["supported"] for s in sentences)
            counts["all_supported"] += bool(sentences) and all(s["supported"] for s in sentences)
    return counts


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--url", required=True)
    options.add_argument("--reader", required=True)
    options.add_argument("--answered", required=True)
    options.add_argument("--unanswered", required=True)
    options.add_argument("--each", type=int, default=20)
    given = options.parse_args()
    for name in ("answered", "unanswered"):
        began = time.monotonic()
        counts = measure(given.url, given.reader, questions(getattr(given, name), given.each))
        print(name, json.dumps(counts), f"{(time.monotonic() - began) / counts['asked']:.1f} s a question", flush=True)
        if name == "unanswered":
            print(f"refused rightly: {counts['verdict'] + counts['refused']} of {counts['asked']}")
        elif counts["sentences"]:
            print(f"sentences supported by what they cite: {counts['supported']} of {counts['sentences']}")


main()
