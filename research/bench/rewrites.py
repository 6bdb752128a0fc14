"""Measures what it is worth that a model makes a question that stands alone of a follow-up (`rewrites: true`).

    python3 research/bench/rewrites.py --url http://127.0.0.1:8080 --reader local \
      --messages shipped/demo/questions/conversations/test.jsonl --alone shipped/demo/questions/conversations/test-alone.jsonl

The server has a generator with `rewrites: true`. Each conversation's turns after the first are asked three times: written
out by a person, as messages, and as messages that the generator rewrites. Printed is of each how often the first passage
is one that answers, and of how many the rewritten question is a person's or the last message as it was. The reader that
marks reads in all three. The answer itself is not looked at: it is one token.
"""
import argparse
import json
import time
import urllib.request


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def ask(url, body):
    request = urllib.request.Request(url + "/v1/search", json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as response:
        return json.load(response)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--url", required=True)
    options.add_argument("--reader", required=True, help="the generator")
    options.add_argument("--messages", required=True)
    options.add_argument("--alone", required=True)
    options.add_argument("--every", type=int, default=1, help="ask one turn of so many")
    given = options.parse_args()
    alone = {row["id"]: row["question"] for row in lines(given.alone)}
    turns = [row for row in lines(given.messages) if len(row["messages"]) > 1][:: given.every]
    right = {"written out": 0, "messages": 0, "rewritten": 0}
    same = as_it_was = failed = 0
    taken = 0.0
    for turn in turns:
        asked = {
            "written out": {"question": alone[turn["id"]], "answer": True},
            "messages": {"messages": turn["messages"], "answer": True},
            "rewritten": {"messages": turn["messages"], "answer": {"reader": given.reader, "max_tokens": 1}},
        }
        good = {}
        for name, body in asked.items():
            began = time.monotonic()
            answer = ask(given.url, body)
            good[name] = bool(answer["results"]) and answer["results"][0]["id"] in turn["positive_ids"]
            right[name] += good[name]
        taken += time.monotonic() - began
        dropped = any("stands alone" in missing["reason"] for missing in answer.get("degraded") or [])
        failed += dropped
        made = answer.get("asked") or turn["messages"][-1]["content"]
        same += made.lower() == alone[turn["id"]].lower()
        as_it_was += made == turn["messages"][-1]["content"]
        told = {"last": turn["messages"][-1]["content"], "made": made, "alone": alone[turn["id"]], "left out": dropped}
        print(json.dumps({**told, "right": good}), flush=True)
    for name, n in right.items():
        print(f"{name}: the first passage answers {n} of {len(turns)} ({100 * n / len(turns):.1f} %)")
    print(f"made as a person does: {same}, left as it was: {as_it_was}, failed: {failed}; {taken / len(turns):.1f} s a turn")


main()
