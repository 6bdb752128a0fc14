"""Writes selftest.json: strings, and the ids that Hugging Face tokenizers
gives them, for a small vocabulary that is in the file itself and for the
published bert-base-uncased vocabulary, which is known by its SHA-256.

    pip install tokenizers==0.23.3; python3 selftest.py .../tokenizer.json
"""
import hashlib
import json
import string
import sys

import tokenizers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = """the a of in where is was who wrote what when river city istanbul cafe
naive strasse hello world Paris paris Hello mount ##ain ##s ##ing ##ed un ##able
##ly question answer 1912 ##00 北 京 й привет ли ελ ##λας""".split()
SMALL = (
    ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    + list(string.printable[:94])
    + ["##" + c for c in string.ascii_letters + string.digits]
    + [w for w in WORDS if len(w) > 1 or ord(w) > 127]
)
TEXTS = [
    "",
    "what is the capital of France?",
    "Where is İstanbul, and who WROTE it?",
    "GROẞE STRASSE, große Straße",
    "Café CAFE\u0301 naïve — “quoted”",
    "tabs\tand\nlines\u00a0and\u3000wide\u2028spaces",
    "con\u0000trol\u0007 ze\u200bro\u00adwidth \ufeffmark",
    "北京 is in 中国",
    "Привет, мир! ΕΛΛΆΣ ὈΔΥΣΣΕΎΣ",
    "don't re-enter $5.00 + 7% <tag> a_b #hash ##ing",
    "supercalifragilisticexpialidocious unanswerable mountains",
    "x" * 100 + " " + "x" * 101,
    "key " + "0123456789abcdef" * 8 + " " + "dGhlIHJpdmVy" * 12 + "й" + " end",
    "한국어 ทดสอบ हिन्दी العربية עברית",
    "ﬁne ½ ① Ⅷ 🙂 👩\u200d🔬 \U0001d54f",
    "a\u0301\u0327b \u0301 lone",
    "\ue000private \U0010ffff last",
]


def bert(vocab, lower):
    # The reference's 100 characters would make [UNK] of every hash and key.
    t = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=1 << 30))
    t.normalizer = normalizers.BertNormalizer(lowercase=lower)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    t.post_processor = processors.BertProcessing(
        ("[SEP]", vocab["[SEP]"]), ("[CLS]", vocab["[CLS]"])
    )
    return t


def cases(vocab, lower):
    t = bert(vocab, lower)
    return [{"text": s, "ids": t.encode(s).ids} for s in TEXTS]


def pairs(vocab):
    """[a, b, limit, kept of a, kept of b] for texts of a and b tokens."""
    t = bert(vocab, True)
    out = []
    for limit in range(3, 11):
        t.enable_truncation(limit, strategy="longest_first")
        for a in range(7):
            for b in range(7):
                types = t.encode("a " * a, "b " * b).type_ids
                out.append([a, b, limit, types.count(0) - 2, types.count(1) - 1])
    return out


def fingerprint(vocab):
    pieces = sorted(vocab, key=vocab.get)
    return hashlib.sha256("\n".join(pieces).encode()).hexdigest()


small = {}
for piece in SMALL:
    small.setdefault(piece, len(small))
published = json.load(open(sys.argv[1]))["model"]["vocab"]
json.dump(
    {
        "reference": "Hugging Face tokenizers " + tokenizers.__version__,
        "vocabulary": sorted(small, key=small.get),
        "lower_case": cases(small, True),
        "cased": cases(small, False),
        "pairs": pairs(small),
        "bert_base_uncased": {
            "sha256": fingerprint(published),
            "lower_case": cases(published, True),
        },
    },
    open("selftest.json", "w"),
    ensure_ascii=True,
    separators=(",", ":"),
)
