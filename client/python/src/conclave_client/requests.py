"""What a server is asked. The fields are those of the server's reference page, /docs."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

Value = str | float | bool

# What a passage has to meet: all that the condition names. Written as a call, since names are Python's keywords.
Condition = TypedDict(
    "Condition",
    {
        "tags_all": list[str],
        "tags_any": list[str],
        "field": str,
        "eq": Value,
        "in": list[Value],
        "gt": Value,
        "gte": Value,
        "lt": Value,
        "lte": Value,
        "exists": bool,
        "and": "list[Condition]",
        "or": "list[Condition]",
        "not": "Condition",
    },
    total=False,
)


class Filter(Condition, total=False):
    """Which passages may be found, by their tags, their metadata and the ids of their documents."""

    documents: list[str]


class _FacetRequest(TypedDict):
    field: str


class FacetRequest(_FacetRequest, total=False):
    """A field whose values are counted, and how many of them are listed. width counts ranges of numbers, period
    those of dates."""

    size: int
    width: float
    period: Literal["year", "month", "day"]


class Sort(_FacetRequest, total=False):
    """The field that the candidates are ordered by: "asc" or "desc"."""

    order: str


class Boost(_FacetRequest, total=False):
    """The dates that let new passages rank higher: half_life such as "90d"."""

    half_life: str
    weight: float


class Deletion(TypedDict, total=False):
    """Which passages to delete: those with tags that meet a condition or, alone, those with these ids."""

    tags_all: list[str]
    tags_any: list[str]
    filter: Condition
    ids: list[str]


class SearchOptions(TypedDict, total=False):
    """How a question is answered; what is left out is the server's default."""

    k: int
    offset: int
    fusion: str | list[str]
    experts: list[str]
    bm25: bool
    late: bool
    specialists: int
    candidates: int
    exact: bool
    missing: str
    weights: dict[str, float]
    timeout_ms: int
    explain: bool
    fields: list[str]
    normalisation: str
    sharpness: float
    weighting: Literal["certainty", "familiar"]
    filter: Filter
    min_confidence: float
    offsets: Literal["bytes", "codepoints", "utf16"]
    must: list[str]
    must_not: list[str]
    correct: bool
    collapse: bool
    collections: list[str]  # that are searched as one, on a server of several
    around: int  # passages on each side of a result whose texts are given too, 0 to 5
    prefix: bool
    group_by: str  # "document", or a field of the metadata
    group_size: int
    facets: list[FacetRequest]
    sort: Sort
    boost: Boost
    answer: bool | dict[str, Any]
    rerank: bool | Literal["auto"] | dict[str, Any]  # {"model", "passages"}
    messages: list[dict[str, str]]  # {"role", "content"}: before the question, or in its place


class SearchRequest(SearchOptions, total=False):
    """A search of a batch: a question, or messages in its place."""

    question: str
