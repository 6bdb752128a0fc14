import json
import urllib.request

request = urllib.request.Request(
    "http://127.0.0.1:8080/v1/search",
    data=json.dumps({"question": "how long should I pinch my nose for a nosebleed", "k": 3, "answer": True}).encode(),
    headers={"Content-Type": "application/json"},  # with keys, also "Authorization": "Bearer KEY"
)
with urllib.request.urlopen(request) as response:
    answer = json.load(response)
print(answer.get("verdict"), answer["confidence"])  # no verdict: fewer than 16 passages
for words in answer.get("answers", []):
    print("answer:", words["text"], "in", words["passage"], words.get("heading"), words.get("page"))
for result in answer["results"]:
    print(result["id"], result.get("heading"), result.get("page"), result["text"])
