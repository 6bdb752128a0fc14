"""Questions a second that servers answer, asked in turns by the same number of clients.

    python3 research/bench/rate.py QUESTIONS.jsonl CLIENTS URL [URL…]

In each of five turns every server is asked for five seconds. Each client asks one random question
after the other. Printed are, of each server, the median of the rates, that of their ratios to the
first server's of the same turn, and the median time of a question.
"""

import http.client
import json
import pathlib
import random
import statistics
import sys
import threading
import time
import urllib.parse

TURNS, SECONDS = 5, 5
questions = [json.loads(line)["question"] for line in pathlib.Path(sys.argv[1]).read_text().splitlines()]
clients, urls = int(sys.argv[2]), sys.argv[3:]


def ask(url, seed, end, took):
    draw = random.Random(seed)
    server = http.client.HTTPConnection(urllib.parse.urlparse(url).netloc)
    while time.monotonic() < end:
        body = json.dumps({"question": draw.choice(questions), "timeout_ms": 10000})
        start = time.monotonic()
        server.request("POST", "/v1/search", body, {"Content-Type": "application/json"})
        answer = server.getresponse()
        found = json.load(answer)
        if answer.status != 200 or found["degraded"]:
            print(f"{url}: status {answer.status}: {found}", file=sys.stderr)
        took.append(time.monotonic() - start)


def turn(url, seed, seconds):
    took, start = [], time.monotonic()
    threads = [threading.Thread(target=ask, args=(url, seed + i, start + seconds, took)) for i in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(took) / (time.monotonic() - start), took


for url in urls:
    turn(url, 0, 2)  # to warm up
rates, times = [[] for _ in urls], [[] for _ in urls]
for n in range(TURNS):
    for i, url in enumerate(urls):
        rate, took = turn(url, 1000 * n, SECONDS)
        rates[i].append(rate)
        times[i] += took
for url, rate, took in zip(urls, rates, times):
    ratios = [one / first for one, first in zip(rate, rates[0])]
    print(
        f"{url}: {statistics.median(rate):.1f} questions a second ({min(rate):.1f} to {max(rate):.1f}), "
        f"{statistics.median(ratios):.2f} of the first ({min(ratios):.2f} to {max(ratios):.2f}), "
        f"median {1000 * statistics.median(took):.0f} ms"
    )
