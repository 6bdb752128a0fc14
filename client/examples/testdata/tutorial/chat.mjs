// Node 18 or newer; node chat.mjs
import readline from "node:readline";

const messages = [];
for await (const question of readline.createInterface({ input: process.stdin })) {
  messages.push({ role: "user", content: question });
  const response = await fetch("http://127.0.0.1:8080/v1/chat/completions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "conclave", messages }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error.message);
  const message = answer.choices[0].message;
  messages.push({ role: "assistant", content: message.content });
  console.log(message.content);
  for (const url of new Set(message.annotations?.map((a) => a.url_citation.url))) console.log(url);
  console.log("verdict:", answer.verdict);
}
