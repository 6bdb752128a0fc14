"""The chatbot over a conclave server, whose generator says the same to every question: test_app.py URL."""

import os
import sys

os.environ["CONCLAVE_URL"] = sys.argv[1]

from app import app  # noqa: E402 (it reads the environment)
from fastapi.testclient import TestClient  # noqa: E402

with TestClient(app) as client:

    def chat(question: str, history: tuple = ()) -> dict:
        response = client.post("/chat", json={"question": question, "history": list(history)})
        assert response.status_code == 200, response.text
        return response.json()

    # The generator's answer comes with what it cites, or with the passage that says it; what is in none is marked.
    reply = chat("why did the fox hide the moon")
    assert reply["answer"].startswith("She was in love with her own reflection ["), reply
    assert "Geneva bored her [1]. (not in the passages that are cited)" in reply["answer"], reply
    assert reply["verdict"] == "found" and len(reply["citations"]) == 2, reply
    first = reply["citations"][0]
    assert reply["answer"][first["start_index"] : first["end_index"]] in ("[1]", "[2]", "[3]"), reply
    assert "The Fox and the Borrowed Moon" in first["title"] and first["url"].startswith(sys.argv[1]), reply

    # A follow-up is asked behind what was said before.
    before = ({"role": "user", "content": "why did the fox hide the moon"}, {"role": "assistant", "content": "Love."})
    assert "The Fox and the Borrowed Moon" in chat("and where did she hide it?", before)["citations"][0]["title"]

    # Where nothing answers, the model is not asked.
    reply = chat("how do I install the graphics driver on linux")
    assert reply["answer"].startswith("I find no answer to this in ") and reply["verdict"] == "not_found", reply
    assert reply["citations"] == [], reply

    assert client.post("/chat", json={"question": ""}).status_code == 422
    os.environ["MODEL"] = "nobody"
    assert client.post("/chat", json={"question": "why did the fox hide the moon?"}).status_code == 502
