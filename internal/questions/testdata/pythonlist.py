"""Writes pythonlist.json: what Python's own parser makes of lists as Python prints
them, and of texts that are none. Run it again after changing the texts:
python3 pythonlist.py"""
import ast
import json
import random
import warnings
from pathlib import Path

warnings.simplefilter("ignore")  # of escapes that Python does not know

BY_HAND = [
    "[]", "[ ]", "['a']", "[,]", "['a',,]", "['a', 'b'", "'a'", "['a'] x", "['it\\'s']", '["it\'s"]', '["\\"quoted\\""]', '["it\\\'s"]',
    "['\\\\']", "['\\']", "['\\x41\\u00f6\\U0001F600']", "['\\x4']", "['\\u12']", "['\\U00110000']", "['\\d\\s\\w\\.']", "[ur'a']", "[b'a']",
    "[f'a']", "[1]", "['a', 1]", "[None]", "[['a']]", "('a', 'b')", "{'a'}", "['a\nb']", "[\n'a',\n 'b'\n]", "['a'+'b']",
    "['\\a\\b\\f\\n\\r\\t\\v']", "[__import__('os').system('true')]", "['é', 'ö', '日本']", "['\t']", "['\\8']", "['\\x 1']", "['\\xAf']",
    "['\\u00E9']", "", "[", "]", "['", "['a\\",
]
ALPHABET = ["'", '"', "\\", "[", "]", ",", " ", "a", "n", "x", "4", "0", "u", "r", "é", "\n", "\t", "\x7f", "\xa0", "\u200b", "日", "😀", "', '", "\\x41"]


def verdict(text):
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return {"text": text, "error": True}
    if not (isinstance(value, list) and all(isinstance(v, str) for v in value)):
        return {"text": text, "error": True}
    return {"text": text, "value": value}


def main():
    rng = random.Random(13)
    texts = list(BY_HAND)
    while len(texts) < 300:
        texts.append(repr(["".join(rng.choice(ALPHABET) for _ in range(rng.randrange(8))) for _ in range(rng.randrange(1, 4))]))
    out = Path(__file__).with_suffix(".json")
    lines = ",\n".join(json.dumps(verdict(t), ensure_ascii=True) for t in dict.fromkeys(texts))
    out.write_text("[\n" + lines + "\n]\n")


main()
