"""Uses Hugging Face's and Cohere's packages, and prints what they got as JSON."""
import json
import sys

import cohere
from huggingface_hub import InferenceClient

address = sys.argv[1]
vectors = InferenceClient(model=address + "/embed").feature_extraction("a lamp")
reranker = cohere.ClientV2(base_url=address, api_key="none")
ask = {"model": "late", "query": "the moon", "documents": ["rice", "a fox", "the moon"]}
ranked = reranker.rerank(**ask)
try:
    reranker.rerank(**ask, top_n=0)
    error = ""
except cohere.core.ApiError as e:
    error = str(e.body)
print(json.dumps({"vectors": [[float(x) for x in row] for row in vectors], "order": [x.index for x in ranked.results], "error": error}))
