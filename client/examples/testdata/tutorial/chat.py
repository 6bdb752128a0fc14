# pip install openai
from openai import OpenAI

client = OpenAI(base_url="http://127.0.0.1:8080/v1", api_key="none")
messages = []
while question := input("> "):
    messages.append({"role": "user", "content": question})
    answer = client.chat.completions.create(model="conclave", messages=messages)
    message = answer.choices[0].message
    messages.append({"role": "assistant", "content": message.content})
    print(message.content)
    for url in dict.fromkeys(a.url_citation.url for a in message.annotations or []):
        print(url)
    print("verdict:", answer.model_extra.get("verdict"))
