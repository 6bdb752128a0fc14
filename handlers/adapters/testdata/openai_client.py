"""Uses OpenAI's package for Python, and prints what it got as JSON."""
import json
import sys

import openai

base = sys.argv[1] + "/v1"
embedding, searching, nobody = (openai.OpenAI(base_url=base, api_key=key, max_retries=0) for key in ("embed", "search", "nobody"))


def vectors(**more):
    return [x.embedding for x in embedding.embeddings.create(model="base", input=["a lamp", "the moon"], **more).data]


def error(do):
    try:
        do()
    except openai.APIStatusError as e:
        return {type(e).__name__: e.message}
    return {}


got = {
    "float": vectors(encoding_format="float"),
    "base64": vectors(),  # the package asks for base64, and decodes it
    "tokens": embedding.embeddings.create(model="base", input="a lamp").usage.total_tokens,
    "models": [m.id for m in embedding.models.list()],
    "found": [
        hit.file_id
        for hit in searching.vector_stores.search(
            "c", query="who hid the lamp", max_num_results=5, filters={"type": "eq", "key": "tags", "value": "tales"}
        )
    ],
    "narrowed": [
        hit.file_id
        for hit in searching.vector_stores.search(
            "c",
            query="who hid the lamp",
            filters={
                "type": "and",
                "filters": [
                    {"type": "gte", "key": "page", "value": 5},
                    {"type": "or", "filters": [{"type": "lt", "key": "page", "value": 9}, {"type": "eq", "key": "page", "value": 12}]},
                    {"type": "in", "key": "tags", "value": ["tales", "none"]},
                ],
            },
        )
    ],
    "errors": {
        **error(lambda: nobody.models.list()),
        **error(lambda: searching.embeddings.create(model="base", input="x")),
        **error(lambda: embedding.embeddings.create(model="gpt", input="x")),
        **error(lambda: embedding.embeddings.create(model="base", input="x", dimensions=3)),
    },
}
print(json.dumps(got))
