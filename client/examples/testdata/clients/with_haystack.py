from conclave_haystack import ConclaveRetriever
from haystack import Pipeline

pipeline = Pipeline()
pipeline.add_component("retriever", ConclaveRetriever("http://127.0.0.1:8080", top_k=3))
print(pipeline.run({"retriever": {"query": "why did the fox hide the moon"}})["retriever"]["documents"][0].meta)
