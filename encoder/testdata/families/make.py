"""Write tiny encoders and cross-encoders of several families, their tokenizers, and what transformers computes.

    python encoder/testdata/families/make.py
    python encoder/testdata/families/make.py 5000 /tmp/texts.json    # and compare them:
    go test ./encoder/subword -run ManyTexts -args -texts /tmp/texts.json

It needs torch, transformers, tokenizers and safetensors from PyPI, of the versions that golden.json
names. The same versions write the same files. The map of characters of XLM-RoBERTa's tokenizer is
that of ../fid, in whose place the file has CHARSMAP.
"""

import gzip
import importlib.util
import json
import random
import re
import sys
from pathlib import Path

import tokenizers
import torch
import transformers
from safetensors.torch import load_file, save_file
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers, processors, trainers
from tokenizers.models import BPE, Unigram, WordPiece
from transformers import (
    BertConfig, BertForSequenceClassification, BertModel, DistilBertConfig, DistilBertForSequenceClassification,
    DistilBertModel, MPNetConfig, MPNetForSequenceClassification, MPNetModel, RobertaConfig,
    RobertaForSequenceClassification, RobertaModel, XLMRobertaConfig, XLMRobertaForSequenceClassification,
    XLMRobertaModel,
)  # fmt: skip

HERE = Path(__file__).parent
spec = importlib.util.spec_from_file_location("fid", HERE.parent / "fid" / "make.py")
fid = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fid)

PIECES, LONGEST = 420, 60
WIDTH, LAYERS, HEADS, WIDE = 16, 2, 2, 24
QUESTIONS = ["Who planted the pear tree?", "when does the train leave", "x" * 70, "Is it 40,000 letters -- or not?"]


def charsmap() -> str:
    text = gzip.decompress((HERE.parent / "fid" / "tokenizer.first.json.gz").read_bytes()).decode()
    return text.split('"precompiled_charsmap":"')[1].split('"')[0]


def bert_words(specials: list[str], unknown: str) -> Tokenizer:
    """Not trained, since WordPiece's trainer chooses among equal pieces anew each time."""
    words = sorted({word for line in fid.sentences() for word in line.lower().split() if word.isalnum()})
    letters = sorted({c for line in fid.sentences() for c in line.lower() if not c.isspace()} | set("xyz"))
    pieces = [*specials, *letters, *("##" + c for c in letters), *words, "##ed", "##ing", "##s"]
    t = Tokenizer(WordPiece({p: i for i, p in enumerate(dict.fromkeys(pieces))}, unk_token=unknown))
    t.normalizer = normalizers.BertNormalizer(lowercase=True)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    for special in specials:
        t.add_special_tokens([special])
    return t


def framed(t: Tokenizer, start: str, end: str, twice: bool) -> Tokenizer:
    """With BERT's frame around a text, or RoBERTa's, whose pairs have two tokens in the middle."""
    ids = [(name, t.token_to_id(name)) for name in (start, end)]
    middle = f"{end} {end} $B {end}" if twice else f"{end} $B:1 {end}:1"
    t.post_processor = processors.TemplateProcessing(
        single=f"{start} $A {end}", pair=f"{start} $A {middle}", special_tokens=ids
    )
    return t


def bert() -> Tokenizer:
    return framed(bert_words(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], "[UNK]"), "[CLS]", "[SEP]", False)


def mpnet() -> Tokenizer:
    return framed(bert_words(["<s>", "<pad>", "</s>", "<unk>", "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<mask>"], "[UNK]"), "<s>", "</s>", True)


