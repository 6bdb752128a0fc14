from conclave_client import Client

vectors = Client("http://127.0.0.1:8080").embed(["How hot is the sun?", "The sun is hot."], kind="passage")
print(vectors.shape, vectors @ vectors.T)
