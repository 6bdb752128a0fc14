"""The sections about vectors in docs/evidence/benchmarks.md: beside the peers, as sets grow,
exact search, filters, and what each way brings."""

from curves import curves


def command(record):
    """How and when a record was measured."""
    return f"    {record['command']}   # {record['date']}, conclave {record['commit']}" + (f", {record['elsewhere']}" if "elsewhere" in record else "")


def number(x):
    return f"{x:,.0f}" if x else "not reached"


def ratio(ours, theirs):
    return f"**{ours / theirs:.2f}**" if ours and theirs else "–"


def cell(figures, name, form, scale=1):
    return format(figures[name] * scale, form) if figures.get(name) else "–"


def one_set(path, record, pictures):
    """The section of one set of vectors."""
    figures, name = record["result"], path.stem.removeprefix("ann-")
    out = [f"### {record['title']}", "", command(record), ""]
    if not record["generated"]:
        (pictures / f"{name}.svg").write_text(curves(figures, record["title"]))
        out += [f"![Recall against speed](benchmarks/{name}.svg)", ""]
    out += ["| index | built in s | bytes a vector, resident | bytes a vector, on disk | peak resident, MB |", "| --- | ---: | ---: | ---: | ---: |"]
    for f in figures.values():
        out.append(f"| {f['name']} | {f['build_s']:.1f} | {f['bytes_per_vector']:.0f} | {cell(f, 'disk_bytes_per_vector', '.0f')} | {cell(f, 'peak_resident_bytes', '.0f', 1e-6)} |")
    mine, peers = figures["conclave"], [f for n, f in figures.items() if n != "conclave"]
    out += ["", "| queries a second at | conclave | " + " | ".join(f"{f['name']} | ratio" for f in peers) + " |"]
    out += ["| --- | ---: |" + " ---: | ---: |" * len(peers)]
    for i, at in enumerate(mine["at_recall"]):
        row = f"| {at['measure'].replace('recall', 'recall@')} ≥ {at['recall']} | {number(at['qps'])} |"
        for f in peers:
            theirs = f["at_recall"][i]["qps"]
            row += f" {number(theirs)} | {ratio(at['qps'], theirs)} |"
        out.append(row)
    out += floors(figures)
    if "note" in record:
        out += ["", record["note"]]
    if "faiss" not in figures:
        out += ["", "faiss is left out here, because its build takes longer than hnswlib's for every set above.", "`PEERS=hnswlib,faiss make bench` measures it too."]
    return out + [""]


def floors(figures):
    """Says where the least efSearch already finds more than was asked for, so
    that speeds are not at equal recall."""
    out = []
    for i, at in enumerate(figures["conclave"]["at_recall"]):
        least = {n: min(f["points"], key=lambda p: p["ef"]) for n, f in figures.items()}
        at_floor = [f"{n} {p[at['measure']]:.4f}" for n, p in least.items() if p[at["measure"]] >= at["recall"]]
        if at_floor:
            out.append(f"- {at['measure'].replace('recall', 'recall@')} ≥ {at['recall']}: " + ", ".join(at_floor) + ".")
    if not out:
        return []
    ef = min(p["ef"] for p in figures["conclave"]["points"])
    return ["", f"An efSearch below {ef} cannot give 100 hits, and {ef} already finds more than some rows ask for. There the", "speeds are not at equal recall, but at these:", ""] + out


def growth(records):
    """One line for each size of the generated sets."""

    def at(figures):
        return next(s["qps"] for s in figures["at_recall"] if (s["measure"], s["recall"]) == ("recall100", 0.968))

    out = ["| vectors | built in s: conclave | hnswlib | queries/s at recall@100 ≥ 0.968: conclave | hnswlib | ratio | bytes a vector, resident: conclave | hnswlib |"]
    out += ["| ---: |" + " ---: |" * 7]
    for _, record in records:
        f = record["result"]
        mine, peer = f["conclave"], f.get("hnswlib")
        ours, theirs = at(mine), at(peer) if peer else None
        other = [f"{peer['build_s']:.1f}", number(theirs), f"{peer['bytes_per_vector']:.0f}"] if peer else ["–"] * 3
        out.append(f"| {record['rows']:,} | {mine['build_s']:.1f} | {other[0]} | {number(ours)} | {other[1]} | {ratio(ours, theirs)} | {mine['bytes_per_vector']:.0f} | {other[2]} |")
    return out + [""]


