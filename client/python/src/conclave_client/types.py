"""What a server answers, and a collection's settings. The fields are those of the server's reference page, /docs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    import pandas


@dataclass
class Suggestion:
    """A text that may be meant by what somebody began to type: a title ("document"), a heading or a word. passages is
    how many have it; corrected says that a word was typed otherwise."""

    text: str
    kind: str
    passages: int
    corrected: bool = False


@dataclass
class DocumentReference:
    """A document that passages were cut from. source is where it is from, an address or a path."""

    id: str
    source: str
    title: str = ""


@dataclass
class Contribution:
    """What a source added to a result's score; the contributions add up to it."""

    source: str
    score: float | None
    rank: int | None
    origin: str
    weight: float
    contribution: float


@dataclass
class Highlight:
    """A part of a passage that matched; start and end are bytes of its title or text in UTF-8."""

    field: str
    start: int
    end: int
    score: float


@dataclass
class Result:
    """A passage that was found."""

    rank: int
    id: str
    score: float
    title: str = ""
    text: str = ""
    tags: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    document: DocumentReference | None = None  # that the passage was cut from
    heading: str = ""  # the path of the headings above it
    page: int | None = None
    page_end: int | None = None  # where it ends on another one
    link: str = ""  # to the passage on its page, where that is on the web
    begin: int | None = None  # where it lies in the document's text, in bytes of UTF-8 or what offsets names
    end: int | None = None
    before: str = ""  # what stands around it in the document, with around
    after: str = ""
    collection: str = ""  # that it is of, where several were searched
    copies: list[str] = field(default_factory=list)
    copies_in: list[str] = field(default_factory=list)  # their collections, where several were searched
    pinned: bool = False  # an administrator has put it first for this question
    contributions: list[Contribution] = field(default_factory=list)
    highlight: Highlight | None = None
    highlights: list[Highlight] = field(default_factory=list)
    explanation: list[dict[str, Any]] = field(default_factory=list)

    def place(self) -> dict[str, Any]:
        """Where the passage stands, as metadata for it: source, document (its id), document_title, heading, page,
        begin and end, of which those are left out that are not known."""
        if self.document is None:
            return {}
        of = self.document
        known: dict[str, Any] = {"source": of.source, "document": of.id, "document_title": of.title}
        known |= {"heading": self.heading, "page": self.page, "begin": self.begin, "end": self.end}
        return {name: value for name, value in known.items() if value not in (None, "")}


@dataclass
class Group:
    """A document, or a value of the field that group_by names, with its best passages. A passage without one is a
    group by itself."""

    rank: int
    score: float
    document: DocumentReference | None = None
    value: Any = None
    results: list[Result] = field(default_factory=list)


@dataclass
class Ranking:
    """What one method made of a question. confidence is the chance that the first result answers.

    verdict is "found", "doubtful" or "not_found": whether the collection answers at all, told by answerable, the chance
    of that, and verdict_thresholds ("found", "doubtful"). It is "" where that is not known, and notes say why.
    """

    fusion: str = ""
    method: str = ""
    confidence: float | None = None
    confidence_basis: str = ""
    confidence_any: float | None = None
    verdict: str = ""
    answerable: float | None = None
    verdict_thresholds: dict[str, float] = field(default_factory=dict)
    abstained: bool = False
    results: list[Result] = field(default_factory=list)

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each result, and a column for what each source contributed."""
        import pandas

        rows = []
        for r in self.results:
            row: dict[str, Any] = {"rank": r.rank, "id": r.id, "title": r.title, "text": r.text, "score": r.score}
            rows.append(row | {c.source: c.contribution for c in r.contributions})
        return pandas.DataFrame(rows)


@dataclass
class TableRow:
    """A row of a table with the table's header; column is that of the cell that answers, from 0."""

    header: list[str]
    cells: list[str]
    column: int | None = None  # None: not known


