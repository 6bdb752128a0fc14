"""Write tiny T5 checkpoints, their tokenizer, and what transformers and tokenizers make of questions with them.

    python encoder/testdata/fid/make.py

It needs torch, transformers, tokenizers, sentencepiece and safetensors from PyPI, of the
versions that golden.json names. The same versions write the same files.
"""

import gzip
import json
import random
from pathlib import Path

import sentencepiece
import tokenizers
import torch
import transformers
from safetensors.torch import save_file
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import Unigram
from transformers import T5Config, T5ForConditionalGeneration
from transformers.modeling_outputs import BaseModelOutput

HERE = Path(__file__).parent
PIECES, ROWS, LONGEST, ANSWER = 380, 400, 48, 12
TEXT = """
The river rose in the night and by morning the mill stood in two feet of water.
Bread needs flour, water, salt and time; most of all it needs time.
A lighthouse keeper counts the ships that pass and writes their names in a book.
The oldest tree of the garden is a pear tree which was planted in 1784.
Copper turns green in the rain because it meets oxygen and carbon dioxide.
Who planted the pear tree in the garden?
How many ships passed the lighthouse in the winter of 1911?
The captain sold his boat and opened a small shop near the harbour.
In summer the cows are on the mountain and in winter they are in the valley.
The telescope was carried up the hill by four mules and eleven men.
She measured the height of the tower with a shadow and a stick.
Why does copper turn green in the rain?
The train to the coast leaves at 7:45 and arrives at a quarter past nine.
What is needed to bake bread?
Nobody knew who had painted the door blue, but everybody liked it.
The bridge is 212 metres long and was finished three years late.
Salt was once so dear that soldiers were paid with it, or so the story goes.
A good map says where you are; a better map says where you cannot go.
The library keeps 40,000 letters, among them nine from the queen.
When does the train to the coast leave?
Frost killed the vines in April, and the wine of that year was never sold.
The clock in the square has been wrong since the storm of 1953.
He wrote the first half of the telecommunications handbook in prison.
How long is the bridge over the river?
question: title: context: question: who title: the context: a
"""
QUESTIONS = ["Who planted the pear tree?", "How long is the bridge, really?", "Why does copper turn GREEN?"]


def sentences() -> list[str]:
    return [line for line in TEXT.strip().splitlines() if line]


def spread(n: int, seed: int) -> list[tuple[str, str]]:
    """Passages of different lengths: titles and texts."""
    draw = random.Random(seed)
    lines = sentences()
    return [
        (draw.choice(["", "Garden", "The old mill", "Naïve café"]), " ".join(draw.sample(lines, draw.randint(1, 3))))
        for _ in range(n)
    ]


def trained() -> tuple[list[tuple[str, float]], bytes]:
    """Pieces and scores of a SentencePiece model of TEXT, and its map of characters."""
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences() * 3), model_prefix="/tmp/fid-pieces", vocab_size=PIECES - 10,
        model_type="unigram", normalization_rule_name="nmt_nfkc", pad_id=0, eos_id=1, unk_id=2, bos_id=-1,
        hard_vocab_limit=False, num_threads=1, minloglevel=2,
    )  # fmt: skip
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(Path("/tmp/fid-pieces.model").read_bytes())
    pieces = [(p.piece, p.score) for p in model.pieces]
    pieces += [(f"<extra_id_{i}>", 0.0) for i in range(PIECES - len(pieces) - 1, -1, -1)]
    return pieces, model.normalizer_spec.precompiled_charsmap


def published(pieces: list[tuple[str, float]], charsmap: bytes, form: str) -> Tokenizer:
    """The forms in which T5's tokenizer is found: of the first T5, as newer converters write it, and without a map."""
    t = Tokenizer(Unigram(pieces, unk_id=2, byte_fallback=False))
    metaspace = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always", split=True)
    if form == "first":
        t.normalizer = normalizers.Precompiled(charsmap)
        t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), metaspace])
    elif form == "newer":
        t.normalizer = normalizers.Sequence(
            [
                normalizers.Precompiled(charsmap),
                normalizers.Strip(left=False, right=True),
                normalizers.Replace(Regex(" {2,}"), "▁"),
            ]
        )
        t.pre_tokenizer = metaspace
    else:
        t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), metaspace])
    t.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always", split=True)
    t.add_special_tokens(["<pad>", "</s>", "<unk>"] + [p for p, _ in pieces if p.startswith("<extra_id_")])
    t.post_processor = processors.TemplateProcessing(
        single=["$A", "</s>"], pair=["$A", "</s>", "$B", "</s>"], special_tokens=[("</s>", 1)]
    )
    return t


