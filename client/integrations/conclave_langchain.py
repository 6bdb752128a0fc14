"""A retriever for LangChain, with and without asyncio, over a conclave server.

>>> retriever = ConclaveRetriever(address="http://127.0.0.1:8080", k=5)
>>> chain = {"context": retriever, "question": RunnablePassthrough()} | prompt | model
"""

from typing import Any

from conclave_client import Answer, AsyncClient, Client
from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from conclave_filters import from_langchain


class ConclaveRetriever(BaseRetriever):
    """Passages that answer a question, best first. Each document's metadata has the passage's own, its title, tags and
    score, of a passage of a document its source, heading and page, and the confidence that the first one answers.
    Below min_confidence there are none. With answer=True the words that answer are in the metadata of the passage that
    has them: answers, each with text, its start and end in page_content, and the chance that it is right."""

    address: str = "http://127.0.0.1:8080"
    key: str = ""
    k: int = 5
    min_confidence: float = 0
    answer: bool | dict[str, Any] = False  # or how, such as {"min_chance": 0.5}
    messages: list[dict[str, str]] = []  # before a question that does not stand alone, as {"role", "content"}
    filters: Any = None  # a FilterDirective of langchain_core.structured_query
    options: dict[str, Any] = {}  # further fields of a search, such as {"filter": {"tags_any": ["law"]}}

    def _asked(self) -> dict[str, Any]:
        fields = ["title", "text", "tags", "metadata", "document"]
        asked = {"k": self.k, "min_confidence": self.min_confidence, "answer": self.answer, "fields": fields}
        behind = {"messages": self.messages} if self.messages else {}
        only = {"filter": from_langchain(self.filters)} if self.filters else {}
        return asked | {"offsets": "codepoints"} | only | self.options | behind

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        with Client(self.address, key=self.key) as client:
            return _documents(client.search(query, **self._asked()))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        async with AsyncClient(self.address, key=self.key) as client:
            return _documents(await client.search(query, **self._asked()))


def _documents(answer: Answer) -> list[Document]:
    documents = []
    for r in answer.results:
        about = {"title": r.title, "tags": r.tags, "score": r.score, "confidence": answer.confidence}
        about["verdict"] = answer.verdict
        about |= answer.answers_in(r) | answer.noted()
        documents.append(Document(id=r.id, page_content=r.text or r.title, metadata=r.metadata | r.place() | about))
    return documents
