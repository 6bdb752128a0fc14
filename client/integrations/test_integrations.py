"""Each retriever in a chain, a query engine or a pipeline of its framework: test_integrations.py FRAMEWORK URL."""

import asyncio
import sys

framework, url = sys.argv[1:]
QUESTION = "how long can leftovers be refrigerated"
FOLLOW_UP = "and that?"
BEFORE = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": "A day."}]
WORDS = "how long does cooked rice keep"


# A passage of a document, which says where it stands.
PLACE = {"source": "shop/mill.pdf", "document": "shop/mill.pdf", "document_title": "Mill", "heading": "Mill › Care"}
PLACE |= {"page": 4, "begin": 9, "end": 46}
BURRS = "how often are the burrs of the mill brushed"


def put_document() -> None:
    from conclave_client import Client, Passage

    stored = {name: value for name, value in PLACE.items() if name != "source"} | {"begin": 10, "end": 47}
    stored |= {"begin_codepoints": 9, "begin_utf16": 9}
    with Client(url) as client:
        text = "The burrs of the mill: brushed weekly"
        client.put(Passage("shop/mill.pdf#2", text, title="Mill › Care", metadata=stored), visible=True)


def placed(metadata: dict) -> bool:
    """Whether a passage's metadata say where it stands, as Python counts characters."""
    return {name: metadata.get(name) for name in PLACE} == PLACE


def marked(text: str, answers: list[dict]) -> bool:
    """Whether a passage has the words that answer, where they are said to be."""
    first = answers[0]
    return "day" in first["text"] and text[first["start"] : first["end"]] == first["text"] and 0 < first["chance"] < 1


def put_priced() -> None:
    """Passages with metadata that filters compare."""
    from conclave_client import Client, Passage

    with Client(url) as client:
        for name, price, day in (("cheap", 5, "2024-01-31"), ("fair", 12.5, "2024-02-29"), ("dear", 80, "2024-03-01")):
            about = {"price": price, "day": day, "kind": name[0]}
            client.put(Passage("mill-" + name, "A coffee mill that is " + name, metadata=about), visible=True)


MILL = "a coffee mill"


def followed_up() -> list[float]:
    """The scores that the client's search gives for the question behind the messages."""
    from conclave_client import Client

    with Client(url) as client:
        return [r.score for r in client.search(FOLLOW_UP, messages=BEFORE, k=5).results]