def strings() -> list[str]:
    """Texts to split: ordinary ones, and characters of every kind beside each other."""
    draw = random.Random(7)
    blocks = [
        (0x20, 0x7F), (0x20, 0x7F), (0x61, 0x7B), (0xA0, 0x180), (0x300, 0x370), (0x370, 0x530), (0x5D0, 0x660),
        (0x900, 0x980), (0xE00, 0xE80), (0x1100, 0x1200), (0x1E00, 0x2000), (0x2000, 0x2070), (0x2100, 0x2200),
        (0x2460, 0x2500), (0x3000, 0x3130), (0x3300, 0x3400), (0x4E00, 0x4E80), (0xAC00, 0xAC80), (0xFB00, 0xFB50),
        (0xFE00, 0xFE10), (0xFF00, 0xFFF0), (0x1D400, 0x1D500), (0x1F1E6, 0x1F200), (0x1F600, 0x1F650),
        (0x0, 0x20), (0x7F, 0xA0),
    ]  # fmt: skip
    out = ["", " ", "   ", "\t\n", "a", "▁", "▁▁a ▁b", " a  b   c ", "telecommunications telecommunicationsx"]
    out += ["Ⅷ ½ ﬁ ㎏ …", "e\u0301te\u0301 été", "naïve café 北京 Ελλάδα", "👨‍👩‍👧 🇩🇪🇫🇷", "a\u200bb\u200dc\ufeffd", "x" * 300, "zażółć gęślą jaźń"]
    out += [s.upper() for s in sentences()[:5]] + sentences()
    for _ in range(400):
        text = ""
        for _ in range(draw.randint(1, 12)):
            low, high = draw.choice(blocks)
            text += "".join(chr(draw.randrange(low, high)) for _ in range(draw.randint(1, 3)))
            if draw.random() < 0.3:
                text += draw.choice([" ", "  ", "\t", " the ", "tree"])
        out.append(text)
    return out


def model(seed: int, config: T5Config, own_head: bool) -> T5ForConditionalGeneration:
    """A model whose weights are drawn, larger than a new one's so that its answers differ, and fit float16."""
    torch.manual_seed(seed)
    m = T5ForConditionalGeneration._from_config(config, attn_implementation="eager").eval()
    if own_head:
        m.lm_head.weight = torch.nn.Parameter(torch.zeros(config.vocab_size, config.d_model))
    with torch.no_grad():
        for name, p in m.named_parameters():
            if "layer_norm" in name:
                last = name == "decoder.final_layer_norm.weight"
                p.copy_((torch.rand_like(p) + 0.5) * (1 if not last else 2 if own_head else 8))
            elif "relative" in name:
                p.normal_(0, 1.5)
            elif p.shape[0] == config.vocab_size:
                p.normal_(0, 0.4)
                p[1] *= 2.5  # so that some answers end
            else:
                p.normal_(0, (3 if ".o." in name or ".wo." in name else 1.5) * p.shape[1] ** -0.5)
            p.copy_(p.half().float())
    return m


def write(m: T5ForConditionalGeneration, folder: Path, fid: bool, own_head: bool) -> None:
    folder.mkdir(exist_ok=True)
    weights = {}
    for name, p in m.state_dict().items():
        if name.endswith("embed_tokens.weight") or (name == "lm_head.weight" and not own_head):
            continue
        if fid and name.startswith("encoder."):
            name = "encoder." + name.replace(".layer.", ".module.layer.")
        weights[name] = p.half().contiguous()
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    keys = ["vocab_size", "d_model", "d_kv", "d_ff", "num_layers", "num_decoder_layers", "num_heads"]
    keys += ["relative_attention_num_buckets", "relative_attention_max_distance", "layer_norm_epsilon"]
    keys += ["feed_forward_proj", "pad_token_id", "eos_token_id", "decoder_start_token_id"]
    said = {"model_type": "t5", **{k: getattr(m.config, k) for k in keys}}
    if own_head:
        said["tie_word_embeddings"] = False
    (folder / "config.json").write_text(json.dumps(said, indent=1) + "\n")