def exact(records):
    """Exact search beside the memory that it reads."""
    out = ["## Exact search", "", "A search that compares every vector, in one thread. Its peer is additions over the same memory, 64 bits at a", "time. (A kernel that reads more at once can be faster. Vectors that fit the processor's last cache are read", "from there.) Of each the fastest pass counts. *Share* is the first rate divided by the second. When 64", "queries come at once, four share a pass; *gain* is what that brings.", ""]
    out += ["| vectors | MB | GB/s read, one query at a time | GB/s read by plain additions | share | queries/s, one at a time | queries/s, 64 at once | gain |", "| ---: |" + " ---: |" * 7]
    for _, record in records:
        r, e = record["result"], record["result"]["exact"]
        out.append(f"| {r['rows']:,} | {r['rows'] * r['dim'] * 2 / 1e6:,.0f} | {e['bytes_per_second'] / 1e9:.1f} | {e['memory_bytes_per_second'] / 1e9:.1f} | **{e['bytes_per_second'] / e['memory_bytes_per_second']:.2f}**"
                   f" | {number(e['qps'])} | {number(e['shared_qps'])} | **{e['shared_qps'] / e['qps']:.2f}** |")
    return out + [""] + [command(r) for _, r in records] + [""]


def crossing(points):
    """The shares between which walking the graph becomes faster than comparing all
    that is allowed. A walk that gave up compared all codes in the end."""
    points = sorted(points, key=lambda p: p["selectivity"])
    slower = [i for i, p in enumerate(points) if p["walk_given_up"] >= 0.5 or p["walk_qps"] < p["scan_qps"]]
    if not slower or slower[-1] + 1 == len(points):
        return "not measured"
    return f"{points[slower[-1]]['selectivity']:g} and {points[slower[-1] + 1]['selectivity']:g}"


def filters(record):
    """Searches that may find only a share of the vectors."""
    points = record["result"]
    names = {"random": "any vectors", "near": "the nearest to the query", "far": "the furthest from it", "cluster": "near another vector"}
    none = next(p for p in points if p["tags"] == "none")
    out = ["## Filters", "", f"A filter allows a share of {record['title']}. The table has queries a second of one thread, top 100, for", "",
           "- *graph*: the graph is walked; *gave up* is the share of walks that ended in comparing all codes;",
           "- *comparing*: all vectors that the filter allows are compared;",
           "- *search*: a search chooses between the two; *compared all* is how often it compared, and recall@10 is its own.", "",
           f"Without a filter a search does {number(none['qps'])} a second, with a recall@10 of {none['recall10']:.4f}.", ""]
    out += ["| allowed share of any vectors | graph | gave up | comparing | search | compared all | recall@10 |", "| ---: |" + " ---: |" * 6]
    for p in (p for p in points if p["tags"] == "random"):
        out.append(f"| {p['selectivity']:g} | {number(p['walk_qps'])} | {100 * p['walk_given_up']:.0f} % | {number(p['scan_qps'])} | {number(p['qps'])} | {100 * p['exact']:.0f} % | {p['recall10']:.4f} |")
    out += ["", "| which vectors are allowed | graph and comparing are equally fast between shares of | searches compare all up to a share of | lowest recall@10 |", "| --- | ---: | ---: | ---: |"]
    for tags, name in names.items():
        mine = [p for p in points if p["tags"] == tags]
        up_to = max((p["selectivity"] for p in mine if p["exact"] == 1), default=0)
        out.append(f"| {name} | {crossing(mine)} | {up_to:g} | {min(p['recall10'] for p in mine):.4f} |")
    return out + ["", command(record), ""]


def ways(record):
    """What each way of being fast brings."""
    r = record["result"]
    out = ["## Ways tried", "", "Each row compares the program with a copy in which one edit takes out one way of being fast, in turns, on", f"{record['title']} at recall@100 {r['recall']} ({number(r['qps'])} queries a second).", ""]
    out += ["| way | instead of | times as fast | edit that takes it out |", "| --- | --- | ---: | --- |"]
    out += [f"| {w['way']} | {w['instead_of']} | **{w['ratio']:.2f}** | {' '.join(w['edit'].split())} |" for w in r["ways"]]
    b = r["build"]
    out += [f"| built with {b['threads']} threads | one | **{b['ratio']:.2f}** ({b['build_s']:.1f} s, {b['one_thread_build_s']:.1f} s) | `--threads 1`: the graph is the same, bit for bit |"]
    out += ["", command(record), "", "A graph compares codes of four bits instead of vectors. The next table has nanoseconds of one inner product of 384", "numbers. Vectors, of half precision, are read one after the other, codes in random order, as a graph meets them. The 4,096", "rows are 3.1 MB of vectors and 0.8 MB of codes; that more codes fit the caches is part of what they bring.", ""]
    out += ["| kernels | vectors, ns | codes, ns | ratio |", "| --- | ---: | ---: | ---: |"]
    out += [f"| {k['set']} | {k['halves']:.1f} | {k['codes']:.1f} | **{k['halves'] / k['codes']:.2f}** |" for k in r["kernels"]]
    return out + ["", "    go test ./ann/kernel -run '^$' -bench Dot", "", "github.com/coder/hnsw finds a quarter of the nearest (`conclave-lab bench ann --index coder`).", ""]
