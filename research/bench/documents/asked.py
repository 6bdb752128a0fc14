"""Asks the questions of asked.jsonl about real files, indexed with the default commands.

    sh research/bench/documents/files.sh out/asked
    python research/bench/documents/asked.py --files out/asked/files --conclave bin/conclave

A result answers if it is of the question's file and has the words of an answer, which somebody read there. Printed are the
shares of questions of which the first result answers, and one of the first five; and of those about PDF, of which one answers,
how often that result names a page on which pdftotext, too, has the words. --pages writes these pages into asked.jsonl.
"""
import argparse, json, pathlib, re, socket, subprocess, tempfile, time, unicodedata, urllib.request

args = argparse.ArgumentParser()
args.add_argument("--files", type=pathlib.Path, required=True)
args.add_argument("--conclave", default="bin/conclave")
args.add_argument("--pages", action="store_true")
args.add_argument("--verbose", action="store_true")
a = args.parse_args()
at = pathlib.Path(__file__).with_name("asked.jsonl")
asked = [json.loads(line) for line in at.read_text().splitlines()]
plain = lambda text: "".join(c for c in unicodedata.normalize("NFKC", text).lower() if c.isalnum())
if a.pages:
    for q in asked:
        if q["file"].endswith(".pdf"):
            text = subprocess.run(["pdftotext", "-layout", str(a.files / q["file"]), "-"], capture_output=True).stdout.decode()
            flat = re.sub(r"-\n[ \t]*", "", text)
            q["pages"] = [i + 1 for i, page in enumerate(flat.split("\f")) if any(plain(words) in plain(page) for words in q["answers"])]
    at.write_text("".join(json.dumps(q, ensure_ascii=False) + "\n" for q in asked))
with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
    collection = folder + "/c"
    began = time.time()
    subprocess.run([a.conclave, "index", "--collection", collection, "--in", str(a.files)], check=True, capture_output=True)
    print(f"{len(asked)} questions about {len(set(q['file'] for q in asked))} of {len(list(a.files.iterdir()))} files, "
          f"indexed in {time.time() - began:.0f} s")
    free.bind(("127.0.0.1", 0))
    address = "127.0.0.1:%d" % free.getsockname()[1]
    free.close()
    server = subprocess.Popen([a.conclave, "serve", "--collection", collection, "--listen", address], stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://{address}/readyz")
                break
            except OSError:
                time.sleep(0.1)
        first = five = pages = paged = 0
        for q in asked:
            body = json.dumps({"question": q["question"], "k": 5}).encode()
            request = urllib.request.Request(f"http://{address}/v1/search", body, {"Content-Type": "application/json"})
            results = json.load(urllib.request.urlopen(request))["results"]
            texts = [plain(r.get("title", "") + " " + r["text"]) if r["document"]["id"] == q["file"] else "" for r in results]
            answers = [any(plain(words) in text for words in q["answers"]) for text in texts]
            first += answers[:1] == [True]
            five += any(answers)
            right = None
            if any(answers) and q.get("pages"):
                result = results[answers.index(True)]
                end = result.get("page_end", result["page"])
                right = any(result["page"] <= page <= end for page in q["pages"])
                paged += 1
                pages += right
            if a.verbose and (answers[:1] != [True] or right is False):
                print(f"  {q['question']} ({q['file']}): {answers.index(True) + 1 if any(answers) else 'not'} found, page right: {right}")
                for r in results[:2]:
                    print("     ", r["id"], r.get("page"), r["text"][:90].replace("\n", " "))
        print(f"first {first / len(asked):.2f}, in five {five / len(asked):.2f}, page {pages}/{paged} = {pages / max(1, paged):.2f}")
    finally:
        server.terminate()
        server.wait()
