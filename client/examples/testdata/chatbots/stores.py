from openai import OpenAI

client = OpenAI(base_url="http://127.0.0.1:8080/v1", api_key="none")
page = client.vector_stores.search("demo", query="why did the fox hide the moon", max_num_results=3)
for hit in page.data:
    print(round(hit.score, 2), hit.filename, hit.content[0].text)
passages = client.embeddings.create(model="base", input=["The fox hid the moon.", "Rice keeps for a day."])
question = client.embeddings.create(model="base:question", input="why did the fox hide the moon")
