"""What the client does, against a server: test_client.py calls URL FLAKY-URL, or test_client.py busy URL, or
test_client.py administers URL."""

import asyncio
import sys
import time
from typing import Any

import numpy as np

from conclave_client import Answer, AsyncClient, Client, Extract, Passage, Problem, Settings
from conclave_client.decode import read

part, url = sys.argv[1:3]


def code(do: Any) -> str:
    try:
        do()
    except Problem as problem:
        return problem.code
    return "none"


def searches(c: Client) -> None:
    answer = c.search("who hid the lamp", k=2)
    first = answer.results[0]
    assert (first.id, first.title, answer.fusion, len(answer.results)) == ("lamps/1", "Lamps", "gate", 2), answer
    assert abs(sum(part.contribution for part in first.contributions) - first.score) < 1e-6
    long = "It rained all day and we stayed at home. " * 40 + "Who hid the lamp?"
    said = c.search(messages=[{"role": "assistant", "content": "Hello"}, {"role": "user", "content": long}], k=2)
    assert said.question == long and said.asked and said.asked in long, said
    both = c.search_batch([long, {"messages": [{"role": "user", "content": long}], "k": 2}])
    assert [a.asked for a in both if isinstance(a, Answer)] == [said.asked] * 2, both
    behind = c.search("and the lamp?", messages=[{"role": "user", "content": "who hid the rice?"}], k=2)
    assert behind.question == "and the lamp?", behind
    assert any(part.source == "messages" for part in behind.results[0].contributions), behind
    table = answer.to_pandas()
    assert list(table["id"]) == [r.id for r in answer.results]
    assert np.allclose(table[["base", "bm25", "phrases", "near", "late"]].sum(axis=1), table["score"])
    several = c.search("rice", fusion=["rrf", "sum"], filter={"tags_all": ["kitchen"]}, fields=["tags", "metadata"])
    assert [[r.id for r in ranking.results] for ranking in several.rankings] == [["rice"], ["rice"]]
    assert several.rankings[0].results[0].tags == ["kitchen"] and several.selected == 1
    lit = c.search("who hid the lamp", k=1, fields=["text", "highlights"]).results[0]
    assert lit.highlights and all(lit.text.encode()[h.start : h.end] for h in lit.highlights if h.field == "text")
    written = {"text": "a", "reader": "w", "complete": True, "tokens": 1, "score": 0.5, "generated": True}
    part = {"field": "text", "start": 0, "end": 1, "score": 0.5}
    result = {"rank": 1, "id": "x", "score": 1, "highlight": part}
    read_in = read(Answer, {"generated": written | {"support": [{"passage": "x", "share": 1.0}]}, "results": [result]})
    assert read_in.generated.support[0].share == 1 and read_in.results[0].highlight.end == 1
    found = [{"rank": i, "id": f"p{i}", "score": 1, "text": t} for i, t in enumerate(["Der Käse ist würzig.", "Tee"])]
    words = {"text": "würzig", "passage": "p0", "start": 14, "end": 21, "score": 0.4, "chance": None}
    told = read(Answer, {"results": found, "answers": [words, words | {"passage": "elsewhere"}]})
    kept = {"text": "würzig", "start": 13, "end": 19, "chance": None}
    assert [told.answers_in(r) for r in told.results] == [{"answers": [kept]}, {}]
    marked = c.search("who hid the lamp", k=2, answer={"reader": "marker"})
    texts = {r.id: r.text.encode() for r in marked.results}
    assert marked.answers and all(texts[a.passage][a.start : a.end].decode() == a.text for a in marked.answers)
    for offsets in "codepoints", "utf16":
        told = read(Answer, {"results": [found[0] | {"text": "🧀 würzig"}], "offsets": offsets})
        start = 2 if offsets == "codepoints" else 3
        told.answers = [Extract(text="würzig", passage="p0", start=start, end=start + 6, score=0.4)]
        assert told.answers_in(told.results[0]) == {"answers": [kept | {"start": 2, "end": 8}]}
    points = c.search("who hid the lamp", k=2, answer={"reader": "marker"}, offsets="codepoints")
    whole = {r.id: r.text for r in points.results}
    assert points.answers and all(whole[a.passage][a.start : a.end] == a.text for a in points.answers)
    number = 1546130668394913822
    c.put(Passage(id="n", text="", title="numerals", metadata={"post": number, "gone": None}), visible=True)
    assert c.passage("n").metadata == {"post": number} and c.passage("n").title == "numerals"
    assert c.search("numerals", k=1, fields=["metadata"]).results[0].metadata == {"post": number}
    c.delete("n", visible=True)
    batch = c.search_batch(["a fox", {"question": "rice", "k": 0}, {"question": "rice", "k": 1}])
    assert [getattr(a, "code", "") for a in batch] == ["", "out_of_range", ""]
    problem = batch[1]
    assert isinstance(problem, Problem) and problem.status == 422 and problem.errors[0]["pointer"] == "/searches/1/k"
    assert code(lambda: c.search("rice", fusion="guess")) == "unknown_method"
    assert [x.name for x in c.experts()] == ["base", "late"] and c.limits()["k"] == 1000


