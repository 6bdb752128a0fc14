"""Compares how conclave cuts documents with other cutters, by the answers that are found.

    pip install -r research/bench/documents/requirements.txt
    python research/bench/documents/cut.py --data ../shared/data --out cut-out [--conclave bin/conclave] [--words 100] [--only conclave,…]

The data's passages are put together again to the documents that they were cut from: those of the
development questions, and as many others. Each cutter cuts the same Markdown files; each result is a
collection of its own (default experts) and is asked the same questions. A passage holds the answer
when it covers the place in the document where the answer stands. The peers' sizes are chosen so that
their passages are on average as long as conclave's: words shown to a reader are equal.
"""
import argparse, collections, gzip, json, math, pathlib, random, re, statistics, subprocess, sys, time, urllib.request

DOMAINS = ("covid", "fairytale", "wiki", "policy")


def lines(path):
    with gzip.open(path, "rt", encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def documents_of(data, domain, limit):
    """Documents (name, title, text) and questions (question, document, [(begin, end)] of answers)."""
    passages = lines(data / domain / "passages.jsonl.gz")
    by_title = collections.defaultdict(list)
    for p in passages:
        by_title[p["title"]].append(p)
    where = {p["id"]: p["title"] for p in passages}
    asked = [q for q in lines(data / domain / "questions.dev.jsonl.gz") if q.get("answers")]
    wanted = {where[i] for q in asked for i in q["positive_ids"]}
    others = sorted(set(by_title) - wanted)
    random.Random(13).shuffle(others)
    chosen = sorted(wanted) + others[: len(wanted)]
    texts, spans, names = {}, {}, {}
    for n, title in enumerate(chosen):
        text = ""
        for p in by_title[title]:
            clean = " ".join(p["text"].split())
            text += ("\n\n" if text else "") + clean
            spans[p["id"]] = (len(text) - len(clean), len(text))
        texts[title], names[title] = text, f"{n:04d}.md"
    questions = []
    for q in asked:
        places = collections.defaultdict(list)
        for i in q["positive_ids"]:
            begin, end = spans[i]
            for answer in q["answers"]:
                answer = " ".join(answer.split())
                at = texts[where[i]].find(answer, begin, end)
                if at >= 0:
                    places[where[i]].append((at, at + len(answer)))
        if places:
            questions.append((q["question"], places))
    random.Random(13).shuffle(questions)
    return [(names[t], t, texts[t]) for t in chosen], {t: names[t] for t in chosen}, questions[:limit]


def of_langchain(text, words):
    from langchain_text_splitters import RecursiveCharacterTextSplitter
    return RecursiveCharacterTextSplitter(chunk_size=words, chunk_overlap=0, length_function=lambda s: len(s.split())).split_text(text)


def of_llama_index(text, words):
    from llama_index.core.node_parser import SentenceSplitter
    return SentenceSplitter(chunk_size=words, chunk_overlap=0, tokenizer=str.split).split_text(text)


def of_unstructured(text, words):
    from unstructured.chunking.title import chunk_by_title
    from unstructured.documents.elements import NarrativeText
    return [c.text for c in chunk_by_title([NarrativeText(p) for p in text.split("\n\n")], max_characters=int(words * 6.0), new_after_n_chars=int(words * 5.0))]


def of_docling(text, words):
    from docling_core.transforms.chunker.hybrid_chunker import HybridChunker
    from docling_core.transforms.chunker.tokenizer.base import BaseTokenizer
    from docling_core.types.doc import DocItemLabel, DoclingDocument

    class Words(BaseTokenizer):
        def count_tokens(self, text): return len(text.split())
        def get_max_tokens(self): return words
        def get_tokenizer(self): return lambda t: len(t.split())

    d = DoclingDocument(name="d")
    for p in text.split("\n\n"):
        d.add_text(label=DocItemLabel.TEXT, text=p)
    return [c.text for c in HybridChunker(tokenizer=Words()).chunk(d)]


def of_chonkie(text, words):
    from chonkie import RecursiveChunker
    return [c.text for c in RecursiveChunker(tokenizer="word", chunk_size=words * 2)(text)]  # it counts the spaces


def of_semantic_text_splitter(text, words):
    from semantic_text_splitter import TextSplitter
    return TextSplitter.from_callback(lambda s: len(s.split()), words).chunks(text)


PEERS = {"langchain": of_langchain, "llama-index": of_llama_index, "unstructured": of_unstructured, "docling": of_docling,
         "chonkie": of_chonkie, "semantic-text-splitter": of_semantic_text_splitter}


def place(pieces, text):
    """Where pieces stand in a text, white space apart: (piece, begin, end)."""
    at, out = 0, []
    squeezed = [i for i, c in enumerate(text) if not c.isspace()]
    flat = "".join(text[i] for i in squeezed)
    for piece in pieces:
        small = "".join(piece.split())
        if not small:
            continue
        found = flat.find(small[:80], at)
        if found < 0:
            found = flat.find(small[:80])
        if found < 0:
            continue
        last = min(found + len(small), len(squeezed)) - 1
        out.append((piece, squeezed[found], squeezed[last] + 1))
        at = found + max(1, len(small) // 2)
    return out


def cut_by_conclave(conclave, folder, texts, words):
    out = collections.defaultdict(list)
    done = subprocess.run([conclave, "read", "--json", "--documents-words", str(words), folder], check=True, capture_output=True, text=True)
    decoder, at = json.JSONDecoder(), 0
    while at < len(done.stdout.rstrip()):
        p, at = decoder.raw_decode(done.stdout, at)
        at += len(done.stdout[at:]) - len(done.stdout[at:].lstrip())
        out[p["metadata"]["document"]].append(p["text"])
    return {name: place(pieces, texts[name]) for name, pieces in out.items()}


def cut_alike(cutter, texts, mean):
    """Cuts with the size at which passages have the mean number of words asked for."""
    low, high, best = 10, 1000, None
    sample = dict(list(texts.items())[:12])
    for _ in range(9):
        size = (low + high) // 2
        counts = [len(p.split()) for t in sample.values() for p in cutter(t, size)]
        got = statistics.mean(counts)
        if best is None or abs(got - mean) < abs(best[1] - mean):
            best = (size, got)
        low, high = (size, high) if got < mean else (low, size)
    return {name: place(cutter(t, best[0]), t) for name, t in texts.items()}


def ask(conclave, collection, questions, port):
    server = subprocess.Popen([conclave, "serve", "--collection", collection, "--read-only", "--listen", f"127.0.0.1:{port}"], stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2)
                break
            except OSError:
                time.sleep(0.2)
        for question, places in questions:
            body = json.dumps({"question": question, "k": 20}).encode()
            try:
                r = urllib.request.Request(f"http://127.0.0.1:{port}/v1/search", body, {"Content-Type": "application/json"})
                yield json.load(urllib.request.urlopen(r, timeout=30))["results"], places
            except urllib.error.HTTPError as e:
                raise SystemExit(e.read().decode())
    finally:
        server.terminate()
        server.wait()


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--data", type=pathlib.Path, required=True)
    args.add_argument("--out", type=pathlib.Path, required=True)
    args.add_argument("--conclave", default="bin/conclave")
    args.add_argument("--words", type=int, default=100)
    args.add_argument("--limit", type=int, default=300)
    args.add_argument("--port", type=int, default=8493)
    args.add_argument("--domains", default=",".join(DOMAINS))
    args.add_argument("--only", default="conclave," + ",".join(PEERS))
    a = args.parse_args()
    table = collections.defaultdict(dict)
    for domain in a.domains.split(","):
        docs, names, questions = documents_of(a.data, domain, a.limit)
        folder = a.out / domain / "files"
        folder.mkdir(parents=True, exist_ok=True)
        texts = {}
        titles = {}
        for name, title, text in docs:
            texts[name], titles[name] = text, title
            # Markdown's signs in the texts are characters.
            escaped = re.sub(r"([\\`*_{}\[\]<>#|~^&])", r"\\\1", text)
            escaped = re.sub(r"(?m)^(\s*)([-+]|\d+[.)])(\s)", r"\1\\\2\3", escaped)
            (folder / name).write_text(f"---\ntitle: {json.dumps(title)}\n---\n\n{escaped}\n", encoding="utf-8")
        mean = None
        for cutter in a.only.split(","):
            if cutter == "conclave":
                pieces = cut_by_conclave(a.conclave, str(folder), texts, a.words)
            else:
                pieces = cut_alike(PEERS[cutter], texts, mean or a.words)
            counts = [len(p.split()) for ps in pieces.values() for p, _, _ in ps]
            mean = mean or statistics.mean(counts)
            collection = a.out / domain / f"{cutter}-{a.words}"
            spans = {}
            with open(a.out / domain / f"{cutter}.jsonl", "w", encoding="utf-8") as f:
                for name, ps in pieces.items():
                    for i, (piece, begin, end) in enumerate(ps):
                        spans[f"{name}#{i}"] = (name, begin, end, len(piece.split()))
                        f.write(json.dumps({"id": f"{name}#{i}", "title": titles[name], "text": piece}) + "\n")
            if not (collection / "MANIFEST").exists():
                subprocess.run([a.conclave, "index", "--collection", str(collection), "--in", f.name], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            top1 = top5 = gain = within = n = 0
            for results, places in ask(a.conclave, str(collection), questions, a.port):
                n += 1
                rank, words, shown = None, 0, None
                for r in results:
                    name, begin, end, count = spans[r["id"]]
                    words += count
                    holds = any(names[t] == name and any(begin <= b and e <= end for b, e in where) for t, where in places.items())
                    if holds and rank is None:
                        rank, shown = r["rank"], words
                top1 += rank == 1
                top5 += rank is not None and rank <= 5
                gain += 1 / math.log2(1 + rank) if rank and rank <= 10 else 0
                within += shown is not None and shown <= 500
            row = dict(n=n, passages=len(counts), words=statistics.mean(counts), top1=100 * top1 / n, top5=100 * top5 / n, ndcg=100 * gain / n, within=100 * within / n)
            table[cutter][domain] = row
            print(domain, cutter, {k: round(v, 1) for k, v in row.items()}, flush=True)
    print("\n| cutter | " + " | ".join(a.domains.split(",")) + " | mean |\n| --- |" + " ---: |" * (len(a.domains.split(",")) + 1))
    for cutter, rows in table.items():
        cell = lambda r: f"{r['top1']:.1f} / {r['top5']:.1f} / {r['ndcg']:.1f}"
        mean = {k: statistics.mean(r[k] for r in rows.values()) for k in ("top1", "top5", "ndcg")}
        print(f"| {cutter} | " + " | ".join(cell(r) for r in rows.values()) + f" | {cell(mean)} |")
    json.dump(table, open(a.out / "table.json", "w"), indent=1)


main()
