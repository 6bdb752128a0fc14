"""What a question costs a cluster: requests by kind, bytes, time, and processor time of the nodes.

    python3 research/bench/store_cost.py URL PID NODE_URL QUESTIONS.jsonl [N] [REQUEST]

URL is a server of conclave in front of the cluster, PID its process on this machine, NODE_URL a node of
the cluster. The server is left alone for ten seconds, and what it does meanwhile is subtracted. Then
the first N questions (default 100) are asked, one at a time, and then once more. REQUEST is JSON that is
added to each. Printed are, a question of the first and of the second time, the server's requests to the
cluster by their operation, the bytes that it read (rchar of /proc/PID/io), the median and the 95th
percentile of the time, and the processor time of all nodes.
"""

import json
import pathlib
import re
import statistics
import sys
import time
import urllib.request

url, pid, node, questions = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4]
n = int(sys.argv[5]) if len(sys.argv) > 5 else 100
more = json.loads(sys.argv[6]) if len(sys.argv) > 6 else {}
asked = [json.loads(line)["question"] for line in pathlib.Path(questions).read_text().splitlines()][:n]


def get(address, body=None):
    request = urllib.request.Request(address, body and json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return answer.read().decode()


def state():
    counts = {"time": time.monotonic()}
    for line in get(url + "/metrics").splitlines():
        if m := re.match(r'conclave_store_request_seconds_count\{.*operation="(\w+)".*\} (\d+)', line):
            counts[m[1]] = counts.get(m[1], 0) + int(m[2])
    counts["bytes"] = int(re.search(r"rchar: (\d+)", pathlib.Path(f"/proc/{pid}/io").read_text())[1])
    nodes = json.loads(get(node + "/_nodes/stats/process"))["nodes"].values()
    counts["node ms"] = sum(x["process"]["cpu"]["total_in_millis"] for x in nodes)
    return counts


def ask(question):
    start = time.monotonic()
    found = json.loads(get(url + "/v1/search", {"question": question, "timeout_ms": 10000} | more))
    if found["degraded"]:
        sys.exit(f"{question!r}: {found['degraded']}")
    return (time.monotonic() - start) * 1000


ask(asked[0])
before = state()
time.sleep(10)
after = state()
idle = {k: (after[k] - before.get(k, 0)) / (after["time"] - before["time"]) for k in after}
for turn in "first time", "second time":
    before = state()
    took = sorted(ask(q) for q in asked)
    after = state()
    seconds = after["time"] - before["time"]
    cost = {k: (after[k] - before.get(k, 0) - idle[k] * seconds) / len(asked) for k in after if k != "time"}
    requests = {k: v for k, v in cost.items() if k not in ("bytes", "node ms") and v > 0.005}
    print(
        f"{turn}: {sum(requests.values()):.2f} requests ("
        + ", ".join(f"{v:.2f} {k}" for k, v in sorted(requests.items(), key=lambda x: -x[1]))
        + f"), {cost['bytes'] / 1000:.0f} kB, {statistics.median(took):.0f} ms (95 %: {took[len(took) * 95 // 100]:.0f}), "
        f"{cost['node ms']:.0f} ms of the nodes' processors"
    )
