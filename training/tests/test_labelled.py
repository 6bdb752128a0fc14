"""An expert from questions and answers whose passages a search finds: labels, rounds, what no gain says."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from conclave_train.bundle.manifest import read_manifest
from conclave_train.cli import main
from conclave_train.data.records import Domain, Passage, Question
from conclave_train.end_to_end import EndToEndJob
from conclave_train.errors import Interrupted, NoGainError, TrainingError
from conclave_train.feedback.holders import Holders
from conclave_train.finding.hits import Hit, Ranking
from conclave_train.finding.labels import Labelled, label, standing
from conclave_train.finding.program import Collection, Program, read_trec
from conclave_train.finding.server import Server
from conclave_train.fit.encode import Device, encode_all
from conclave_train.labelled import _advice, train_labelled
from conclave_train.model.checkpoint import read_checkpoint
from conclave_train.model.delta import load_merged, read_delta
from conclave_train.retrieval.accuracy import search
from conclave_train.settings import EndToEndSettings
from conftest import After, cached, contents, tiny_domain, write_checkpoint, write_domain
from test_end_to_end import other_reader

DOMAIN = tiny_domain(questions=24)
QUICK = EndToEndSettings(
    hits=8, epochs=15, batch=24, learning_rate=3e-3, temperature=0.1, rank=24, most_common=0.2, hold_out=0.25,
    question_tokens=16, passage_tokens=24, chunk=24,
)  # fmt: skip


def passages(*texts: str) -> list[Passage]:
    return [Passage(str(i), "", text) for i, text in enumerate(texts)]


def ranking(*places: int) -> Ranking:
    """The passages at these places, each a unit below the one before."""
    return [Hit(str(p), 5.0 - r) for r, p in enumerate(places)]


def test_the_first_passage_with_an_answer() -> None:
    """By hand: q0's is the second found, since the first has no answer; q1's is in no passage; q2's is not found."""
    asked = [Question(f"q{i}", "?", (), (answer,)) for i, answer in enumerate(("red", "yellow", "green"))]
    domain = Domain("d", passages("a red fox", "the blue hare", "a red hare", "nothing", "green"), asked)
    found = [ranking(1, 2, 3, 0), ranking(0, 1), ranking(0, 1)]
    got = label(domain, [*found[:1], [*found[1], Hit("elsewhere", 0.0)], found[2]], Holders(domain.passages, 1), 4, 5)
    first, *rest = got.questions
    assert first is not None
    assert (first.positives, first.negatives) == (("2",), ("1", "3"))
    assert rest == [None, None]
    assert (got.asked, got.count, got.nowhere, got.unfound, got.ambiguous, got.changed) == (3, 1, 1, 1, 1, 0)


def test_the_judge_decides_among_several() -> None:
    """log p(a|q,z) + score: -3 + 5 for the first, -1.5 + 4 for the second; of the third it is not asked."""
    domain = Domain("d", passages("red one", "red two", "red three"), [Question("q", "?", (), ("red",))])
    seen: list[tuple[int, int]] = []

    def judge(pairs: list[tuple[int, int]]) -> list[float]:
        seen.extend(pairs)
        return [{0: -3.0, 1: -1.5}[p] for _, p in pairs]

    got = label(domain, [ranking(0, 1, 2)], Holders(domain.passages, 1), 2, 5, judge)
    assert seen == [(0, 0), (0, 1)]
    assert got.questions[0] is not None
    assert (got.questions[0].positives, got.changed) == (("1",), 1)
    assert got.questions[0].negatives == ()


def test_standing() -> None:
    wanted: list[set[str]] = [{"1", "2"}, {"0"}, {"7"}]
    found = standing([ranking(0, 2, 1), ranking(0), ranking(1)], wanted)
    assert found == pytest.approx({"top-1": 100 / 3, "top-5": 200 / 3, "top-20": 200 / 3, "mrr@10": 50.0})


