"""Calls a conclave server.

>>> with Client("http://127.0.0.1:8080") as conclave:
...     answer = conclave.search("why did the fox hide the moon?", k=3)
...     print(answer.confidence, answer.results[0].title)
"""

from .client import AsyncClient, Client
from .errors import Problem
from .types import (
    Answer,
    Citation,
    Contribution,
    Document,
    DocumentReference,
    Expert,
    Extract,
    Filter,
    Generated,
    Group,
    Highlight,
    Job,
    Passage,
    Ranking,
    Result,
    SearchOptions,
    SearchRequest,
    Suggestion,
    Support,
    Written,
    WrittenSentence,
)

__all__ = [
    "Answer",
    "AsyncClient",
    "Citation",
    "Client",
    "Contribution",
    "Document",
    "DocumentReference",
    "Expert",
    "Extract",
    "Filter",
    "Generated",
    "Group",
    "Highlight",
    "Job",
    "Passage",
    "Problem",
    "Ranking",
    "Result",
    "SearchOptions",
    "SearchRequest",
    "Suggestion",
    "Support",
    "Written",
    "WrittenSentence",
]
