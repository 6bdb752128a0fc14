"""How many questions about something else are refused before and after a calibration.

    python3 research/bench/foreign.py DATA COLLECTIONS bin/conclave [--domains demo,policy]

DATA is what research/data/build.py made; COLLECTIONS has for each domain a folder that `conclave index` made by default, and
is not changed. A domain's collection is copied, calibrated with up to 300 of its training questions (the demo: its
development ones), and asked 150 of its other questions and 30 of each other domain. Printed are, in percent, how many
right first passages have a confidence below 0.2, and how many of the foreign questions, and the AUROC of right first passages
beside all others; as shipped and calibrated. The reader takes no part.
"""

import argparse
import gzip
import json
import os
import random
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

ADDRESS = "127.0.0.1:18777"
DEMO = Path(__file__).resolve().parents[2] / "shipped" / "demo" / "questions"


def files(data: Path, domain: str) -> tuple[Path, Path]:
    """The questions that are fitted to, and those that are asked."""
    if domain == "demo":
        return DEMO / "dev.jsonl", DEMO / "test.jsonl"
    return data / domain / "questions.train.jsonl.gz", data / domain / "questions.dev.jsonl.gz"


def read(path: Path, limit: int, seed: int) -> list[dict]:
    """So many questions with an answer, chosen by chance."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        rows = [json.loads(line) for line in lines]
    rows = [row for row in rows if row.get("positive_ids")]
    random.Random(seed).shuffle(rows)
    return rows[:limit]


def ask(question: dict) -> tuple[float, bool]:
    """The confidence of the answer, and whether its first passage is right."""
    body = json.dumps({"question": question["question"], "k": 1, "timeout_ms": 10000}).encode()
    request = urllib.request.Request(f"http://{ADDRESS}/v1/search", body, {"Content-Type": "application/json"})
    for _ in range(60):
        try:
            answer = json.load(urllib.request.urlopen(request))
            break
        except urllib.error.HTTPError as refused:  # a busy machine
            if refused.code not in (429, 503, 504):
                raise
            time.sleep(1)
    first = answer["results"][0]["id"] if answer["results"] else None
    return answer["confidence"], first in {str(i) for i in question["positive_ids"]}


def measured(program: str, collection: Path, own: list[dict], foreign: list[dict]) -> str:
    """One row, of a collection that is served for it."""
    command = [program, "serve", "--collection", str(collection), "--listen", ADDRESS]
    environment = {**os.environ, "CONCLAVE_AUTH_DISABLED": "true"}
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    try:
        while server.poll() is None:
            try:
                urllib.request.urlopen(f"http://{ADDRESS}/readyz").read()
                break
            except OSError:
                time.sleep(0.3)
        said, others = [ask(q) for q in own], [ask(q)[0] for q in foreign]
    finally:
        server.terminate()
        server.wait()
    right = [c for c, ok in said if ok]
    wrong = [c for c, ok in said if not ok] + others
    area = sum((a > b) + (a == b) / 2 for a in right for b in wrong) / (len(right) * len(wrong))
    share = [100 * sum(c < 0.2 for c in some) / len(some) for some in (right, others)]
    return f"right lost {share[0]:.1f}, foreign refused {share[1]:.1f}, AUROC {area:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("collections", type=Path)
    parser.add_argument("program")
    parser.add_argument("--domains", default="demo,policy,wiki,fairytale")
    o = parser.parse_args()
    domains = o.domains.split(",")
    for domain in domains:
        fit, asked = files(o.data, domain)
        own = read(asked, 150, 1)
        foreign = [q for other in domains if other != domain for q in read(files(o.data, other)[1], 30, 2)]
        with tempfile.TemporaryDirectory() as folder:
            collection, questions = Path(folder) / "index", Path(folder) / "fit.jsonl"
            shutil.copytree(o.collections / domain, collection)
            questions.write_text("".join(json.dumps(q) + "\n" for q in read(fit, 300, 3)))
            print(f"{domain}, shipped: {measured(o.program, collection, own, foreign)}", flush=True)
            calibrate = [o.program, "calibrate", "--collection", str(collection), "--questions", f"{domain}={questions}"]
            subprocess.run(calibrate, check=True, capture_output=True)
            print(f"{domain}, calibrated: {measured(o.program, collection, own, foreign)}", flush=True)


if __name__ == "__main__":
    main()
