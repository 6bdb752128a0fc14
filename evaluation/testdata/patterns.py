"""Writes patterns.json: what DPR's regex_match says, that is Python's regex
module (regex==2026.11.15) on text and pattern in NFD, case-insensitive,
multi-line. Of \\s, \\d, \\w and \\b there is what Python and Go agree on: ASCII.
Run it again after changing the lists: python3 patterns.py"""
import json
import unicodedata
from pathlib import Path

import regex

PATTERNS = [
    r"^foo$", r"\bcat\b", r"\bcaf\b", r"caf\b", r"July\s4", r"[\s,]4\b", r"R.ntgen", r"R..ntgen", "[ö]",
    r"(unclosed", r"\d{4}", r"\b\d+\b", r"\w+é", r"\W\d", r"a\Sb", r"\bNew York\b|\bNYC\b", r"U\.?S\.?\b", r"\bU\.S\.", r"1[,\.]?600",
    r"\b(one|two)\b (\bthree\b)?", r"\b\bcat", r"cat\b\b.", r"^\bfoo\b$", r"don['’]t", r"[^a-z]\b5", r"Ünïcödé", r"STRASSE",
    r"straße", r"ﬁ", r"a{2,3}\b", r"(?:ab)+\b", r".\bcat", r"\b.at", r"^.*\bend$", r"\d+\s?(km|kilomet(er|re)s?)\b", r"²", r"\b5²", r"_\b",
    r"\ba\b_", r"[\w ]+!", r"[\d]+", r"\bII\b", r"σ",
]
TEXTS = [
    "foo", "bar\nFoo\nbaz", "a cat.", "concatenate", "cat", "cats and cat\n", "café", "cafés", "un CAFÉ noir", "caf e", "July 4", "july,4",
    "Röntgen", "Ro\u0308ntgen", "Rontgen", "o", "in 1984, say", "pré", "a-5", "a5", "a b", "axb", "in New York, NY", "NewYork NYC",
    "the U.S. army", "US", "USA", "1600", "1,600", "1.600", "one three", "two", "x–y", "don’t", "DON'T", "ünïcödé", "Straße", "STRASSE", "straSSe",
    "ﬁne", "aaaa", "aaa b", "ababc", "abab", "the end", "the\nend", "100 km", "100kilometres", "5 kmh", "5²", "a_b", "_ a _", "wow so!", "World War II",
    "World War Ⅱ", "ΟΔΟΣ οδος", "С новым", "", "\u200da",
]


def main():
    cases = []
    for pattern in PATTERNS:
        nfd = unicodedata.normalize("NFD", pattern)
        try:
            compiled = regex.compile(nfd, flags=regex.IGNORECASE + regex.UNICODE + regex.MULTILINE)
        except regex.error:
            cases.append({"pattern": pattern, "bad": True})
            continue
        hits = [t for t in TEXTS if compiled.search(unicodedata.normalize("NFD", t))]
        cases.append({"pattern": pattern, "hits": hits})
    body = ",\n".join(json.dumps(c, ensure_ascii=True) for c in cases)
    text = json.dumps(TEXTS, ensure_ascii=True)
    Path(__file__).with_suffix(".json").write_text('{"texts": ' + text + ',\n"cases": [\n' + body + "\n]}\n")


main()
