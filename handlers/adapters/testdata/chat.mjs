// Talks to the server with OpenAI's package for Node, and prints what it got as JSON.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.argv[2] + "/v1", apiKey: "none", maxRetries: 0 });
const asked = { model: "conclave", messages: [{ role: "user", content: process.argv[3] }] };
const { message } = (await client.chat.completions.create(asked)).choices[0];
const pieces = [];
let finished = "";
let tokens = 0;
for await (const chunk of await client.chat.completions.create({ ...asked, stream: true, stream_options: { include_usage: true } })) {
  tokens = chunk.usage?.completion_tokens ?? tokens;
  for (const choice of chunk.choices) {
    pieces.push(choice.delta.content ?? "");
    finished = choice.finish_reason ?? finished;
  }
}
let error = "";
try {
  await client.chat.completions.create({ ...asked, tools: [{ type: "function", function: { name: "f" } }] });
} catch (e) {
  error = e.message;
}
const models = [];
for await (const m of client.models.list()) models.push(m.id);
// The Responses interface and the older one for completions.
const one = await client.responses.create({ model: "conclave", input: process.argv[3] });
const events = [];
let streamed = "";
for await (const event of await client.responses.create({ model: "conclave", input: asked.messages, stream: true })) {
  events.push(event.type);
  if (event.type === "response.output_text.delta") streamed += event.delta;
}
const part = one.output[0].content[0];
const text = await client.completions.create({ model: "conclave", prompt: process.argv[3], stop: "\n" });
let older = "";
for await (const chunk of await client.completions.create({ model: "conclave", prompt: process.argv[3], stream: true })) older += chunk.choices[0].text;
const citations = message.annotations.map((a) => a.url_citation);
console.log(
  JSON.stringify({
    whole: message.content,
    cited: citations.map((c) => [...message.content].slice(c.start_index, c.end_index).join("")),
    titles: citations.map((c) => c.title),
    pieces,
    finished,
    tokens,
    models,
    model: (await client.models.retrieve("local")).id,
    error,
    response: one.output_text,
    responseCited: part.annotations.map((a) => [...part.text].slice(a.start_index, a.end_index).join("")),
    responseStreamed: streamed,
    events,
    stopped: text.choices[0].text,
    older,
  }),
);
