// Talks to the server with the AI SDK, whose default is the Responses interface, and prints what it got as JSON.
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, Output, streamText } from "ai";
import { z } from "zod";

const [url, question, mode] = process.argv.slice(2);
const provider = createOpenAI({ baseURL: url + "/v1", apiKey: "none" });
const out = {};
for (const [name, model] of [["responses", provider("conclave")], ["chat", provider.chat("conclave")]]) {
  if (mode === "object") {
    const { output } = await generateText({
      model,
      prompt: question,
      output: Output.object({ schema: z.object({ who: z.string() }) }),
      maxRetries: 0,
    });
    out[name] = output.who;
    continue;
  }
  const whole = await generateText({ model, prompt: question, maxRetries: 0 });
  const pieces = [];
  const stream = streamText({
    model,
    messages: [
      { role: "user", content: question },
      { role: "assistant", content: whole.text },
      { role: "user", content: question },
    ],
    maxRetries: 0,
    onError: ({ error }) => { throw error; },
  });
  for await (const piece of stream.textStream) pieces.push(piece);
  out[name] = { whole: whole.text, pieces, finished: whole.finishReason, sources: whole.sources.map((s) => s.title) };
}
console.log(JSON.stringify(out));