def roberta() -> Tokenizer:
    t = Tokenizer(BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    t.train_from_iterator(
        fid.sentences() * 3,
        trainers.BpeTrainer(
            vocab_size=PIECES - 1, special_tokens=specials, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )  # fmt: skip
    t.add_special_tokens([tokenizers.AddedToken("<mask>", lstrip=True)])
    ids = {name: t.token_to_id(name) for name in ("<s>", "</s>")}
    t.post_processor = processors.RobertaProcessing(
        ("</s>", ids["</s>"]), ("<s>", ids["<s>"]), trim_offsets=True, add_prefix_space=False
    )
    return t


def xlm() -> Tokenizer:
    """As newer converters write it; the pieces are those of ../fid."""
    file = json.loads(gzip.decompress((HERE.parent / "fid" / "tokenizer.bare.json.gz").read_bytes()))
    pieces = [(p, s) for p, s in file["model"]["vocab"] if p not in ("<pad>", "</s>", "<unk>") and "extra_id" not in p]
    t = Tokenizer(Unigram([("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), *pieces, ("<mask>", 0.0)], 3))
    t.normalizer = normalizers.Sequence(
        [normalizers.Precompiled(__import__("base64").b64decode(charsmap())), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    t.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")]
    )
    t.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>", tokenizers.AddedToken("<mask>", lstrip=True)])
    return framed(t, "<s>", "</s>", True)


def shape(config: type, rows: int, padding: int) -> transformers.PretrainedConfig:
    if config is DistilBertConfig:
        return config(
            vocab_size=rows, dim=WIDTH, n_layers=LAYERS, n_heads=HEADS, hidden_dim=WIDE, pad_token_id=padding,
            max_position_embeddings=64, num_labels=1,
        )  # fmt: skip
    more = {"type_vocab_size": 1} if config in (RobertaConfig, XLMRobertaConfig) else {}
    return config(
        vocab_size=rows, hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=WIDE,
        pad_token_id=padding, max_position_embeddings=66 if padding else 64, num_labels=1, **more,
    )  # fmt: skip


def drawn(model: torch.nn.Module, seed: int) -> torch.nn.Module:
    """Weights large enough that the outputs differ, norms near the identity; all of them fit float16."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "orm.weight" in name or name.endswith("layer_norm.weight"):
                parameter.uniform_(0.8, 1.2)
            else:
                parameter.normal_(std=0.1 if name.endswith("bias") else 0.4)
            parameter.copy_(parameter.half().float())
    return model.eval()


def saved(model: torch.nn.Module, t: Tokenizer, folder: Path) -> None:
    model.save_pretrained(folder)
    file = folder / "model.safetensors"
    tensors = {name: x.half() if x.dtype == torch.float32 else x for name, x in load_file(file).items()}
    save_file(tensors, file, metadata={"format": "pt"})
    text = t.to_str().replace(charsmap(), "CHARSMAP")
    (folder / "tokenizer.json").write_text(text + "\n")


def rounded(x: torch.Tensor) -> list[float]:
    return [round(v, 7) for v in x.flatten().tolist()]


def main() -> None:
    transformers.logging.set_verbosity_error()
    golden = {"torch": torch.__version__, "transformers": transformers.__version__, "tokenizers": tokenizers.__version__}
    golden["texts"], golden["families"] = [*QUESTIONS, *fid.sentences()[:6], "", "tree"], {}
    passages = [(title, text) for title, text in fid.spread(6, 3)]
    golden["passages"] = passages
    golden["buckets"] = transformers.models.mpnet.modeling_mpnet.MPNetEncoder.relative_position_bucket(
        torch.arange(-600, 601), num_buckets=32
    ).tolist()  # of distances from -600 to 600
    strings = fid.strings()
    split = {"texts": strings, "ids": {}, "pairs": {}}
    families = {
        "bert": (BertConfig, BertModel, BertForSequenceClassification, bert()),
        "distilbert": (DistilBertConfig, DistilBertModel, DistilBertForSequenceClassification, bert()),
        "mpnet": (MPNetConfig, MPNetModel, MPNetForSequenceClassification, mpnet()),
        "roberta": (RobertaConfig, RobertaModel, RobertaForSequenceClassification, roberta()),
        "xlm-roberta": (XLMRobertaConfig, XLMRobertaModel, XLMRobertaForSequenceClassification, xlm()),
    }
    for seed, (name, (config, plain, classifier, t)) in enumerate(families.items()):
        split["ids"][name] = [t.encode(text).ids for text in strings]
        padding = t.token_to_id("<pad>") or 0
        config = shape(config, t.get_vocab_size(), padding)
        t.enable_truncation(LONGEST)
        encoder = drawn(plain(config), seed)
        saved_as = Tokenizer.from_str(t.to_str())
        saved_as.no_truncation()
        saved(encoder, saved_as, HERE / name)
        reranker = drawn(classifier(config), seed + 100)
        saved(reranker, saved_as, HERE / (name + "-reranker"))
        vectors, scores = [], []
        with torch.no_grad():
            for text in golden["texts"]:
                ids = torch.tensor([t.encode(text).ids])
                mean = encoder(input_ids=ids).last_hidden_state.mean(1)
                vectors.append({"ids": ids[0].tolist(), "vector": rounded(torch.nn.functional.normalize(mean))})
            for question in QUESTIONS:
                for title, text in passages:
                    pair = t.encode(question, title + ". " + text if title else text)
                    given = {"input_ids": torch.tensor([pair.ids])}
                    if name == "bert":
                        given["token_type_ids"] = torch.tensor([pair.type_ids])
                    scores.append({"ids": pair.ids, "score": rounded(reranker(**given).logits)[0]})
        golden["families"][name] = {"vectors": vectors, "scores": scores}
    (HERE / "golden.json").write_text(json.dumps(golden) + "\n")
    with gzip.GzipFile(HERE / "split.json.gz", "wb", mtime=0) as f:
        f.write(json.dumps(split, ensure_ascii=True).encode())


def many(n: int, out: Path) -> None:
    """Write n texts and what the tokenizers make of them, with larger vocabularies, for TestManyTexts of subword."""
    documents = sorted((HERE.parents[2] / "docs").rglob("*.md"))
    special = re.compile(r"\[(UNK|CLS|SEP|MASK|PAD)\]|</?(s|pad|unk|mask)>")  # text is text to conclave
    lines = [x for d in documents for x in d.read_text().splitlines() if x.strip() and not special.search(x)]
    draw = random.Random(n)
    fid.sentences = lambda: lines  # what the strings are made of
    texts = [draw.choice(lines) for _ in range(n // 2)]
    while len(texts) < n:
        a, b = draw.choice(lines), draw.choice(fid.strings())
        cut = draw.randrange(len(a))
        texts.append(draw.choice([a[:cut] + b + a[cut:], b + " " + a, a.upper() + b, b]))
    global PIECES
    PIECES, fid.PIECES = 8000, 4000
    framing = [(name, 0.0) for name in ("<s>", "<pad>", "</s>", "<unk>")]
    pieces = [(p, s) for p, s in fid.trained()[0] if p not in ("<pad>", "</s>", "<unk>") and "extra_id" not in p]
    unigram = xlm()
    unigram.model = Unigram([*framing, *pieces, ("<mask>", 0.0)], 3)
    families = {}
    for name, t in (("roberta", roberta()), ("xlm-roberta", unigram), ("mpnet", mpnet())):
        families[name] = {"file": t.to_str(), "ids": [t.encode(text).ids for text in texts]}
    out.write_text(json.dumps({"texts": texts, "families": families}))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        many(int(sys.argv[1]), Path(sys.argv[2]))
    else:
        main()
