"""Talks to the server with the chat program `llm`, in which a person asks twice. Prints what it got as JSON."""
import json
import os
import subprocess
import sys
from pathlib import Path

models = Path("models")
models.mkdir()
(models / "extra-openai-models.yaml").write_text(json.dumps([
    {"model_id": "conclave", "model_name": "conclave", "api_base": sys.argv[1] + "/v1", "api_key_name": "conclave"}
]))
environment = {**os.environ, "LLM_USER_PATH": str(models.resolve()), "OPENAI_API_KEY": "none"}
llm = [sys.executable, "-m", "llm"]


def run(*arguments, typed=""):
    done = subprocess.run([*llm, *arguments], input=typed, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{arguments}: {done.stderr}")
    return done.stdout


run("keys", "set", "conclave", "--value", "none")
print(json.dumps({
    "whole": run("--no-stream", "-m", "conclave", sys.argv[2]).rstrip(),
    "pieces": [run("-m", "conclave", sys.argv[2]).rstrip()],
    "chat": run("chat", "-m", "conclave", typed=sys.argv[2] + "\nand where?\nquit\n"),
}))