def vectors(c: Client) -> None:
    texts = ["rice", "the lamp " * 400, "rice"]
    got = c.embed(texts)
    assert got.shape == (3, 32) and got.dtype == np.float32
    import httpx

    asked = {"expert": "base", "input": texts, "kind": "question"}
    sent = httpx.post(url + "/v1/embed", json=asked).json()["embeddings"]
    assert (got == np.array(sent, dtype=np.float32)).all(), "npy and JSON differ"


def passages(c: Client) -> None:
    note = Passage("notes/ü 1%", "Green tea is brewed below the boiling point.", title="Tea", metadata={"hot": True})
    written = c.put(note, if_absent=True, visible=True)
    stored = c.passage(note.id)
    assert written.status == "created" and stored.version == written.version and stored.metadata == {"hot": True}
    assert code(lambda: c.put(note, if_version="another")) == "version_mismatch"
    assert code(lambda: c.delete("nobody")) == "unknown_passage"
    assert [p.id for p in c.passages()] == ["foxes", "lamps/1", note.id, "rice"]
    assert c.delete(note.id, if_version=stored.version, visible=True).status == "deleted"

    many: list[Passage | dict[str, Any]] = [
        Passage(f"many/{i}", f"Lamp number {i} of the long street.") for i in range(600)
    ]
    many[7] = {"id": "many/7", "text": ""}
    lines = list(c.upload(many, visible=True))
    assert [line.line for line in lines] == list(range(1, 601))
    assert [i for i, line in enumerate(lines) if line.status != "created"] == [7] and lines[7].error is not None
    assert c.search("lamp number 599", k=1).results[0].id == "many/599"
    assert [line.status for line in c.upload([{"id": ""}])] == ["rejected"]


def documents(c: Client) -> None:
    handbook = b"# Returns\n\nSend a photo of the damage first."
    put = c.put_document("guide/ü 1%.md", handbook, tags=["service"], metadata={"year": 2026}, visible=True)
    assert put.status == "created", put
    found = c.document("guide/ü 1%.md")
    assert (found.title, found.passages, found.metadata, found.version) == ("Returns", 1, {"year": 2026}, put.version)
    assert found.text == "Returns\n\nSend a photo of the damage first." and found.tags == ["service"]
    assert code(lambda: c.put_document("guide/ü 1%.md", b"x", if_version="another")) == "version_mismatch"
    assert code(lambda: c.put_document("bad.docx", b"PK\x03\x04")) == "unreadable_document"
    assert [d.id for d in c.documents(prefix="guide/", match="RETURNS")] == [found.id]
    site = "https://docs.example.org/"
    assert code(lambda: c.add_site(site, site=True, tags=["a"], exclude=["/b/"], pages=9)) == "host_not_allowed"
    assert c.search("photo of the damage", k=1).results[0].id == found.id + "#1"
    assert [(one.text, one.kind) for one in c.suggest("retu", limit=1)] == [("Returns", "document")]
    assert c.delete_document(found.id, visible=True).status == "deleted" and list(c.documents()) == []


def jobs(c: Client) -> None:
    done = c.wait(c.delete_passages(tags_any=["kitchen"]))
    assert done.state == "done" and done.result["deleted"] == 1
    assert c.count_passages(filter={"field": "nobody", "exists": True}) == 0
    assert c.count_passages(filter={"field": "nobody", "exists": False}) > 0
    made = c.wait(c.snapshot("monday"))
    assert made.result["folder"].endswith("monday") and [j.id for j in c.jobs()] == [made.id, done.id]
    assert code(lambda: c.cancel(done.id)) == "job_ended"
    assert [kept["name"] for kept in c.snapshots()] == ["monday"]
    c.remove_snapshot("monday")
    assert c.snapshots() == [] and code(lambda: c.remove_snapshot("monday")) == "unknown_snapshot"


