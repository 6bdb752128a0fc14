// A server that is reached under a path: SERVER ends with it.
import assert from "node:assert/strict";
import test from "node:test";
import { on, server } from "./servers.mjs";

const base = new URL(server).pathname;
const path = (page) => new URL(page.url()).pathname;
const results = (page) => page.locator(".results > li").first().waitFor();

test("the page asks, compares and shows the collection", () =>
  on("/?tune=1", async (page) => {
    await page.locator("#question").fill("why did the fox hide the moon");
    await page.keyboard.press("Enter");
    await results(page);
    assert.equal(path(page), `${base}/`);
    await page.locator(".results summary").first().click();
    await page.waitForFunction(() => new URLSearchParams(location.search).has("open"));
    assert.equal(path(page), `${base}/`);
    await page.reload();
    await results(page);
    await page.locator('nav a[data-view="compare"]').click();
    await page.waitForFunction(() => new URLSearchParams(location.search).get("view") === "compare");
    assert.equal(path(page), `${base}/`);
    await page.locator('nav a[data-view="collection"]').click();
    await page.locator(".collection table, .collection dl").first().waitFor();
    await page.goBack();
    await page.waitForFunction(() => new URLSearchParams(location.search).get("view") === "compare");
  }));

test("the path without its last slash leads to the page", () =>
  on("", async (page) => {
    await page.locator("#question").waitFor();
    assert.equal(path(page), `${base}/`);
  }));

test("a search is copied with the address that it has", () =>
  on("/?tune=1&q=fox", async (page) => {
    await results(page);
    await page.getByRole("button", { name: "Copy as code" }).click();
    assert.ok((await page.locator("#copy pre").textContent()).includes(`${server}/v1/search`));
  }));

test("the reference draws itself and tries requests", () =>
  on("/docs", async (page) => {
    await page.locator("#ready.good").waitFor();
    const form = page.locator("#op-limits .try");
    await form.locator("button.main").click();
    await form.locator(".reply pre").waitFor();
    assert.match(await form.locator(".outcome b").textContent(), /^200/);
    assert.ok((await form.locator("pre.curl").textContent()).includes(`${server}/v1/limits`));
  }));

test("every link of the guide stays below the path and is there", () =>
  on("/guide/", async (page) => {
    const seen = new Set();
    const look = async () => {
      const found = await page.$$eval("a[href], link[href], img[src], script[src]", (all) => all.map((e) => (e.href || e.src).split("#")[0]));
      return [...new Set(found)].filter((url) => new URL(url).origin === location);
    };
    const location = new URL(server).origin;
    for (const url of await look()) {
      if (seen.has(url)) continue;
      seen.add(url);
      assert.ok(url.startsWith(`${server}/`), url);
      const response = await page.request.get(url);
      assert.equal(response.status(), 200, url);
    }
    assert.ok(seen.size > 20, `${seen.size} links`);
    await page.locator("#pages a").nth(3).click();
    await page.locator("main h1").waitFor();
    assert.ok(path(page).startsWith(`${base}/guide/`), path(page));
    for (const url of await look()) assert.ok(url.startsWith(`${server}/`), url);
  }));

test("OpenAPI names the server, and what it describes is there", async () => {
  for (const name of ["openapi.json", "openapi.yaml"]) {
    const text = await (await fetch(`${server}/${name}`)).text();
    assert.ok(new RegExp(`"?url"?: ?"?${base}[\\s"}]`).test(text), name);
  }
  const contract = await (await fetch(`${server}/openapi.json`)).json();
  const answer = await fetch(new URL(contract.servers[0].url, server) + "/v1/limits");
  assert.equal(answer.status, 200);
});

test("addresses in answers begin with the path", async () => {
  const put = await fetch(`${server}/v1/passages/based%2F1`, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: '{"text":"zebra"}',
  });
  assert.equal(put.status, 201);
  const there = await fetch(new URL(put.headers.get("location"), server));
  assert.equal((await there.json()).id, "based/1");
  const problem = await (await fetch(`${server}/v1/nothing`)).json();
  assert.ok(problem.type.startsWith(`${base}/docs#`), problem.type);
});

test("the Model Context Protocol is spoken", async () => {
  const ask = async (method, params) => {
    const response = await fetch(`${server}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    assert.equal(response.status, 200, method);
    const text = await response.text();
    return JSON.parse(text.startsWith("{") ? text : text.match(/^data: (.*)$/m)[1]).result;
  };
  await ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } });
  const { structuredContent } = await ask("tools/call", { name: "search", arguments: { query: "fox and moon" } });
  assert.ok(JSON.stringify(structuredContent).includes(`${base}/v1/passages/`), JSON.stringify(structuredContent).slice(0, 300));
});
