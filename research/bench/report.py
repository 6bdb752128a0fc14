"""Writes docs/evidence/benchmarks.md and its curves from what research/bench/run measured.

    python3 research/bench/report.py bench-out docs/evidence

The folder holds machine.json and one JSON file for each measurement, with its
command, its day and the commit measured beside its figures: ann-*.json
(research/bench/vectors/ann_peer.py --json), exact-*.json and filters.json (conclave-lab bench
ann --index flat and --filters, --json), ways.json (research/bench/ways.py --json),
words-*.json (research/bench/lucene -json), encoder.json (research/bench/encoder -json),
indexing.json (research/bench/indexing.py --json), whole.json (research/bench/whole.py --json) and graphs.json (research/bench/graph_speed.py --json). What is missing is left out.
"""

import json
import sys
from pathlib import Path

from vectors_report import command, exact, filters, growth, one_set, ways


def words(records):
    """The table of word indexes beside Lucene."""
    out = ["| passages | questions/s: conclave | Lucene | ratio (lowest to highest turn) | passages indexed/s: conclave | Lucene | ratio | bytes a passage: conclave | Lucene | p99 of a question, µs: conclave | Lucene |"]
    out += ["| --- |" + " ---: |" * 10]
    for _, record in records:
        r = record["result"]
        out.append(
            f"| {record['title']} | {r['qps']:.0f} | {r['lucene_qps']:.0f} | **{r['ratio']:.2f}** ({r['ratio_low']:.2f} to {r['ratio_high']:.2f})"
            f" | {r['passages_per_s']:.0f} | {r['lucene_passages_per_s']:.0f} | **{r['index_ratio']:.2f}** | {r['bytes_per_passage']:.0f}"
            f" | {r['lucene_bytes_per_passage']:.0f} | {r['p99_us']:.0f} | {r['lucene_p99_us']:.0f} |"
        )
    worst = max(record["result"]["worst_score_difference"] for _, record in records)
    swapped = sum(record["result"]["places_with_another_passage"] for _, record in records)
    places = sum(record["result"]["places"] for _, record in records)
    out += ["", f"Scores differ from Lucene's by at most {worst:.1e} (relative), and {swapped} of {places} places hold another passage."]
    return out + [""] + [command(record) for _, record in records] + [""]


def whole(records):
    """A whole answer beside one pass of the encoder."""
    out = ["## A whole answer", ""]
    for record in records:
        out += [f"{record['title'][0].upper()}{record['title'][1:]}, over HTTP, one caller, with nothing cached; medians.", ""]
        out += ["| | ms | ratio to one pass |", "| --- | ---: | ---: |"]
        out += [f"| {r['what']} | {r['ms']:.2f} | **{r['ratio']:.2f}** |" for r in record["result"]]
        out += ["", command(record), ""]
    return out


def encoder(encoders, indexing, graphs):
    """The encoder beside Python's onnxruntime, and the graphs it runs."""
    out = ["## Encoder", ""]
    for record in encoders:
        results = record["result"]
        out += [f"{results[0]['callers']} concurrent callers ask conclave one question each; tokenising, queueing and handing the vector back",
                "are included. The peer is a bare `session.run` of the same graph in Python's onnxruntime, which is given", f"ready token ids in batches of 32. {results[0]['questions']} questions, {results[0]['rounds']} turns.", ""]
        out += ["| model | questions/s: conclave | peer | ratio | peer, questions sorted by length before | ratio | one question alone, ms: conclave | peer | difference |", "| --- |" + " ---: |" * 8]
        for r in results:
            out.append(f"| {r['model']}, {r['precision']} | {r['qps']:.0f} | {r['peer_qps']:.0f} | **{r['ratio']:.2f}** | {r['peer_sorted_qps']:.0f} | **{r['sorted_ratio']:.2f}**"
                       f" | {r['alone_ms']:.2f} | {r['peer_alone_ms']:.2f} | {r['alone_ms'] - r['peer_alone_ms']:+.2f} |")
        out += ["", command(record), ""]
    for record in indexing:
        r = record["result"]
        out += [f"`conclave index --experts base` and sentence-transformers encode {record['title']} with the same weights. conclave's", "time has reading, the index and starting the program in it; the peer's is that of `encode` alone.", ""]
        out += ["| program | passages/s | cores busy | passages/s of one core |", "| --- | ---: | ---: | ---: |"]
        out += [f"| {who} | {r[who]['rate']:.0f} | {r[who]['cores_used']:.2f} of {r['cores']} | {r[who]['rate_per_core']:.0f} |" for who in ("conclave", "sentence-transformers")]
        out += [f"| ratio | **{r['ratio']:.2f}** | | **{r['ratio_per_core']:.2f}** |", "", command(record), ""]
    for record in graphs:
        out += ["The next table times one run of the graph that conclave writes, beside the fastest of PyTorch's exports of", "the same model, in the same ONNX Runtime. Times are medians of runs; the last ratio is that of the fastest runs.", ""]
        out += ["| precision | threads | texts | tokens of a text | conclave, ms | fastest export, ms | ratio | ratio of the fastest runs | which export |", "| --- |" + " ---: |" * 7 + " --- |"]
        for r in record["result"]:
            out.append(f"| {r['precision']} | {r['threads']} | {r['batch']} | {r['tokens']} | {r['ours_ms']:.2f} | {r['peer_ms']:.2f} | **{r['ratio']:.2f}** | {r['ratio_of_minima']:.2f} | {r['peer']} |")
        out += ["", command(record), ""]
    return out


