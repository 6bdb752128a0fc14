"""An ensemble for an expert whose model is behind an interface: trained through a server, named, calibrated, asked."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from conclave_train.bundle.ensemble_graph import load_members
from conclave_train.cli import main
from conclave_train.data.records import Domain
from conclave_train.errors import TrainingError
from conclave_train.finding.server import Server
from conftest import cached, tiny_domain, write_checkpoint, write_domain
from test_joint import run
from test_labelled import conclave

DOMAIN = tiny_domain(questions=8)


@contextmanager
def serving(at: Path) -> Iterator[str]:
    """The address of a conclave serve in the folder, which ends with the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with subprocess.Popen([conclave(), "serve", "--listen", address], cwd=at, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(600):
                assert process.poll() is None, "the server has ended"
                try:
                    Server(f"http://{address}", quiet=True).rankings(["x"], 1)
                    break
                except TrainingError:
                    time.sleep(0.1)
            yield f"http://{address}"
        finally:
            process.terminate()


def lines(domain: Domain, folder: Path) -> tuple[str, str]:
    """The files of passages and of questions in the folder of a domain."""
    data = write_domain(folder, domain)
    return str(data / "passages.jsonl"), str(data / "questions.train.jsonl")


def test_an_ensemble_for_an_expert_of_another_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = conclave()
    cached("bundles")  # and with them the runtime
    monkeypatch.chdir(tmp_path)
    passages, questions = lines(DOMAIN, tmp_path / "data")
    peer, own = tmp_path / "peer", tmp_path / "own"
    peer.mkdir()
    own.mkdir()
    checkpoint = write_checkpoint(tmp_path / "checkpoint")
    run(program, "models", "import", checkpoint, "--name", "away", "--out", peer / "experts" / "away", "--unchecked",
        at=peer)  # fmt: skip
    (peer / "conclave.yaml").write_text("collection: c\n")
    run(program, "index", "--collection", "c", "--in", passages, "--experts", "away", at=peer)
    with serving(peer) as served:
        settings = f"collection: c\nexperts: [{{name: hosted, address: {served}/v1, model: away"
        (own / "conclave.yaml").write_text(settings + "}]\n")
        run(program, "index", "--collection", "c", "--in", passages, "--experts", "hosted", at=own)
        with serving(own) as url:
            given = ["--url", url, "--expert", "hosted", "--passages", passages, "--questions", questions]
            few = ["--members", "4", "--hidden", "8", "--ensemble-epochs", "2", "--ensemble-batch", "8"]
            assert main(["ensemble", *given, "--out", "made", *few, "--device", "cpu"]) == 0
            vectors = Server(url, quiet=True).vectors("hosted", "question", [q.text for q in DOMAIN.questions[:300]])
            assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)
        assert capsys.readouterr().out.strip() == "made/ensemble.onnx"
        assert load_members(tmp_path / "runs" / "hosted-ensemble" / "ensemble.safetensors").members == 4
        (own / "conclave.yaml").write_text(f"{settings}, ensemble: {tmp_path}/made/ensemble.onnx}}]\n")
        run(program, "calibrate", "--collection", "c", "--questions", questions, at=own)
        with serving(own) as url:
            asked = {"question": DOMAIN.questions[0].text, "fusion": "muf", "explain": True}
            found = Server(url, quiet=True)._ask("/v1/search", asked)
            sure = {source["name"]: source.get("confidence") for source in found["sources"]}
            assert found["fusion"] == "muf" and 0 <= sure["hosted"] <= 1 and found["results"], found
    for wrong in (["--url", "http://127.0.0.1:9"], ["--bundle", "x", "--url", "u", "--expert", "e"], []):
        assert main(["ensemble", *wrong, "--passages", passages, "--questions", questions]) == 1
        assert "give --bundle, or --url and --expert" in capsys.readouterr().err
