from openai import OpenAI

client = OpenAI(base_url="http://127.0.0.1:8080/v1", api_key="none")
answer = client.chat.completions.create(
    model="conclave", messages=[{"role": "user", "content": "why did the fox hide the moon?"}]
)
print(answer.choices[0].message.content)
