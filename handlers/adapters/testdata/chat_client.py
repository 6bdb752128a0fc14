"""Talks to the server with OpenAI's package for Python, and prints what it got as JSON."""
import json
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="none", max_retries=0)
asked = {"model": "conclave", "messages": [{"role": "user", "content": sys.argv[2]}]}
whole = client.chat.completions.create(**asked)
pieces, finished, usage = [], "", None
for chunk in client.chat.completions.create(**asked, stream=True, stream_options={"include_usage": True}):
    usage = chunk.usage or usage
    for choice in chunk.choices:
        pieces.append(choice.delta.content or "")
        finished = choice.finish_reason or finished
try:
    client.chat.completions.create(**asked, tools=[{"type": "function", "function": {"name": "f"}}])
    error = ""
except openai.BadRequestError as e:
    error = e.message
# The Responses interface and the older one for completions.
one = client.responses.create(model="conclave", input=sys.argv[2])
events, streamed = [], ""
for event in client.responses.create(model="conclave", input=asked["messages"], stream=True):
    events.append(event.type)
    if event.type == "response.output_text.delta":
        streamed += event.delta
part = one.output[0].content[0]
text = client.completions.create(model="conclave", prompt=sys.argv[2], stop="\n")
older = "".join(c.choices[0].text for c in client.completions.create(model="conclave", prompt=sys.argv[2], stream=True))
message = whole.choices[0].message
print(json.dumps({
    "whole": message.content,
    "cited": [message.content[a.url_citation.start_index : a.url_citation.end_index] for a in message.annotations],
    "titles": [a.url_citation.title for a in message.annotations],
    "pieces": pieces,
    "finished": finished,
    "tokens": usage.completion_tokens,
    "models": [m.id for m in client.models.list()],
    "model": client.models.retrieve("local").id,
    "error": error,
    "response": one.output_text,
    "responseCited": [part.text[a.start_index : a.end_index] for a in part.annotations],
    "responseStreamed": streamed,
    "events": events,
    "stopped": text.choices[0].text,
    "older": older,
}))