@dataclass
class Extract:
    """Words of a passage that answer; start and end are bytes of its text in UTF-8, or what offsets names."""

    text: str
    passage: str
    start: int
    end: int
    score: float
    chance: float | None = None
    collection: str = ""  # that the passage is of, where several were searched
    document: DocumentReference | None = None
    heading: str = ""
    page: int | None = None
    page_end: int | None = None  # where it ends on another one
    at: int | None = None  # where the words begin in the document's text
    headline: bool = False  # the words may stand by themselves as the answer
    row: TableRow | None = None  # of a table, that the words stand in


@dataclass
class Support:
    """A passage that a generated answer rests on, and its share of the model's attention."""

    passage: str
    share: float
    collection: str = ""  # that it is of, where several were searched
    document: DocumentReference | None = None
    heading: str = ""
    page: int | None = None
    page_end: int | None = None  # where it ends on another one


@dataclass
class WrittenSentence:
    """A sentence of a generated answer, compared with the passages that it cites."""

    text: str
    support: float  # the share of its words that stand there, 0 to 1
    supported: bool
    attributed: bool = False  # it cited no passage, or others than the one that supports it; citations has that
    unchecked: str = ""  # why it is not compared with passages; "": it is
    citations: list[int] = field(default_factory=list)  # numbers of Generated.citations
    unfounded: list[str] = field(default_factory=list)  # numbers and names that stand in no passage
    unknown: list[str] = field(default_factory=list)  # numbers that it cites and no passage has


@dataclass
class Citation:
    """A passage that a generated answer cites."""

    number: int
    passage: str
    title: str = ""
    collection: str = ""  # that it is of, where several were searched
    document: DocumentReference | None = None
    heading: str = ""
    page: int | None = None
    page_end: int | None = None  # where it ends on another one


@dataclass
class Generated:
    """What a model wrote from the passages; it may say what is in none of them."""

    text: str
    reader: str
    complete: bool
    tokens: int
    score: float  # 0: the model does not say it
    generated: bool = True
    support: list[Support] = field(default_factory=list)
    refused: bool = False  # the model found no answer in the passages
    sentences: list[WrittenSentence] = field(default_factory=list)
    dropped: list[WrittenSentence] = field(default_factory=list)  # left out of the text
    citations: list[Citation] = field(default_factory=list)


