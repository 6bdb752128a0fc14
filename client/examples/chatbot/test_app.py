"""The chatbot over a conclave server, with a model that says what it is told: test_app.py URL."""

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

asked: list[dict] = []  # what the model was asked
told: list[str] = []  # what it says


class Model(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))) | {"path": self.path})
        status, text = (200, told.pop(0)) if told else (500, "")
        body = json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]}).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


model = HTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=model.serve_forever, daemon=True).start()
os.environ |= {"CONCLAVE_URL": sys.argv[1], "MODEL_URL": f"http://127.0.0.1:{model.server_port}/v1"}

from app import app  # noqa: E402 (it reads the environment)
from fastapi.testclient import TestClient  # noqa: E402

with TestClient(app) as client:

    def chat(question: str, history: tuple = ()) -> dict:
        response = client.post("/chat", json={"question": question, "history": list(history)})
        assert response.status_code == 200, response.text
        return response.json()

    # With passages that answer, the model is asked, and its citations are the passages that it names.
    told.append("She was vain, and wanted the dark [1], as some foxes do [1][9].")
    reply = chat("why did the fox hide the moon")
    assert reply["answer"].startswith("She was vain") and reply["verdict"] == "found", reply
    assert [(c["number"], c["id"]) for c in reply["citations"]] == [(1, "tales.pdf#8")], reply
    prompt = asked[-1]["messages"][-1]["content"]
    assert asked[-1]["path"] == "/v1/chat/completions" and prompt.endswith("Question: why did the fox hide the moon")
    assert (
        "[1] Thirteen tales › The Fox and the Borrowed Moon\n" in prompt and "[5] " in prompt and "[6] " not in prompt
    )

    # The words that answer are marked in what is cited; on a busy machine the reader may be late.
    for _ in range(5):
        told.append("A pine [1].")
        [passage] = chat("what did the fox climb to ask the Moon to come down?")["citations"]
        if passage["marked"]:
            break
    assert [m["text"] for m in passage["marked"]] == ["the tallest pine on the Ridge of Combs"], passage
    assert all(passage["text"].encode()[m["start"] : m["end"]].decode() == m["text"] for m in passage["marked"])

    # What was said before is passed on.
    told.append("At night [1].")
    chat("when does the fox hide the moon", ({"role": "user", "content": "Who hid it?"},))
    assert [m["role"] for m in asked[-1]["messages"]] == ["system", "user", "user"]

    # What cites nothing, or nothing that is there, is not passed on.
    for uncited in ("The moon is made of cheese.", "It is cheese [7]."):
        told.append(uncited)
        assert chat("why did the fox hide the moon") == {
            "answer": "I don't know.",
            "verdict": "found",
            "citations": [],
        }

    # Where nothing answers, the model is not asked.
    before = len(asked)
    reply = chat("how do I install the graphics driver on linux")
    assert reply["answer"] == "I don't know." and reply["verdict"] == "not_found" and reply["citations"] == [], reply
    assert len(asked) == before

    # A model that fails is told of.
    assert client.post("/chat", json={"question": "why did the fox hide the moon"}).status_code == 502
    assert client.post("/chat", json={"question": ""}).status_code == 422
