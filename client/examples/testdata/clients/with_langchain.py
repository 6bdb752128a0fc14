from conclave_langchain import ConclaveRetriever

retriever = ConclaveRetriever(address="http://127.0.0.1:8080", k=3, min_confidence=0.2, answer=True)
for document in retriever.invoke("why did the fox hide the moon"):
    print(document.metadata["title"], document.metadata["confidence"])
    for answer in document.metadata.get("answers", []):
        print(document.page_content[answer["start"] : answer["end"]], answer["chance"])
