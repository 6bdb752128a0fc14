"""Write tiny sparse encoders (SPLADE), BERT's and DistilBERT's, and what transformers computes with them.

    python encoder/testdata/sparse/make.py

It needs what ../families/make.py does. The same versions write the same files.
"""

import importlib.util
import json
from pathlib import Path

import torch
import transformers
from transformers import BertForMaskedLM, DistilBertForMaskedLM

HERE = Path(__file__).parent
spec = importlib.util.spec_from_file_location("families", HERE.parent / "families" / "make.py")
families = importlib.util.module_from_spec(spec)
spec.loader.exec_module(families)


def main() -> None:
    transformers.logging.set_verbosity_error()
    texts = [*families.QUESTIONS, *families.fid.sentences()[:6], "", "tree"]
    golden = {"torch": torch.__version__, "transformers": transformers.__version__, "texts": texts, "vectors": {}}
    kinds = {"bert": (families.BertConfig, BertForMaskedLM), "distilbert": (families.DistilBertConfig, DistilBertForMaskedLM)}
    for seed, (name, (config, model)) in enumerate(kinds.items()):
        t = families.bert()
        encoder = families.drawn(model(families.shape(config, t.get_vocab_size(), 0)), 200 + seed)
        families.saved(encoder, t, HERE / name)
        t.enable_truncation(families.LONGEST)
        vectors = []
        with torch.no_grad():
            for text in texts:
                ids = torch.tensor([t.encode(text).ids])
                logits = encoder(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
                vectors.append(families.rounded(torch.log1p(torch.relu(logits)).amax(dim=1)))
        golden["vectors"][name] = vectors
    (HERE / "golden.json").write_text(json.dumps(golden) + "\n")


main()