def administers(c: Client) -> None:
    rice = "how long does cooked rice keep"
    said = {q: c.search(q).verdict for q in (rice, "who hid the lamp under his coat", "xylophone tuning")}
    lost, found = c.unanswered(), c.answered()
    assert {q.question: q.verdict for q in lost} == {q: v for q, v in said.items() if v != "found"} and lost
    assert {q.question for q in found} == {q for q, v in said.items() if v == "found"} and found
    assert found[0].asked == 1 and found[0].offered and not found[0].restricted
    assert c.remove_answered("nobody asked this") == 0 and c.remove_answered(found[0].question) == 1
    assert c.remove_unanswered() == len(lost) and c.unanswered() == []
    c.judge(rice, "rice", answers=True)
    assert code(lambda: c.judge(rice, "nobody", answers=False)) == "unknown_passage"

    settings = c.settings()
    assert settings == Settings(), settings
    settings.synonyms = [{"words": ["lamp", "lantern"]}, {"from": ["NYC"], "to": ["New York"]}]
    settings.overrides = [{"questions": ["Who hid the lamp?"], "pin": ["rice"], "hide": ["foxes"]}]
    settings.fields = {"page": "keyword"}
    put = c.put_settings(settings)
    assert put == c.settings() and put.synonyms == settings.synonyms and put.overrides == settings.overrides
    assert [(m["field"], m["passages"]) for m in put.misfits] == [("page", 1)]
    ids = [r.id for r in c.search("who hid the lamp", k=20).results]
    assert ids[0] == "rice" and "foxes" not in ids, ids
    put.overrides = []
    assert c.put_settings(put).overrides == [] and c.search("who hid the lamp").results[0].id == "lamps/1"
    assert code(lambda: c.put_settings(Settings(overrides=[{"questions": ["when"]}]))) == "out_of_range"


def broken_connections(flaky: str) -> None:
    # Each client makes a connection, and every other one breaks.
    with Client(flaky) as c:
        assert c.search("rice").results
    with Client(flaky) as c:
        try:
            c.delete_passages(tags_any=["x"])
        except Problem as problem:
            raise AssertionError("a server answered") from problem
        except Exception:
            return
        raise AssertionError("what would be done twice was sent again")


def retries() -> None:
    with Client(url) as c:
        for _ in range(3):
            c.experts()
    refused = None
    with Client(url, attempts=1) as c:
        while refused is None:
            try:
                c.experts()
            except Problem as problem:
                refused = problem
    assert refused.code == "rate_limited" and refused.retry_after == 1


async def asynchronously() -> None:
    async with AsyncClient(url) as c:
        found = await asyncio.gather(*(c.search(f"lamp number {i}", k=1) for i in range(500, 520)))
        assert [a.results[0].id for a in found] == [f"many/{i}" for i in range(500, 520)]
        assert (await c.embed(["x"])).shape == (1, 32)
        assert [(await c.put(Passage("a", "one"), visible=True)).status, (await c.passage("a")).text] == [
            "created",
            "one",
        ]
        assert [w.status async for w in c.upload([Passage("a", "one"), Passage("b", "two")], visible=True)] == [
            "unchanged",
            "created",
        ]
        assert len([p.id async for p in c.passages()]) == len(list(Client(url).passages()))
        assert (await c.wait(await c.snapshot())).state == "done"
        assert len(await c.snapshots()) == 1 and await c.unanswered() == [] == await c.answered()
        assert await c.put_settings(await c.settings()) == Settings()
        try:
            await c.passage("nobody")
        except Problem as problem:
            assert problem.status == 404
        else:
            raise AssertionError("there is no such passage")


if part == "busy":
    retries()
elif part == "administers":
    with Client(url) as client:
        administers(client)
else:
    with Client(url) as client:
        for step in (searches, vectors, passages, documents, jobs):
            began = time.monotonic()
            step(client)
            print(f"{step.__name__}: {time.monotonic() - began:.2f} s")
    broken_connections(sys.argv[3])
    asyncio.run(asynchronously())
