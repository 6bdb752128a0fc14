"""What drawing a sample of passages costs a cluster, by keys and by a scan, in indexes of two sizes.

    python3 research/bench/sample_cost.py http://127.0.0.1:9200 [N]

Makes two indexes of N (default 50,000) and 10 N documents that have an id and a key alone, in three
shards, prints how long the cluster takes for the 128 lowest keys as conclave asks for them, and for
128 at random as it did before, median and least of 25, and removes the indexes.
"""

import json
import random
import statistics
import sys
import urllib.request

NODE, SIZE = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 50_000


def ask(method, path, body=None, kind="application/json"):
    request = urllib.request.Request(NODE + path, body and body.encode(), {"Content-Type": kind}, method=method)
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


def fill(index, n):
    fields = {"id": {"type": "keyword"}, "key": {"type": "long"}}
    settings = {"number_of_shards": 3, "number_of_replicas": 0, "refresh_interval": "-1"}
    ask("PUT", f"/{index}", json.dumps({"settings": settings, "mappings": {"properties": fields}}))
    for begin in range(0, n, 10_000):
        lines = [
            line
            for i in range(begin, min(begin + 10_000, n))
            for line in ({"index": {"_id": f"p{i}"}}, {"id": f"p{i}", "key": random.getrandbits(32)})
        ]
        ask("POST", f"/{index}/_bulk", "\n".join(map(json.dumps, lines)) + "\n", "application/x-ndjson")
    ask("POST", f"/{index}/_refresh")


random.seed(1)
for n in (SIZE, 10 * SIZE):
    index = f"sample-cost-{n}"
    fill(index, n)
    near = {"query": {"range": {"key": {"lt": 2**32 // n * 512}}}, "sort": [{"key": "asc"}, {"id": "asc"}]}
    scan = {"query": {"function_score": {"random_score": {"seed": 13, "field": "id"}, "boost_mode": "replace"}}}
    for name, query in (("lowest keys", near), ("random score", scan)):
        body = json.dumps(query | {"size": 128, "_source": False, "track_total_hits": False})
        took = [ask("POST", f"/{index}/_search?request_cache=false", body)["took"] for _ in range(25)]
        print(f"{n} passages, {name}: {statistics.median(took):.0f} ms, {min(took)} at least")
    ask("DELETE", f"/{index}")