def main():
    source, docs = Path(sys.argv[1]), Path(sys.argv[2])
    pictures = docs / "benchmarks"
    pictures.mkdir(parents=True, exist_ok=True)
    machine = json.loads((source / "machine.json").read_text())
    found = {p: json.loads(p.read_text()) for p in sorted(source.glob("*.json")) if p.name != "machine.json"}
    for record in found.values():
        if record["machine"] != machine:
            record["elsewhere"] = f"on {record['machine']}"

    def named(prefix, order=lambda r: (r["generated"], r["rows"])):
        return sorted(((p, r) for p, r in found.items() if p.stem.startswith(prefix)), key=lambda pair: order(pair[1]))

    ann, lucene = named("ann-"), named("words-")
    out = ["# Benchmarks", "", "This page compares the speed of conclave with that of other programs, its *peers*. `make bench` measures", "all of it and writes the page. conclave and its peer take turns in the same run. After each command stand", "the day and the commit that it measured.", ""]
    out += [f"Machine: {machine}. Where another machine measured, its name", "follows the command. Rates are medians of rounds. Machines are noisy, so read the ratios rather than the", "figures. A ratio above 1 says that conclave is faster.", ""]
    if ann:
        out += ["## Vectors", "", "One thread asks one query at a time, top 100. The graphs are built with two threads (hnswlib with M 16 and",
                "efConstruction 200, faiss with 32 links and 200, conclave with its defaults). Of the memory,", "",
                "- *resident* is, for conclave, the arrays that a search reads (codes, links, scales); for the peers, which",
                "  do not say, it is what the build added to the process's resident memory;",
                "- *on disk* is what each writes, conclave's vectors included;",
                "- *peak resident* is that of the whole process until the index was built, with the vectors that it was given.", ""]
        for path, record in ann:
            out += one_set(path, record, pictures)
        sizes = [(p, r) for p, r in ann if r["generated"]]
        if len(sizes) > 1:
            out += ["### As it grows", "", "The generated sets above, by size. The vectors are clustered.", ""] + growth(sizes)
    if named("exact-"):
        out += exact(named("exact-"))
    for _, record in named("filters"):
        out += filters(record)
    for _, record in named("ways"):
        out += ways(record)
    if lucene:
        out += ["## Words", "", "BM25 beside Lucene 9.12: the same analysis and parameters, one merged segment, one thread, warm, top 100.", "A rate is by the time that the thread ran. Only words are indexed; [Collections](../collections.md#phrases)", "has the cost of phrases, which Lucene would index as shingles.", ""] + words(lucene)
    encoders, indexing, graphs = ([r for _, r in named(name)] for name in ("encoder", "indexing", "graphs"))
    if encoders or indexing or graphs:
        out += encoder(encoders, indexing, graphs)
    if named("whole"):
        out += whole([r for _, r in named("whole")])
    page = "\n".join(out).rstrip() + "\n"
    (docs / "benchmarks.md").write_text(page)
    print(page)


if __name__ == "__main__":
    main()
