"""Asks questions as people phrase them, and prints how often the first passage is right and the verdict not `found`.

    python3 research/bench/phrasings.py --url http://127.0.0.1:8080 --questions shipped/demo/questions/documents/test.jsonl

The questions are asked as they are, with polite words, as dictated, in small and in capital letters, with two words run
together, with the longest word split, as a sentence, and inside a mail.
"""
import argparse
import json
import re
import urllib.request

HEADS = (
    "Hi team,\n\nhope you are all doing well after the long weekend. We had quite some rain here.\n\n",
    "Dear Sir or Madam,\n\nI have been a customer of yours since 2014. My order number is 88123.\n\n",
    "Hello Anna,\n\nthanks for the quick call yesterday. As promised I am writing down what we talked about.\n\n",
)
TAILS = (
    "\n\nIf you need anything else from me, just let me know.\n\nBest regards\nPeter Lindgren\nTel. +47 555 1234",
    "\n\nI am looking forward to hearing from you.\n\nKind regards,\nMs M. Okafor\n\nSent from my phone",
    "\n\nBy the way, the photos of the trip are on the drive now.\n\nCheers\nTom",
)


def small(q):
    return re.sub(r"[?.,!']", "", q.lower())


def run_together(q):
    words = small(q).split()
    at = len(words) // 2
    return " ".join(words[: at - 1] + [words[at - 1] + words[at]] + words[at + 1 :]) if len(words) > 2 else small(q)


def split(q):
    words = small(q).split()
    at = max(range(len(words)), key=lambda i: len(words[i]))
    half = len(words[at]) // 2
    return " ".join(words[:at] + [words[at][:half], words[at][half:]] + words[at + 1 :])


def phrasings(q, n):
    lower = q[0].lower() + q[1:]
    return {
        "as it is": q,
        "polite": f"hello, could you please be so kind and tell me {lower} thank you very much!",
        "dictated": "uh so um " + small(q),
        "small letters": small(q),
        "capital letters": q.upper(),
        "two words run together": run_together(q),
        "the longest word split": split(q),
        "as a sentence": "I need to know this for my boss: " + q.rstrip("?"),
        "in a mail": HEADS[n % 3] + q + TAILS[n // 3 % 3],
    }


def search(url, question):
    body = json.dumps({"question": question, "k": 1, "fields": []}).encode()
    request = urllib.request.Request(url + "/v1/search", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--questions", required=True)
    options = parser.parse_args()
    with open(options.questions) as file:
        questions = [json.loads(line) for line in file]
    right, doubted = {}, {}
    for n, q in enumerate(questions):
        for name, text in phrasings(q["question"], n).items():
            got = search(options.url, text)
            first = got["results"][0]["id"] if got["results"] else ""
            right[name] = right.get(name, 0) + (first in q["positive_ids"])
            doubted[name] = doubted.get(name, 0) + (got["verdict"] != "found")
    for name, n in right.items():
        print(f"{name:24} right {100 * n / len(questions):5.1f} doubted {100 * doubted[name] / len(questions):5.1f}")


if __name__ == "__main__":
    main()