def langchain() -> None:
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.output_parsers import StrOutputParser
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.runnables import RunnableLambda, RunnablePassthrough

    from conclave_langchain import ConclaveRetriever

    retriever = ConclaveRetriever(address=url, k=2)
    documents = retriever.invoke(QUESTION)
    first = documents[0]
    assert (len(documents), first.id, first.metadata["title"], first.metadata["tags"]) == (
        2,
        "rice",
        "Rice",
        ["kitchen"],
    )
    assert "fridge" in first.page_content and 0 < first.metadata["confidence"] < 1
    assert [d.id for d in asyncio.run(retriever.ainvoke(QUESTION))] == [d.id for d in documents]
    assert ConclaveRetriever(address=url, min_confidence=1).invoke(QUESTION) == []
    rice, other = ConclaveRetriever(address=url, k=2, answer=True).invoke(WORDS)
    assert rice.id == "rice" and marked(rice.page_content, rice.metadata["answers"])
    assert "answers" not in other.metadata and "answers" not in first.metadata
    assert "answers" not in ConclaveRetriever(address=url, answer={"min_chance": 1}).invoke(WORDS)[0].metadata
    behind = [d.metadata["score"] for d in ConclaveRetriever(address=url, messages=BEFORE).invoke(FOLLOW_UP)]
    assert behind == followed_up() != [d.metadata["score"] for d in ConclaveRetriever(address=url).invoke(FOLLOW_UP)]
    assert placed(retriever.invoke(BURRS)[0].metadata) and "source" not in first.metadata
    from datetime import date

    from langchain_core.structured_query import Comparator, Comparison, Operation, Operator

    put_priced()
    within = Comparison(comparator=Comparator.GTE, attribute="price", value=10)
    early = Comparison(comparator=Comparator.LT, attribute="day", value={"date": "2024-03-01", "type": "date"})
    named = Comparison(comparator=Comparator.IN, attribute="kind", value=["c", "d"])
    late = Comparison(comparator=Comparator.GT, attribute="day", value=date(2024, 2, 29))
    for filters, want in (
        (Operation(operator=Operator.AND, arguments=[within, early]), ["mill-fair"]),
        (Operation(operator=Operator.OR, arguments=[named, early]), ["mill-cheap", "mill-dear", "mill-fair"]),
        (Operation(operator=Operator.AND, arguments=[named, late]), ["mill-dear"]),
        (Comparison(comparator=Comparator.EQ, attribute="tags", value="tales"), ["foxes", "lamps/1"]),
    ):
        only = ConclaveRetriever(address=url, filters=filters)
        assert sorted(d.id for d in only.invoke(MILL)) == want, (filters, only.invoke(MILL))
    tales = ConclaveRetriever(address=url, options={"filter": {"tags_any": ["tales"]}})
    assert sorted(d.id for d in tales.invoke(QUESTION)) == ["foxes", "lamps/1"]

    seen = []
    watch = RunnableLambda(lambda prompt: seen.append(prompt.to_string()) or prompt)
    prompt = ChatPromptTemplate.from_template("{context}\n\n{question}")
    chain = (
        {
            "context": retriever | (lambda found: "\n".join(d.page_content for d in found)),
            "question": RunnablePassthrough(),
        }
        | prompt
        | watch
        | FakeListChatModel(responses=["A day."])
        | StrOutputParser()
    )
    assert chain.invoke(QUESTION) == "A day." and "Cooked rice keeps for a day" in seen[0] and QUESTION in seen[0]


def llama_index() -> None:
    from llama_index.core.llms import MockLLM
    from llama_index.core.query_engine import RetrieverQueryEngine

    from conclave_llama_index import ConclaveRetriever

    retriever = ConclaveRetriever(url, k=2)
    nodes = retriever.retrieve(QUESTION)
    assert (len(nodes), nodes[0].node.node_id, nodes[0].node.metadata["title"]) == (2, "rice", "Rice")
    assert nodes[0].score is not None and nodes[1].score is not None and nodes[0].score > nodes[1].score
    assert [n.node.node_id for n in asyncio.run(retriever.aretrieve(QUESTION))] == [n.node.node_id for n in nodes]
    assert ConclaveRetriever(url, min_confidence=1).retrieve(QUESTION) == []
    assert [n.score for n in ConclaveRetriever(url, messages=BEFORE).retrieve(FOLLOW_UP)] == followed_up()
    marking = ConclaveRetriever(url, k=2, answer=True)
    rice, other = (n.node for n in asyncio.run(marking.aretrieve(WORDS)))
    assert rice.node_id == "rice" and marked(rice.get_content(), rice.metadata["answers"])
    assert "answers" not in other.metadata and "answers" not in nodes[0].node.metadata
    assert placed(retriever.retrieve(BURRS)[0].node.metadata)
    from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

    put_priced()
    dear = MetadataFilter(key="price", operator=FilterOperator.GT, value=12.5)
    early = MetadataFilter(key="day", operator=FilterOperator.LTE, value="2024-01-31")
    both = MetadataFilters(filters=[dear, early], condition=FilterCondition.OR)
    listed = MetadataFilters(filters=[MetadataFilter(key="kind", operator=FilterOperator.NIN, value=["c"])])
    priced = MetadataFilters(filters=[MetadataFilter(key="price", operator=FilterOperator.GTE, value=0), listed])
    for filters, want in ((both, ["mill-cheap", "mill-dear"]), (priced, ["mill-dear", "mill-fair"])):
        only = ConclaveRetriever(url, filters=filters)
        assert sorted(n.node.node_id for n in only.retrieve(MILL)) == want, filters
    assert "page: 4" in str(RetrieverQueryEngine.from_args(retriever, llm=MockLLM()).query(BURRS))
    # This model answers with what it reads.
    for asked in (retriever, marking):
        read = str(RetrieverQueryEngine.from_args(asked, llm=MockLLM()).query(WORDS))
        assert "title: Rice" in read and "Cooked rice keeps" in read and "confidence" not in read
        assert "chance" not in read
    answer = RetrieverQueryEngine.from_args(retriever, llm=MockLLM()).query(QUESTION)
    assert [n.node.node_id for n in answer.source_nodes] == [n.node.node_id for n in nodes]


