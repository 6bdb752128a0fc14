"""What a large collection costs to serve: whole answers beside one pass of the encoder, filters, writing, and start.

    python3 research/bench/million/measure.py --program bin/conclave --collection NEW --questions FILE.jsonl[.gz] ... \
      [--joined COLLECTION] [--each 200] [--json FILE]

NEW is what `go run ./research/bench/million` made. Each question is asked once, in one of the ways below in turn, so that
nothing of it is at hand. Of each way the median and the 99th percentile are printed, the processor time a question, and
its ratio to that of `/embed`; processor time tells more where the machine has other work. The collection is served from
a folder with links to its files, so that what is written here does not change it.
"""

import argparse
import gzip
import http.client
import json
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

WAYS = {
    "one pass of the encoder (/embed)": None,
    "a search, not reranked": {"rerank": False},
    "a search": {},
    "a search, words alone": {"experts": [], "fusion": "sum"},
    "a filter that 5 % meet": {"rerank": False, "filter": {"field": "part", "lt": 50}},
    "a filter that 50 % meet": {"rerank": False, "filter": {"field": "part", "lt": 500}},
    "a facet of ten values": {"rerank": False, "facets": [{"field": "tenth"}]},
    "a filter that 5 % meet, and a facet": {
        "rerank": False, "filter": {"field": "part", "lt": 50}, "facets": [{"field": "tenth"}],
    },
}
TICK = os.sysconf("SC_CLK_TCK")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="bin/conclave")
    parser.add_argument("--collection", required=True, type=Path)
    parser.add_argument("--joined", type=Path, help="another collection, for searches of both")
    parser.add_argument("--questions", required=True, nargs="+", type=Path)
    parser.add_argument("--each", type=int, default=200, help="questions of each way")
    parser.add_argument("--json", type=Path)
    o = parser.parse_args()
    questions = read_questions(o.questions)
    random.Random(7).shuffle(questions)
    folder = Path(tempfile.mkdtemp(dir=o.collection.resolve().parent))
    try:
        link_files(o.collection, folder / "data" / "default")
        if o.joined:
            link_files(o.joined, folder / "data" / "other")
        figures = measure(o, folder, questions)
    finally:
        shutil.rmtree(folder)
    if o.json:
        o.json.write_text(json.dumps(figures))


def read_questions(files):
    """Returns the texts of the questions of all files."""
    texts = []
    for file in files:
        read = gzip.open if file.suffix == ".gz" else open
        with read(file, "rt", encoding="utf-8") as lines:
            texts += [json.loads(line)["question"] for line in lines]
    return texts


def link_files(first, to):
    """Makes a folder with links to the files of segments, and copies of the others."""
    for root, _, files in os.walk(first):
        there = to / Path(root).relative_to(first)
        there.mkdir(parents=True, exist_ok=True)
        for name in files:
            (os.link if "seg-" in root else shutil.copy)(os.path.join(root, name), there / name)


