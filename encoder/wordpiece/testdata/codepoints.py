"""Writes codepoints.txt.gz: what Hugging Face tokenizers' BertNormalizer and
BertPreTokenizer make of every Unicode character c in "x" + c + "y".

    pip install tokenizers==0.23.3; python3 codepoints.py

A line is: first last kind, code points in hexadecimal, for one setting that a
line "# lower_case strip_accents" names. Kinds: . kept, - removed, _ space,
p punctuation, i ideograph (spaces around it, a word by itself), h a Hangul
syllable taken apart as chapter 3.12 of the standard says, and =WORDS for
anything else: the words, separated by /, each as code points separated by
commas.
"""
import gzip
import io

from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

split = BertPreTokenizer()


def kind(normal, c):
    s = normal.normalize_str("x" + c + "y")
    words = [w for w, _ in split.pre_tokenize_str(s)]
    if words == ["x" + c + "y"]:
        return "."
    if s == "xy":
        return "-"
    if s == "x y":
        return "_"
    if s == "x" + c + "y" and words == ["x", c, "y"]:
        return "p"
    if s == "x " + c + " y" and words == ["x", c, "y"]:
        return "i"
    n = ord(c) - 0xAC00
    if 0 <= n < 11172:
        jamo = chr(0x1100 + n // 588) + chr(0x1161 + n % 588 // 28)
        if n % 28:
            jamo += chr(0x11A7 + n % 28)
        if words == ["x" + jamo + "y"]:
            return "h"
    return "=" + "/".join(",".join("%x" % ord(k) for k in w) for w in words)


out = io.StringIO()
for lower in (True, False):
    for strip in (True, False):
        normal = BertNormalizer(
            clean_text=True, handle_chinese_chars=True, strip_accents=strip, lowercase=lower
        )
        out.write("# %s %s\n" % (str(lower).lower(), str(strip).lower()))
        first, last, current = None, None, None
        for cp in range(0x110000):
            if 0xD800 <= cp < 0xE000:
                continue
            k = kind(normal, chr(cp))
            if k == current:
                last = cp
                continue
            if current is not None:
                out.write("%x %x %s\n" % (first, last, current))
            first, last, current = cp, cp, k
        out.write("%x %x %s\n" % (first, last, current))
with open("codepoints.txt.gz", "wb") as f:
    f.write(gzip.compress(out.getvalue().encode(), 9, mtime=0))