def haystack() -> None:
    from haystack import Pipeline
    from haystack.components.builders import PromptBuilder
    from haystack.utils import Secret

    from conclave_haystack import ConclaveRetriever

    put_priced()
    conditions = [{"field": "meta.price", "operator": ">=", "value": 10}]
    conditions += [{"operator": "NOT", "conditions": [{"field": "meta.kind", "operator": "==", "value": "d"}]}]
    only = ConclaveRetriever(url, filters={"operator": "AND", "conditions": conditions})
    assert [d.id for d in only.run(MILL)["documents"]] == ["mill-fair"]
    late = {"field": "meta.day", "operator": ">", "value": "2024-02-29"}
    assert [d.id for d in only.run(MILL, filters=late)["documents"]] == ["mill-dear"]
    pipeline = Pipeline()
    pipeline.add_component(
        "retriever", ConclaveRetriever(url, top_k=2, key=Secret.from_env_var("NO_KEY", strict=False))
    )
    template = "{% for d in documents %}{{ d.content }}\n{% endfor %}{{ question }}"
    pipeline.add_component("prompt", PromptBuilder(template=template, required_variables="*"))
    pipeline.connect("retriever.documents", "prompt.documents")
    pipeline = Pipeline.loads(pipeline.dumps(), allowed_modules=["conclave_haystack"])  # pipelines are kept as YAML
    inputs = {"retriever": {"query": QUESTION}, "prompt": {"question": QUESTION}}
    output = pipeline.run(inputs, include_outputs_from={"retriever"})
    found = output["retriever"]["documents"]
    assert (len(found), found[0].id, found[0].meta["title"]) == (2, "rice", "Rice") and 0 < output["retriever"][
        "confidence"
    ] < 1
    assert [d.score for d in ConclaveRetriever(url).run(FOLLOW_UP, messages=BEFORE)["documents"]] == followed_up()
    assert "Cooked rice keeps for a day" in output["prompt"]["prompt"] and QUESTION in output["prompt"]["prompt"]
    assert (
        pipeline.run(
            {"retriever": {"query": QUESTION, "top_k": 1}, "prompt": {"question": ""}},
            include_outputs_from={"retriever"},
        )["retriever"]["documents"]
        == found[:1]
    )

    marking = Pipeline()
    marking.add_component("retriever", ConclaveRetriever(url, top_k=2, answer=True))
    marking = Pipeline.loads(marking.dumps(), allowed_modules=["conclave_haystack"])
    rice, second = marking.run({"retriever": {"query": WORDS}})["retriever"]["documents"]
    assert rice.id == "rice" and marked(rice.content, rice.meta["answers"])
    assert "answers" not in second.meta and "answers" not in found[0].meta

    mill = marking.run({"retriever": {"query": BURRS}})["retriever"]["documents"][0]
    assert placed(mill.meta)

    other = Pipeline()
    other.add_component("retriever", ConclaveRetriever(url, min_confidence=1))
    assert asyncio.run(other.run_async({"retriever": {"query": QUESTION}}))["retriever"]["documents"] == []


put_document()
{"langchain": langchain, "llama_index": llama_index, "haystack": haystack}[framework]()
