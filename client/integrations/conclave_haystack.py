"""A retriever for Haystack pipelines, with and without asyncio, over a conclave server.

>>> pipeline.add_component("retriever", ConclaveRetriever("http://127.0.0.1:8080", top_k=5))
>>> pipeline.connect("retriever.documents", "prompt_builder.documents")
"""

from typing import Any

from conclave_client import Answer, AsyncClient, Client
from haystack import Document, component, default_from_dict, default_to_dict
from haystack.utils import Secret, deserialize_secrets_inplace

from conclave_filters import from_haystack


@component
class ConclaveRetriever:
    """Passages that answer a question, best first. Each document's meta has the passage's own, its title and tags, and
    of a passage of a document its source, heading and page. confidence is the chance that the first one answers; below
    min_confidence there are no documents. With answer=True the words that answer are in the meta of the document that
    has them: answers, each with text, its start and end in content, and the chance that it is right. messages are the
    conversation before a query that does not stand alone, as {"role", "content"}."""

    def __init__(
        self,
        address: str = "http://127.0.0.1:8080",
        top_k: int = 5,
        min_confidence: float = 0,
        key: Secret | None = None,
        answer: bool | dict[str, Any] = False,
        filters: dict[str, Any] | None = None,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.address, self.key = address, key
        self.top_k, self.min_confidence, self.answer, self.options = top_k, min_confidence, answer, options or {}
        self.filters = filters

    def _server(self) -> dict[str, str]:
        return {"address": self.address, "key": (self.key and self.key.resolve_value()) or ""}

    def _asked(self, top_k: int | None, messages: list[dict[str, str]] | None, filters: Any) -> dict[str, Any]:
        fields = ["title", "text", "tags", "metadata", "document"]
        asked = {"k": top_k or self.top_k, "min_confidence": self.min_confidence, "answer": self.answer}
        behind = {"messages": messages} if messages else {}
        only = {"filter": from_haystack(filters or self.filters)} if filters or self.filters else {}
        return asked | {"fields": fields, "offsets": "codepoints"} | only | self.options | behind

    @component.output_types(documents=list[Document], confidence=float, verdict=str)
    def run(
        self, query: str, top_k: int | None = None, messages: list[dict[str, str]] | None = None, filters: Any = None
    ) -> dict[str, Any]:
        with Client(**self._server()) as client:
            return _output(client.search(query, **self._asked(top_k, messages, filters)))

    @component.output_types(documents=list[Document], confidence=float, verdict=str)
    async def run_async(
        self, query: str, top_k: int | None = None, messages: list[dict[str, str]] | None = None, filters: Any = None
    ) -> dict[str, Any]:
        async with AsyncClient(**self._server()) as client:
            return _output(await client.search(query, **self._asked(top_k, messages, filters)))

    def to_dict(self) -> dict[str, Any]:
        key = self.key and self.key.to_dict()
        kept = {"address": self.address, "top_k": self.top_k, "min_confidence": self.min_confidence}
        kept |= {"answer": self.answer, "filters": self.filters, "options": self.options}
        return default_to_dict(self, **kept, key=key)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "ConclaveRetriever":
        deserialize_secrets_inplace(data["init_parameters"], keys=["key"])
        return default_from_dict(cls, data)


def _output(answer: Answer) -> dict[str, Any]:
    documents = []
    for r in answer.results:
        meta = r.metadata | r.place() | {"title": r.title, "tags": r.tags} | answer.answers_in(r) | answer.noted()
        documents.append(Document(id=r.id, content=r.text or r.title, meta=meta, score=r.score))
    return {"documents": documents, "confidence": answer.confidence or 0.0, "verdict": answer.verdict}
