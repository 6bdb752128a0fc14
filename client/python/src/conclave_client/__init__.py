"""Calls a conclave server.

>>> with Client("http://127.0.0.1:8080") as conclave:
...     answer = conclave.search("why did the fox hide the moon?", k=3)
...     print(answer.confidence, answer.results[0].title)
"""

from .client import AsyncClient, Client
from .errors import Problem
from .requests import Filter, SearchOptions, SearchRequest
from .types import (
    Answer,
    Answered,
    Citation,
    Contribution,
    Document,
    DocumentReference,
    Expert,
    Extract,
    Generated,
    Group,
    Highlight,
    Job,
    Override,
    Passage,
    Ranking,
    Result,
    Settings,
    Suggestion,
    Support,
    Synonyms,
    Unanswered,
    Written,
    WrittenSentence,
)

__all__ = [
    "Answer",
    "Answered",
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
    "Override",
    "Passage",
    "Problem",
    "Ranking",
    "Result",
    "SearchOptions",
    "SearchRequest",
    "Settings",
    "Suggestion",
    "Support",
    "Synonyms",
    "Unanswered",
    "Written",
    "WrittenSentence",
]