@dataclass
class Answer(Ranking):
    """The answer to a question: results, or a ranking for each of several methods."""

    question: str = ""
    asked: str = ""  # the part of a long question, or what was made of messages, that was answered
    generation: int = 0
    took_ms: float = 0
    request_id: str = ""
    selected: int | None = None
    rankings: list[Ranking] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)  # in the place of results, with group_by
    answers: list[Extract] = field(default_factory=list)
    generated: Generated | None = None
    facets: list[dict[str, Any]] = field(default_factory=list)  # in the order of the request's
    sources: list[dict[str, Any]] = field(default_factory=list)
    degraded: list[dict[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    corrected: list[dict[str, str]] = field(default_factory=list)
    synonyms: list[dict[str, Any]] = field(default_factory=list)  # that were searched for beside words
    function_words: list[str] = field(default_factory=list)  # of the question, that carry nothing; with explain
    overridden: dict[str, list[str]] = field(default_factory=dict)  # ids that are pinned and hidden; with explain
    offsets: str = "bytes"

    def answers_in(self, result: Result) -> dict[str, list[dict[str, Any]]]:
        """The words of a passage that answer, as metadata for it: {"answers": [{"text", "start", "end", "chance"}]},
        or nothing where it has none. Here start and end are characters of its text."""
        encoding, unit = {"codepoints": ("utf-32-le", 4), "utf16": ("utf-16-le", 2)}.get(self.offsets, ("utf-8", 1))
        text = result.text.encode(encoding)
        found = [
            {"text": a.text, "start": len(text[: unit * a.start].decode(encoding))}
            | {"end": len(text[: unit * a.end].decode(encoding)), "chance": a.chance}
            for a in self.answers
            if a.passage == result.id and unit * a.end <= len(text)
        ]
        return {"answers": found} if found else {}

    def noted(self) -> dict[str, list[str]]:
        """What the answer says beside its passages, as metadata for them: {"notes": [...]}, or nothing."""
        notes = self.notes + [f"left out: {d['source']}: {d['reason']}" for d in self.degraded]
        return {"notes": notes} if notes else {}


@dataclass
class Passage:
    """A piece of text that can be an answer. version is set where a server gave it."""

    id: str
    text: str
    title: str = ""
    tags: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    version: str = ""
    document: DocumentReference | None = None  # that it was cut from, where a server gave it
    heading: str = ""  # the path of the headings above it
    page: int = 0
    begin: int | None = None  # bytes of the document's text
    end: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The passage as it is sent."""
        sent: dict[str, Any] = {"id": self.id, "text": self.text}
        for name in ("title", "tags", "metadata"):
            if value := getattr(self, name):
                sent[name] = value
        return sent


@dataclass
class Document:
    """A file that was cut into passages; with its text where it was asked for by its id."""

    id: str
    source: str  # where it is from; its id where nobody said
    passages: int  # how many it has
    title: str = ""
    media_type: str = ""
    sha256: str = ""  # of its file
    bytes: int = 0  # of its file
    modified: str = ""  # when its file was changed last
    root: str = ""  # the mark of the folder that it follows
    original: str = ""  # "copy" or "file": original() returns its file; "": it is not kept
    tags: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    version: str = ""
    text: str = ""


@dataclass
class Written:
    """What became of a passage: created, replaced, unchanged, deleted, or in an upload rejected, with the error."""

    id: str
    status: str
    version: str = ""
    line: int = 0
    error: dict[str, Any] | None = None
    unknown_fields: list[str] = field(default_factory=list)
    truncated: bool = False  # an expert reads only the beginning
    unread: bool = False  # an expert can hardly read it


@dataclass
class Expert:
    """An expert that is loaded."""

    name: str
    kind: str
    dimension: int
    index: str
    passages: int
    precision: str
    provider: str
    ensemble_members: int
    rows: int = 0
    parts: bool = False
    owner: str = ""
    max_tokens: dict[str, int] = field(default_factory=dict)
    languages: list[str] = field(default_factory=list)
    recall: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


# Either words, which stand for each other, or from and to: a question with a word of from is also searched for the
# words of to. Written as a call, since from is Python's keyword.
Synonyms = TypedDict("Synonyms", {"words": list[str], "from": list[str], "to": list[str]}, total=False)


class Override(TypedDict, total=False):
    """The chosen results of some questions, and of those that have one of the words and phrases in contains: the ids
    of passages and documents that stand first, and of those that are left out."""

    questions: list[str]
    contains: list[str]
    pin: list[str]
    hide: list[str]


@dataclass
class Settings:
    """The settings of a collection that an administrator changes while it is served: synonyms, chosen results
    (overrides) and the types of metadata fields ("keyword", "number", "date" or "bool"). misfits are stored values
    that do not have the type of their field; put_settings does not send them."""

    synonyms: list[Synonyms] = field(default_factory=list)
    overrides: list[Override] = field(default_factory=list)
    fields: dict[str, str] = field(default_factory=dict)
    misfits: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Unanswered:
    """A question whose last verdict was not "found". nearest is the id of the first passage of the last search;
    filtered says that this was restricted to a part of the passages."""

    question: str
    verdict: str
    asked: int
    first: str
    last: str
    filtered: bool = False
    nearest: str = ""


@dataclass
class Answered:
    """A question whose last verdict was "found". offered says that enough callers asked it for it to be suggested;
    restricted, that it is suggested to keys with the same filter only."""

    question: str
    asked: int
    first: str
    last: str
    offered: bool = False
    restricted: bool = False


@dataclass
class Job:
    """Long work at the server; state is queued, running, done, failed or cancelled."""

    id: str
    kind: str
    name: str
    state: str
    created: str
    attempts: int
    error: str = ""
    progress: dict[str, Any] = field(default_factory=dict)
    result: dict[str, Any] = field(default_factory=dict)

    @property
    def ended(self) -> bool:
        """Whether nothing more happens."""
        return self.state in ("done", "failed", "cancelled")
