"""A retriever for LlamaIndex, with and without asyncio, over a conclave server.

>>> engine = RetrieverQueryEngine.from_args(ConclaveRetriever("http://127.0.0.1:8080", k=5), llm=llm)
"""

from typing import Any

from conclave_client import Answer, AsyncClient, Client
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from conclave_filters import from_llama_index


class ConclaveRetriever(BaseRetriever):
    """Passages that answer a question, best first. Each node's metadata has the passage's own, its title and tags, of a
    passage of a document its source, heading and page, and the confidence that the first one answers. Below
    min_confidence there are none. With answer=True the words that answer are in the metadata of the passage that has
    them: answers, each with text, its start and end in the node's text, and the chance that it is right. options are
    further fields of a search, such as filter={"tags_any": ["law"]}, or messages, the conversation before a question
    that does not stand alone."""

    def __init__(
        self,
        address: str = "http://127.0.0.1:8080",
        *,
        key: str = "",
        k: int = 5,
        min_confidence: float = 0,
        answer: bool | dict[str, Any] = False,
        filters: Any = None,  # MetadataFilters
        **options: Any,
    ) -> None:
        super().__init__()
        self._server = {"address": address, "key": key}
        fields = ["title", "text", "tags", "metadata", "document"]
        asked = {"k": k, "min_confidence": min_confidence, "answer": answer, "fields": fields}
        only = {"filter": from_llama_index(filters)} if filters else {}
        self._asked = asked | {"offsets": "codepoints"} | only | options

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        with Client(**self._server) as client:
            return _nodes(client.search(query_bundle.query_str, **self._asked))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        async with AsyncClient(**self._server) as client:
            return _nodes(await client.search(query_bundle.query_str, **self._asked))


def _nodes(answer: Answer) -> list[NodeWithScore]:
    nodes = []
    for r in answer.results:
        about = {"title": r.title, "tags": r.tags, "confidence": answer.confidence, "verdict": answer.verdict}
        about |= answer.answers_in(r) | answer.noted()
        node = TextNode(id_=r.id, text=r.text or r.title, metadata=r.metadata | r.place() | about)
        # What a model reads: the title and the page, and no other numbers.
        node.excluded_llm_metadata_keys = [name for name in node.metadata if name not in ("title", "page")]
        nodes.append(NodeWithScore(node=node, score=r.score))
    return nodes
