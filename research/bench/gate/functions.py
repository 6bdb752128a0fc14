"""A domain of code: functions of Python's own library, to be found by what they do.

The question is the first paragraph of a function's docstring, the passage the function
without docstring and comments. What comes out depends on the version of Python.
"""

import ast
import json
import os
import random
import sys
import sysconfig

SKIPPED = {"site-packages", "test", "tests", "idlelib", "turtledemo", "lib2to3", "__pycache__", "ensurepip"}
PASSAGES, QUESTIONS = 2500, 600

found, seen = [], set()
for folder, below, files in os.walk(sysconfig.get_paths()["stdlib"]):
    below[:] = sorted(d for d in below if d not in SKIPPED)
    for file in sorted(f for f in files if f.endswith(".py")):
        try:
            tree = ast.parse(open(os.path.join(folder, file), encoding="utf-8").read())
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            doc = ast.get_docstring(node)
            if not doc or len(node.body) < 2:
                continue
            question = " ".join(doc.strip().split("\n\n")[0].split())
            node.body = node.body[1:]
            code = ast.unparse(node)
            if 4 <= len(question.split()) <= 40 and len(code.split()) >= 12 and question not in seen:
                seen.add(question)
                found.append((question, code[:3000]))
random.seed(1)
random.shuffle(found)
with open(sys.argv[1], "w", encoding="utf-8") as passages, open(sys.argv[2], "w", encoding="utf-8") as questions:
    for i, (question, code) in enumerate(found[:PASSAGES]):
        passages.write(json.dumps({"id": f"f{i}", "text": code}) + "\n")
        if i < QUESTIONS:
            questions.write(json.dumps({"id": f"q{i}", "question": question, "positive_ids": [f"f{i}"]}) + "\n")
