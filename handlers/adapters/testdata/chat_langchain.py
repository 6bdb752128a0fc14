"""Talks to the server with LangChain's ChatOpenAI, and prints what it got as JSON."""
import json
import sys

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI, OpenAIEmbeddings

asked = [SystemMessage("You are a pirate."), HumanMessage(sys.argv[2])]
chat = ChatOpenAI(base_url=sys.argv[1] + "/v1", api_key="none", model="conclave", max_retries=0)
whole = chat.invoke(asked)
pieces = [chunk.text for chunk in chat.stream(asked)]
follow = chat.invoke([*asked, AIMessage(whole.content), HumanMessage("and where?")])
vectors = OpenAIEmbeddings(
    base_url=sys.argv[1] + "/v1", api_key="none", model="base", check_embedding_ctx_length=False
).embed_documents(["rice", "a lamp"])
print(json.dumps({
    "whole": whole.text,
    "pieces": pieces,
    "finished": whole.response_metadata["finish_reason"],
    "follow": follow.text,
    "vectors": len(vectors),
}))