def ask(m: T5ForConditionalGeneration, t: Tokenizer, question: str, passages: list[tuple[str, str]]) -> dict:
    """What Fusion-in-Decoder makes of a question and passages."""
    rows = []
    for title, text in passages:
        ids = t.encode(f"question: {question} title: {title} context: {text}").ids
        rows.append(ids if len(ids) <= LONGEST else ids[: LONGEST - 1] + [1])
    longest = max(map(len, rows))
    ids = torch.tensor([r + [0] * (longest - len(r)) for r in rows])
    mask = torch.tensor([[1] * len(r) + [0] * (longest - len(r)) for r in rows])
    with torch.no_grad():
        states = m.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        mask = mask.reshape(1, -1)

        def fused() -> dict:  # anew for each call: generate changes it
            return {
                "encoder_outputs": BaseModelOutput(last_hidden_state=states.reshape(1, -1, states.shape[-1])),
                "attention_mask": mask,
            }

        forced = torch.tensor([[0, 5, 77, 9]])
        logits = m(**fused(), decoder_input_ids=forced).logits[0]
        common = {"max_new_tokens": ANSWER, "do_sample": False}
        greedy = m.generate(**fused(), **common, num_beams=1)[0, 1:].tolist()
        beam = m.generate(**fused(), **common, num_beams=4, return_dict_in_generate=True, output_scores=True)
        decoded = m(**fused(), decoder_input_ids=torch.tensor([[0, *greedy[:-1]]]), output_attentions=True)
    attention = torch.stack(decoded.cross_attentions)[:, 0].mean((0, 1))  # [S, K*L]
    chances = decoded.logits[0].log_softmax(-1)
    return {
        "question": question,
        "passages": [list(p) for p in passages],
        "ids": rows,
        "forced": forced[0].tolist(),
        "logits": [[round(float(x), 5) for x in row] for row in logits],
        "greedy": greedy,
        "greedy_score": round(float(sum(chances[i, g] for i, g in enumerate(greedy))), 5),
        "greedy_text": t.decode(greedy),
        "shares": [round(float(x), 6) for x in attention.reshape(len(greedy), len(rows), -1).mean(0).sum(-1)],
        "beam": beam.sequences[0, 1:].tolist(),
        "beam_score": round(float(beam.sequences_scores[0]), 5),
    }


def main() -> None:
    pieces, charsmap = trained()
    forms = {form: published(pieces, charsmap, form) for form in ("first", "newer", "bare")}
    whole = forms["first"].to_str()
    charsmap_text = json.loads(whole)["normalizer"]["precompiled_charsmap"]
    for form, t in forms.items():  # the map, which is large, is written once
        text = whole if form == "first" else t.to_str().replace(charsmap_text, "CHARSMAP")
        with gzip.GzipFile(HERE / f"tokenizer.{form}.json.gz", "wb", mtime=0) as f:
            f.write(text.encode())
    texts = strings()
    with gzip.GzipFile(HERE / "pieces.json.gz", "wb", mtime=0) as f:
        split = {form: [t.encode(s).ids for s in texts] for form, t in forms.items()}
        back = [forms["first"].decode(ids) for ids in split["first"]]
        f.write(json.dumps({"texts": texts, "ids": split, "decoded": back}).encode())
    common = {"vocab_size": ROWS, "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    golden = {
        "made_with": {m.__name__: m.__version__ for m in (torch, transformers, tokenizers, sentencepiece)},
        "checkpoints": {},
        "buckets": {},
    }
    for name, seed, config, own_head in [
        ("plain", 3, T5Config(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, feed_forward_proj="relu", **common), False),
        ("gated", 4, T5Config(d_model=24, d_kv=6, d_ff=40, num_layers=2, num_heads=3, feed_forward_proj="gated-gelu",
                              tie_word_embeddings=False, relative_attention_num_buckets=8, relative_attention_max_distance=20, **common), True),
        ("fid", 5, T5Config(d_model=24, d_kv=16, d_ff=32, num_layers=3, num_decoder_layers=2, num_heads=2, feed_forward_proj="relu", **common), False),
    ]:  # fmt: skip
        m = model(seed, config, own_head)
        write(m, HERE / name, name == "fid", own_head)
        cases = [ask(m, forms["first"], q, spread(k, 10 * seed + k)) for q, k in zip(QUESTIONS, (1, 5, 50))]
        golden["checkpoints"][name] = cases
        for c in cases:
            print(name, len(c["ids"]), c["greedy"], c["beam"], c["greedy_text"])
    attention = transformers.models.t5.modeling_t5.T5Attention
    for buckets, far in ((32, 128), (8, 20), (64, 300)):
        d = torch.arange(-far - 3, far + 4)
        golden["buckets"][f"{buckets} {far}"] = {
            side: attention._relative_position_bucket(d, side == "encoder", buckets, far).tolist()
            for side in ("encoder", "decoder")
        }
    (HERE / "golden.json").write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main()
