"""What questions of several lengths cost a cluster, in processor time of its nodes.

    python3 research/bench/long_questions.py URL NODE_URL PASSAGES.jsonl LENGTHS [N] [SEED]

URL is a server of conclave in front of the cluster, NODE_URL a node. For each of LENGTHS (such as 8,100,400) it asks N
questions (default 6) of so many words, put together from the texts of passages drawn by SEED, and prints the
processor time of all nodes for each, and the median and the longest time. Where something was degraded it says so.
"""

import json
import pathlib
import random
import statistics
import sys
import time
import urllib.request

url, node, passages, lengths = sys.argv[1:5]
n = int(sys.argv[5]) if len(sys.argv) > 5 else 6
drawn = random.Random(int(sys.argv[6]) if len(sys.argv) > 6 else 1)
texts = [json.loads(line)["text"] for line in pathlib.Path(passages).read_text().splitlines()]


def get(address, body=None):
    request = urllib.request.Request(address, body and json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def processor():
    time.sleep(1.5)  # nodes look at their processes once a second
    nodes = get(node + "/_nodes/stats/process")["nodes"].values()
    return sum(x["process"]["cpu"]["total_in_millis"] for x in nodes)


for length in map(int, lengths.split(",")):
    before, took, degraded = processor(), [], 0
    for _ in range(n):
        words = []
        while len(words) < length:
            words += drawn.choice(texts).split()
        start = time.monotonic()
        answer = get(url + "/v1/search", {"question": " ".join(words[:length]), "timeout_ms": 10000})
        took.append(time.monotonic() - start)
        degraded += bool(answer["degraded"])
    each = (processor() - before) / n
    print(f"{length} words: {each:.0f} ms of the nodes, median {statistics.median(took):.2f} s, "
          f"longest {max(took):.2f} s, {degraded} degraded", flush=True)