@dataclass(frozen=True)
class Dense:
    """A collection in memory: what a tiny base finds, and after it what an expert finds."""

    base: Path
    passages: Sequence[Passage]
    expert: Path | None = None
    spoiled: bool = False

    def rankings(self, questions: Sequence[str], depth: int) -> list[Ranking]:
        checkpoint = read_checkpoint(self.base)
        model = checkpoint.model()
        if self.expert:
            model = load_merged(checkpoint, read_delta(self.expert / "delta.safetensors"))
        tokens = checkpoint.tokens
        q = encode_all(model.question, tokens.questions(list(questions), 48), tokens, Device())
        p = encode_all(model.passage, tokens.passages(self.passages, "title-dot-text", 48), tokens, Device())
        places, scores = search(q, p, depth)
        return [
            [Hit(self.passages[int(at)].id, float(s)) for at, s in zip(row, values, strict=True)][20 * self.spoiled :]
            for row, values in zip(places, scores, strict=True)
        ]

    def with_expert(self, bundle: Path, name: str) -> Dense:
        return replace(self, expert=bundle)

    def describe(self) -> str:
        return "a tiny base"

    def identity(self) -> str:
        return "tiny"


@dataclass(frozen=True)
class Spoiled(Dense):
    """One whose first answers are lost with an expert."""

    def with_expert(self, bundle: Path, name: str) -> Dense:
        return replace(Dense(self.base, self.passages), expert=bundle, spoiled=True)


def job(tmp_path: Path, **changes: Any) -> EndToEndJob:
    base = tmp_path / "base"
    if not base.exists():
        write_checkpoint(base, max_position_embeddings=64)
    plain = EndToEndJob("tiny", (DOMAIN,), base, tmp_path / "experts" / "tiny", tmp_path / "run", QUICK, quiet=True)
    return replace(plain, **changes)


def test_rounds_and_a_resumed_run_give_the_same_bytes(tmp_path: Path) -> None:
    """No marked passage is seen: those of the data are false. Stopped in the first round, and in the second."""
    wrong = replace(DOMAIN, questions=[replace(q, positives=("tiny:0-0",)) for q in DOMAIN.questions])
    plain = job(tmp_path, domains=(wrong,), settings=replace(QUICK, epochs=6, rounds=2, save_every=9))
    finder = Dense(plain.base, DOMAIN.passages)
    whole = train_labelled(replace(plain, out=tmp_path / "whole", run=tmp_path / "r1"), finder)
    delta = read_delta(whole / "delta.safetensors")
    assert delta.towers == ["shared"]
    assert main(["verify", str(whole)]) == 0
    card = (whole / "CARD.md").read_text()
    assert "| passages found by | a tiny base |" in card
    assert "| round | 2 of 2 |" in card
    held = [q.text for q in DOMAIN.questions[::7]]
    wanted = [set(q.positives) for q in DOMAIN.questions[::7]]
    before, after = (standing(f.rankings(held, 40), wanted) for f in (finder, finder.with_expert(whole, "tiny")))
    assert after["top-1"] > before["top-1"] + 20, (before, after)
    parts, stopped = replace(plain, out=tmp_path / "parts", run=tmp_path / "r2"), 0
    for count in (12, 30, 12):
        try:
            train_labelled(replace(parts, stop=After(count)), finder)
        except Interrupted:
            stopped += 1
    assert stopped == 3
    assert contents(train_labelled(parts, finder)) == contents(whole)


def test_two_domains_whose_questions_have_the_same_ids(tmp_path: Path) -> None:
    """Each question gets a passage of its own domain's: only there its word is."""
    domains = []
    for name, topics in (("a", range(6)), ("b", range(6, 12))):
        made = tiny_domain(name=name, questions=24, topics=topics)
        domains.append(replace(made, questions=[replace(q, id=str(i)) for i, q in enumerate(made.questions)]))
    plain = job(tmp_path, domains=tuple(domains), settings=replace(QUICK, limit=60, epochs=8))
    path = train_labelled(plain, Dense(plain.base, [p for d in domains for p in d.passages]))
    assert read_manifest(path)["lineage"]["notes"]["trained on"] == "a, b"
    assert "| training questions | 120 |" in (path / "CARD.md").read_text()


