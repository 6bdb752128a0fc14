from conclave_llama_index import ConclaveRetriever

for node in ConclaveRetriever("http://127.0.0.1:8080", k=3).retrieve("why did the fox hide the moon"):
    print(node.score, node.metadata["title"])