class Server:
    """A process that serves a folder of collections on this machine."""

    def __init__(self, program, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        began = time.monotonic()
        self.process = subprocess.Popen(
            [program, "serve", "--data", str(folder / "data"), "--listen", self.address],
            stdout=subprocess.DEVNULL, stderr=open(folder / "log", "a"),
        )
        while True:
            try:
                self.send(http.client.HTTPConnection(self.address), "GET", "/v1/collections/default/passages?limit=1", None)
                break
            except (OSError, AssertionError):
                if self.process.poll() is not None:
                    raise SystemExit("the server ended:\n" + (folder / "log").read_text()[-2000:])
                time.sleep(0.02)
        self.ready = time.monotonic() - began

    def send(self, connection, method, path, body):
        """Returns the answer to a request, which must succeed."""
        text = body if body is None or isinstance(body, str) else json.dumps(body)
        kind = "application/x-ndjson" if isinstance(body, str) else "application/json"
        connection.request(method, path, text, {"Content-Type": kind})
        answer = connection.getresponse()
        said = answer.read()
        assert answer.status < 300, f"{path}: {answer.status}: {said[:500]!r}"
        return said

    def ask(self, connection, question, options, path="/v1/collections/default/search"):
        """Returns the milliseconds of an answer."""
        body = {"question": question, "timeout_ms": 10000, **(options or {})}
        if options is None:
            path, body = "/embed", {"inputs": question}
        began = time.monotonic()
        self.send(connection, "POST", path, body)
        return 1000 * (time.monotonic() - began)

    def processor(self):
        """Returns the processor time of the process in milliseconds."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return 1000 * (int(fields[11]) + int(fields[12])) / TICK

    def memory(self):
        """Returns the resident MiB that are no file's, and all."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        kib = {x.split(":")[0]: int(x.split()[1]) for x in lines if x.startswith(("VmRSS", "RssAnon"))}
        return round(kib["RssAnon"] / 1024), round(kib["VmRSS"] / 1024)

    def end(self):
        """Ends the process and waits for it."""
        self.process.terminate()
        self.process.wait()


def percentile(times, share):
    """Returns the time that this share of the times does not exceed."""
    return sorted(times)[min(len(times) - 1, int(share * len(times)))]


def measure(o, folder, questions):
    """Prints and returns the figures of a served collection."""
    figures = {}

    def note(name, **values):
        figures[name] = values
        print(f"{name}: " + ", ".join(f"{k} {v:.2f}" if isinstance(v, float) else f"{k} {v}" for k, v in values.items()), flush=True)

    server = Server(o.program, folder)
    try:
        fresh = iter(questions)
        connection = http.client.HTTPConnection(server.address)
        note("start", seconds=server.ready, anonymous_mib=server.memory()[0])
        for options in WAYS.values():
            for _ in range(3):
                server.ask(connection, next(fresh), options)
        ways = {name: (options, "/v1/collections/default/search") for name, options in WAYS.items()}
        if o.joined:
            ways["both collections, not reranked"] = ({"rerank": False, "collections": ["default", "other"]}, "/v1/search")
        took, used = {name: [] for name in ways}, dict.fromkeys(ways, 0.0)
        block = 20  # processor time is counted in hundredths of a second, so that one question is too little for it
        for _ in range(max(1, o.each // block)):
            for name, (options, path) in ways.items():
                before = server.processor()
                took[name] += [server.ask(connection, next(fresh), options, path) for _ in range(block)]
                used[name] += server.processor() - before
        first = next(iter(ways))
        for name, times in took.items():
            note(name, p50_ms=statistics.median(times), p99_ms=percentile(times, 0.99), processor_ms=used[name] / len(times),
                 times_embed=used[name] / len(times) / (used[first] / len(took[first])))
        note("memory after that", anonymous_mib=server.memory()[0], resident_mib=server.memory()[1])
        note("eight callers", **callers(server, fresh, 8, o.each))
        note("while 50 passages a second are written", **while_writing(server, fresh, o.each))
        note("memory after writing", anonymous_mib=server.memory()[0], resident_mib=server.memory()[1])
    finally:
        server.end()
    for name, arguments in {
        "snapshot": ["snapshot", "--collection", folder / "data" / "default", "--out", folder / "copy"],
        "verify": ["verify", "--collection", folder / "data" / "default"],
    }.items():
        began = time.monotonic()
        subprocess.run([o.program, *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)
        note(name, seconds=time.monotonic() - began)
    return figures


def callers(server, fresh, number, each):
    """Returns rate and percentiles where so many callers ask at once, each question once."""
    lists = [[next(fresh) for _ in range(each // number)] for _ in range(number)]
    times = [[] for _ in lists]

    def call(i):
        connection = http.client.HTTPConnection(server.address)
        times[i] = [server.ask(connection, q, {"rerank": False}) for q in lists[i]]

    threads = [threading.Thread(target=call, args=(i,)) for i in range(number)]
    began = time.monotonic()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    all_times = [t for each_times in times for t in each_times]
    return {"questions_a_second": len(all_times) / (time.monotonic() - began), "p50_ms": statistics.median(all_times),
            "p99_ms": percentile(all_times, 0.99)}


def while_writing(server, fresh, each):
    """Returns percentiles of searches while another caller writes 50 passages a second, of texts that are questions."""
    stop, written = threading.Event(), []

    def write():
        connection = http.client.HTTPConnection(server.address)
        texts = random.Random(8)
        began = time.monotonic()
        while not stop.wait(max(0.0, began + len(written) / 50 - time.monotonic())):
            lines = [{"id": f"new/{len(written) + i}", "text": f"Passage {texts.random()} about the number {i}.",
                      "metadata": {"part": i, "tenth": "new"}} for i in range(25)]
            server.send(connection, "POST", "/v1/collections/default/passages", "\n".join(map(json.dumps, lines)))
            written.extend(lines)

    writer = threading.Thread(target=write)
    writer.start()
    connection = http.client.HTTPConnection(server.address)
    began = time.monotonic()
    times = []
    while len(times) < each:
        times.append(server.ask(connection, next(fresh), {"rerank": False}))
        time.sleep(0.05)  # a lone caller who never waits would take the processors that writing needs
    stop.set()
    writer.join()
    return {"written_a_second": len(written) / (time.monotonic() - began), "p50_ms": statistics.median(times),
            "p99_ms": percentile(times, 0.99)}


if __name__ == "__main__":
    sys.exit(main())
