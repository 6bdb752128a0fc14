// OpenAI's client in a page of another origin: APP's is configured, OTHER's is not.
import assert from "node:assert/strict";
import test from "node:test";
import { browser, server } from "./servers.mjs";

const embed = async (origin) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const sent = [];
  page.on("request", (request) => sent.push(...Object.keys(request.headers())));
  await page.goto(origin);
  await page.waitForFunction(() => "OpenAI" in window);
  const out = await page.evaluate(
    async ([baseURL, apiKey]) => {
      const client = new window.OpenAI({ baseURL, apiKey, dangerouslyAllowBrowser: true, maxRetries: 0 });
      try {
        const { data } = await client.embeddings.create({ model: "base", input: ["rice", "a lamp"], encoding_format: "float" });
        return data.map((one) => one.embedding.length);
      } catch (error) {
        return `${error.name} ${error.message}`;
      }
    },
    [`${server}/v1`, process.env.KEY],
  );
  await context.close();
  assert.ok(sent.some((name) => name.startsWith("x-stainless-")), `no header of the client's own was sent: ${sent}`);
  return out;
};

test("a page of a configured origin embeds texts", async () => {
  const [first, second] = await embed(process.env.APP);
  assert.ok(first > 0 && first === second);
});

test("a page of another origin does not", async () => {
  assert.match(String(await embed(process.env.OTHER)), /Connection|fetch/);
});
