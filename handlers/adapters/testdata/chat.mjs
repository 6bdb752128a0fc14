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
    error,
  }),
);
