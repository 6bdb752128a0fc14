"""Asks a server of a website's collection questions whose pages are known, and prints how many have one of them first and
among ten.

Each line of the questions has a question and, behind a tab, the names of the pages that answer it:

    apt-get download postgresql-doc-15 && dpkg -x postgresql-doc-15_*.deb doc
    python3 -m http.server --directory doc/usr/share/doc/postgresql-doc-15/html --bind 127.0.0.1 8000 &
    conclave index --collection manual --in http://127.0.0.1:8000/
    conclave serve --collection manual &
    python3 research/bench/sites/ask.py http://127.0.0.1:8080 research/bench/sites/postgresql.tsv
"""

import json
import sys
import urllib.request


def ask(server: str, question: str) -> list[str]:
    """The names of the pages that the first ten results are from."""
    body = json.dumps({"question": question, "k": 10}).encode()
    request = urllib.request.Request(server + "/v1/search", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        results = json.load(answer)["results"]
    return [result["document"]["id"].rsplit("/", 1)[1] for result in results]


def main() -> None:
    server, questions = sys.argv[1:]
    first = among = 0
    with open(questions, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    for question, pages in lines:
        found = [name in pages.split() for name in ask(server, question)]
        first += found[:1] == [True]
        among += True in found
        place = found.index(True) + 1 if True in found else "-"
        print(f"{place:>2}  {question}")
    print(f"{first} of {len(lines)} first, {among} among ten")


if __name__ == "__main__":
    main()