def test_no_gain_writes_nothing_and_says_what_would_help(tmp_path: Path) -> None:
    plain = job(tmp_path)
    with pytest.raises(NoGainError, match=r"the whole answer gains nothing .* What would help: .*positive_ids"):
        train_labelled(plain, Spoiled(plain.base, DOMAIN.passages))
    assert not plain.out.exists()
    found = Labelled([*DOMAIN.questions[:4]], [()] * 4, nowhere=0, unfound=0, ambiguous=3, changed=0)
    assert "a reader that judges (--reader): 3 of 4" in _advice(plain, found)
    assert "reader that judges" not in _advice(replace(plain, reader=tmp_path), found), "it has one"
    assert "a larger --hold-out: 16 questions" in _advice(plain, found, 16)
    assert "--hold-out" not in _advice(plain, found, 60)
    with pytest.raises(NoGainError, match="alone finds no more after training than the base"):
        train_labelled(
            replace(plain, run=tmp_path / "r2", settings=replace(QUICK, learning_rate=1e-9, epochs=1)),
            Dense(plain.base, DOMAIN.passages),
        )


def test_a_reader_judges(tmp_path: Path) -> None:
    plain = job(tmp_path, reader=other_reader(tmp_path), settings=replace(QUICK, epochs=3))
    path = train_labelled(plain, Dense(plain.base, DOMAIN.passages))
    assert "| judged by | the reader reader |" in (path / "CARD.md").read_text()


def test_few_passages_choose_the_checkpoint(tmp_path: Path) -> None:
    """``--select-passages`` is that of fine-tuning, and no number of passages is refused."""
    assert QUICK.expert().select_passages == 2000
    assert replace(QUICK, select_passages=7).expert().select_passages == 7
    with pytest.raises(TrainingError, match="--select-passages: 0 is not positive"):
        train_labelled(job(tmp_path, settings=replace(QUICK, select_passages=0)))


def test_refuses(tmp_path: Path) -> None:
    plain = job(tmp_path)
    with pytest.raises(TrainingError, match=r"there is no program 'no-such-conclave', .* --way feedback"):
        train_labelled(replace(plain, program="no-such-conclave"))
    with pytest.raises(TrainingError, match="--collection, --url: give one of them"):
        train_labelled(replace(plain, collection=tmp_path, url="http://127.0.0.1:1"))
    with pytest.raises(TrainingError, match="--rounds: the expert cannot be added"):
        train_labelled(replace(plain, url="http://127.0.0.1:1", settings=replace(QUICK, rounds=2)))
    with pytest.raises(TrainingError, match=r"http://127\.0\.0\.1:1 gives no answer of conclave"):
        train_labelled(replace(plain, url="http://127.0.0.1:1"))
    with pytest.raises(TrainingError, match="--both-sides, --refit-reader: they are of the other way"):
        train_labelled(replace(plain, settings=replace(QUICK, both_sides=True)))
    foreign = Dense(plain.base, [replace(p, id=f"x{p.id}") for p in DOMAIN.passages])
    with pytest.raises(TrainingError, match="0 of 2,880 are among the passages given here, by their ids"):
        train_labelled(replace(plain, run=tmp_path / "r2"), foreign)
    silent = replace(DOMAIN, questions=[replace(q, answers=()) for q in DOMAIN.questions])
    with pytest.raises(TrainingError, match="no question has answers"):
        train_labelled(replace(plain, domains=(silent,)), foreign)


@pytest.fixture
def address() -> Iterator[str]:
    """A server that speaks as openapi.yaml says; it is busy once, and refuses the question "bad"."""
    busy = [True]

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def answer(self, status: int, body: Any) -> None:
            self.send_response(status)
            self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def do_GET(self) -> None:
            assert self.path == "/v1/limits"
            self.answer(200, {"k": 2, "batch": 2, "defaults": {"k": 10}})

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["searches"]
            assert self.headers["Authorization"] == "Bearer secret"
            if busy.pop() if busy else False:
                return self.answer(429, {"code": "busy", "detail": "wait"})
            assert len(asked) <= 2
            assert all(q["k"] == 2 and q["fields"] == [] for q in asked)
            made = [
                {"code": "invalid", "status": 400, "detail": "it is bad"}
                if q["question"] == "bad"
                else {"results": [{"rank": 1, "id": q["question"], "score": 0.5}]}
                for q in asked
            ]
            return self.answer(200, {"answers": made})

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


