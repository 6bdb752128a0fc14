"""Says how often a question about something else is found where it is asked after one that the collection answers.

    python3 research/bench/switched.py --url http://127.0.0.1:8080 --before shipped/demo/questions/test.jsonl \
      --elsewhere shipped/demo/questions/elsewhere.jsonl --messages shipped/demo/questions/conversations/test.jsonl

The server has the collection and the reader that marks. Printed are the verdicts of the questions of --elsewhere, each
alone and behind one of --before, and those of the later turns of the conversations, which the collection answers.
"""
import argparse
import collections
import json
import urllib.request


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def verdict(url, body):
    request = urllib.request.Request(
        url + "/v1/search", json.dumps({**body, "answer": True}).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)["verdict"]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--url", "--before", "--elsewhere", "--messages"):
        options.add_argument(name, required=True)
    given = options.parse_args()
    said = collections.defaultdict(collections.Counter)
    before = lines(given.before)
    for i, row in enumerate(lines(given.elsewhere)):
        said["elsewhere, alone"][verdict(given.url, {"question": row["question"]})] += 1
        talk = [before[3 * i % len(before)]["question"], row["question"]]
        messages = [{"role": "user", "content": text} for text in talk]
        said["elsewhere, after one that is answered"][verdict(given.url, {"messages": messages})] += 1
    for row in lines(given.messages):
        if len(row["messages"]) > 1:
            said["later turns"][verdict(given.url, {"messages": row["messages"]})] += 1
    for name, counts in said.items():
        print(f"{name}: {dict(counts)}")


if __name__ == "__main__":
    main()
