"""Writes pythonlist.json: what Python's own parser makes of texts that look like
lists of strings. Run it again after changing the texts: python3 pythonlist.py"""
import ast
import json
import random
import warnings
from pathlib import Path

warnings.simplefilter("ignore")  # of escapes that Python does not know

BY_HAND = [
    "[]", "[ ]", "['a']", "['a',]", "[,]", "['a',,]", "['a' 'b']", "['a'\"b\", 'c']", "['a', 'b'", "'a'", "['a'] x",
    "['it\\'s']", '["it\'s"]', '["\\"quoted\\""]', "['\\\\']", "['\\']", "['\\x41\\u00f6\\U0001F600']", "['\\x4']", "['\\u12']",
    "['\\U00110000']", "['\\101\\60\\0']", "['\\777']", "['\\d\\s\\w']", "[r'\\d\\'x']", "[r'\\']", "[R\"a\\\"b\"]", "[u'a', U'b']",
    "[ur'a']", "[b'a']", "[f'a']", "[1]", "['a', 1]", "[None]", "[['a']]", "('a', 'b')", "{'a'}", "['a\nb']", "['a\\\nb']",
    "[\n'a',\n 'b'\n]", "['a'+'b']", "['\\a\\b\\f\\n\\r\\t\\v']", "[__import__('os').system('true')]", "['é', 'ö', '日本']", "['\t']",
    "[''] ", " ['a']", "['a' , 'b' , ]", "['\\8']", "['\\x 1']", "['\\xAf']", "['\\u00E9']", "", "[", "]", "['", "['a\\", "[r'a\\",
]
ALPHABET = ["'", "'", '"', "\\", "[", "]", ",", " ", "a", "n", "x", "4", "0", "1", "u", "r", "é", "\n", "\\'", "\\x41", "'a'", '"b"', ", "]


def verdict(text):
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return {"text": text, "error": True}
    if not (isinstance(value, list) and all(isinstance(v, str) for v in value)):
        return {"text": text, "error": True}
    return {"text": text, "value": value}


def literal(rng):
    quote = rng.choice("'\"")
    body = "".join(rng.choice(ALPHABET) for _ in range(rng.randrange(6)))
    if rng.random() < 0.7:  # likely to be a text
        body = body.replace("\n", "").replace(quote, "\\" + quote).replace("\\u", "v").rstrip("\\")
    return rng.choice(["", "", "", "u", "r"]) + quote + body + quote


def main():
    rng = random.Random(13)
    texts = list(BY_HAND)
    while len(texts) < 600:
        texts.append("[" + rng.choice([", ", ",", " "]).join(literal(rng) for _ in range(rng.randrange(1, 4))) + "]")
        if rng.random() < 0.5:  # damaged
            at = rng.randrange(len(texts[-1]))
            texts[-1] = texts[-1][:at] + rng.choice(ALPHABET) + texts[-1][at + rng.randrange(2) :]
        if any(unwanted in texts[-1] for unwanted in ("'''", '"""', "]\\\n", " \\\n")):
            texts.pop()  # what conclave does not take although Python does: see the test
    out = Path(__file__).with_suffix(".json")
    lines = ",\n".join(json.dumps(verdict(t), ensure_ascii=True) for t in dict.fromkeys(texts))
    out.write_text("[\n" + lines + "\n]\n")


main()
