"""Measures search in collections in several languages, and prints a row for each mixture and choice of experts.

    python3 research/bench/languages/mixed.py --conclave bin/conclave --work OUT \
        --experts base,late,multilingual --experts multilingual,multilingual-late

Of the 124 passages of research/data/languages each is in one language of a mixture, in turn. A row has right first and
nDCG@10 of the questions in the passage's language, of the same questions in each other language of the mixture, and of
the English questions of passages that are not English; then how many of the first kind are not `found`, and of the
foreign questions in these languages. Collections are made in OUT; a folder that is there already is used as it is.
"""

import argparse
import contextlib
import json
import math
import pathlib
import subprocess
import time
import urllib.error
import urllib.request

DATA = pathlib.Path(__file__).parents[2] / "data" / "languages"
MIXTURES = {"quarters": ["en", "de", "fr", "es"], "half": ["en", "de"], "three of four": ["en", "en", "en", "de"]}


def read(kind, language):
    with (DATA / f"{kind}.{language}.jsonl").open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def index(args, folder, languages, experts):
    passages = [read("passages", code) for code in dict.fromkeys(languages)]
    by_language = dict(zip(dict.fromkeys(languages), passages, strict=True))
    file = args.work / "passages.jsonl"
    count = len(passages[0])
    with file.open("w", encoding="utf-8") as out:
        for i in range(count):
            out.write(json.dumps(by_language[languages[i % len(languages)]][i], ensure_ascii=False) + "\n")
    command = [args.conclave, "index", "--collection", folder, "--index", "flat", "--in", file, "--experts", experts]
    subprocess.run(command, check=True, capture_output=not args.verbose)


@contextlib.contextmanager
def serving(args, folder):
    address = f"127.0.0.1:{args.port}"
    server = subprocess.Popen(
        [args.conclave, "serve", "--collection", folder, "--listen", address],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(600):
            with contextlib.suppress(urllib.error.URLError):
                urllib.request.urlopen(f"http://{address}/readyz").close()
                break
            time.sleep(0.1)
        yield f"http://{address}"
    finally:
        server.terminate()
        server.wait()


def ask(url, question):
    body = {"question": question, "timeout_ms": 8000, "k": 10}
    request = urllib.request.Request(url + "/v1/search", json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def quality(url, asked):
    """Right first and nDCG@10 in percent, and the share that is not `found`, of questions with one right passage each."""
    first = gain = doubted = 0
    for q in asked:
        answer = ask(url, q["question"])
        ids = [r["id"] for r in answer["results"]]
        doubted += answer.get("verdict") != "found"
        if q["positive_ids"][0] in ids:
            place = ids.index(q["positive_ids"][0])
            first += place == 0
            gain += 1 / math.log2(place + 2)
    return f"{100 * first / len(asked):.1f} / {100 * gain / len(asked):.1f}", 100 * doubted / len(asked)


def measure(url, languages):
    questions = {code: read("questions", code) for code in dict.fromkeys(languages)}
    language_of = lambda i: languages[i % len(languages)]
    own, across, english = [], [], []
    for code, asked in questions.items():
        for i, q in enumerate(asked):
            (own if code == language_of(i) else across).append(q)
            if code == "en" != language_of(i):
                english.append(q)
    own_quality, doubted = quality(url, own)
    foreign = [q for code in questions for q in read("foreign", code)]
    refused = sum(ask(url, q["question"]).get("verdict") != "found" for q in foreign)
    return [own_quality, quality(url, across)[0], quality(url, english)[0], f"{doubted:.1f}",
            f"{100 * refused / len(foreign):.0f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conclave", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--experts", action="append", required=True)
    parser.add_argument("--mixture", action="append", choices=MIXTURES)
    parser.add_argument("--port", type=int, default=18080)
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    print("| passages | experts | in the passage's language | in another of these | English questions of others "
          "| answerable not `found` | foreign not `found` |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for mixture in args.mixture or MIXTURES:
        for experts in args.experts:
            folder = args.work / f"{mixture}.{experts}".replace(" ", "-").replace(",", "+")
            if not folder.exists():
                index(args, folder, MIXTURES[mixture], experts)
            with serving(args, folder) as url:
                print("|", mixture, "|", experts, "|", " | ".join(measure(url, MIXTURES[mixture])), "|", flush=True)


main()
