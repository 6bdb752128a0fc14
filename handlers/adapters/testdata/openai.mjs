// Uses OpenAI's package for Node, and prints what it got as JSON.
import OpenAI from "openai";

const baseURL = process.argv[2] + "/v1";
const [embedding, searching, nobody] = ["embed", "search", "nobody"].map((apiKey) => new OpenAI({ baseURL, apiKey, maxRetries: 0 }));
const vectors = async (more) =>
  (await embedding.embeddings.create({ model: "base", input: ["a lamp", "the moon"], ...more })).data.map((x) => Array.from(x.embedding));
const errors = {};
for (const ask of [
  () => nobody.models.list(),
  () => searching.embeddings.create({ model: "base", input: "x" }),
  () => embedding.embeddings.create({ model: "gpt", input: "x" }),
  () => embedding.embeddings.create({ model: "base", input: "x", dimensions: 3 }),
]) {
  try {
    await ask();
  } catch (e) {
    errors[e.constructor.name] = e.message;
  }
}
const models = [];
for await (const m of embedding.models.list()) models.push(m.id);
const found = [];
const filters = { type: "in", key: "tags", value: ["tales"] };
for await (const hit of searching.vectorStores.search("c", { query: "who hid the lamp", filters })) found.push(hit.file_id);
const compared = {
  type: "and",
  filters: [
    { type: "gt", key: "page", value: 6 },
    { type: "lte", key: "page", value: 7 },
    { type: "ne", key: "tags", value: "kitchen" },
  ],
};
const narrowed = [];
for await (const hit of searching.vectorStores.search("c", { query: "who hid the lamp", filters: compared })) narrowed.push(hit.file_id);
console.log(
  JSON.stringify({
    float: await vectors({ encoding_format: "float" }),
    base64: await vectors(), // the package asks for base64, and decodes it
    tokens: (await embedding.embeddings.create({ model: "base", input: "a lamp" })).usage.total_tokens,
    models,
    found,
    narrowed,
    errors,
  }),
);
