"""Talks to the server as Dify does with a model that is OpenAI-API-compatible: with the classes of Dify's own SDK.

Prints what it got as JSON.
"""
import json
import os
import sys

from dify_plugin.entities.model.message import AssistantPromptMessage, UserPromptMessage
from dify_plugin.interfaces.model.openai_compatible.llm import (
    OAICompatLargeLanguageModel,
)
from dify_plugin.interfaces.model.openai_compatible.rerank import OAICompatRerankModel
from dify_plugin.interfaces.model.openai_compatible.text_embedding import (
    OAICompatEmbeddingModel,
)

for kind in OAICompatLargeLanguageModel, OAICompatEmbeddingModel:
    # It counts tokens, for prices, by a vocabulary that it takes from the network.
    kind._get_num_tokens_by_gpt2 = lambda self, text: len(text) // 4
given = {"endpoint_url": sys.argv[1] + "/v1", "api_key": "none", "mode": "chat", "context_size": "4096"}
chat, ranks, vectors = OAICompatLargeLanguageModel([]), OAICompatRerankModel([]), OAICompatEmbeddingModel([])
chat.validate_credentials("conclave", given)
ranks.validate_credentials("late", given)
vectors.validate_credentials("base", given)


def said(asked, stream):
    """What the model says, in the pieces that come."""
    parts = chat.invoke("conclave", given, asked, {"temperature": 0.7, "max_tokens": 512}, stream=stream)
    return [part.delta.message.content for part in parts]


asked = [UserPromptMessage(content=sys.argv[2])]
whole, pieces = "".join(said(asked, False)), said(asked, True)
asked += [AssistantPromptMessage(content=whole), UserPromptMessage(content="and where?")]
follow = "".join(said(asked, False))
ranked = ranks.invoke("late", given, "the moon", ["rice", "a fox", "the moon"], top_n=2)
print(json.dumps({
    "whole": whole,
    "pieces": pieces,
    "follow": follow,
    "first": ranked.docs[0].text,
    "vectors": len(vectors.invoke("base", given, ["rice", "a lamp"]).embeddings),
}))
sys.stdout.flush()
os._exit(0)  # the SDK's gevent fails where Python ends by itself