def test_asks_a_server(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONCLAVE_KEY", "secret")
    server = Server(address, quiet=True)
    assert server.rankings(["a", "b", "c"], 100) == [[Hit("a", 0.5)], [Hit("b", 0.5)], [Hit("c", 0.5)]]
    with pytest.raises(TrainingError, match="it is bad"):
        server.rankings(["bad"], 100)


def conclave() -> str:
    """The program; the test is skipped where it is not built (make build, or $CONCLAVE)."""
    beside = Path(__file__).parents[2] / "bin" / "conclave"
    found = shutil.which(os.environ.get("CONCLAVE") or str(beside)) or shutil.which("conclave")
    if not found:
        pytest.skip("there is no program conclave: build it, or name it in $CONCLAVE")
    return found


def test_asks_the_program(tmp_path: Path) -> None:
    """It indexes, answers, takes an expert into a copy, and says what is wrong."""
    base = cached("checkpoints", "all-minilm-l6-v2")
    expert = Path(__file__).parents[2] / "shipped" / "wiki"
    if not expert.exists():
        pytest.skip("shipped/wiki is not here: the package stands alone")
    texts = ("The harbour froze in 1963.", "Bread rises with yeast.", "A lighthouse keeper trims the lamp.")
    collection = Collection(Program(conclave()), None, tmp_path / "work", base, quiet=True)
    collection.make(passages(*texts))
    asked = ["when did the harbour freeze?", 'who "trims" the lamp?', "what makes bread rise\u2028?"]
    found = collection.rankings(asked, 3)
    assert [r[0].id for r in found] == ["0", "2", "1"]
    assert all(len(r) <= 3 for r in found)
    before = (collection.work / "collection" / "MANIFEST").read_bytes()
    made = (tmp_path / "work" / "collection.made").stat().st_mtime_ns
    more = collection.with_expert(expert, "mine")
    assert [r[0].id for r in more.rankings(asked, 3)] == ["0", "2", "1"]
    assert (collection.work / "collection" / "MANIFEST").read_bytes() == before
    collection.make(passages(*texts))
    assert (tmp_path / "work" / "collection.made").stat().st_mtime_ns == made
    assert [[h.id for h in r][:1] for r in served(collection.place, asked)] == [["0"], ["2"], ["1"]]
    with pytest.raises(TrainingError, match=r"evaluate failed: .*nowhere"):
        dataclasses.replace(collection, folder=tmp_path / "nowhere").rankings(asked, 3)
    with pytest.raises(Interrupted, match="stopped during conclave evaluate"):
        dataclasses.replace(collection, program=Program(conclave(), lambda: True)).rankings(asked, 3)


def served(collection: Path, asked: list[str]) -> list[Ranking]:
    """What a server of the collection answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [conclave(), "serve", "--collection", str(collection), "--listen", address]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(600):
                try:
                    return Server(f"http://{address}", quiet=True).rankings(asked, 3)
                except TrainingError:
                    assert process.poll() is None
                    time.sleep(0.1)
            raise AssertionError("the server does not answer")
        finally:
            process.terminate()


def test_reads_trec(tmp_path: Path) -> None:
    file = tmp_path / "x.trec"
    file.write_text("q1 Q0 an id 1 2.5 found\nq1 Q0 b 2 -1e-3 found\n")
    assert read_trec(file, 2) == [[], [Hit("an id", 2.5), Hit("b", -0.001)]]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = write_checkpoint(tmp_path / "base", max_position_embeddings=64)
    data = write_domain(tmp_path / "tiny", DOMAIN)
    arguments = ["end-to-end", "--data", str(data), "--base", str(base), "--name", "mine", "--run", str(tmp_path / "r")]
    assert main([*arguments, "--conclave", "no-such-conclave", "--passage-tokens", "48"]) == 1
    assert "give --conclave PROGRAM" in capsys.readouterr().err
    assert main([*arguments, "--url", "ftp://nowhere", "--passage-tokens", "48"]) == 1
    assert "--url: ftp://nowhere gives no answer" in capsys.readouterr().err


def test_manifest_of_what_comes_out(tmp_path: Path) -> None:
    """It is an expert as `expert` makes it: both sides changed, with representatives."""
    plain = job(tmp_path, settings=replace(QUICK, epochs=3))
    path = train_labelled(plain, Dense(plain.base, DOMAIN.passages))
    values = read_manifest(path)
    assert values["representatives"] == "representatives.safetensors"
    assert values["lineage"]["notes"]["trained on"] == "tiny"
