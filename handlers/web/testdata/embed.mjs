// A search box in pages of other origins: APP's is configured, OTHER's is not. KEY may search the collection, and
// LIMITED once.
import assert from "node:assert/strict";
import test from "node:test";
import { browser, server } from "./servers.mjs";

// open shows a page of an origin with the box of a key, and returns what it keeps of the server.
async function open(origin, key) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const asked = [];
  page.on("request", async (request) => request.url().startsWith(server) && asked.push(await request.allHeaders()));
  await page.goto(`${origin}/?key=${key}`);
  await page.getByRole("searchbox", { name: "Ask the tales" }).waitFor();
  const ask = async (question) => {
    await page.getByRole("searchbox").fill(question);
    await page.keyboard.press("Enter");
  };
  return { context, page, asked, ask };
}

test("a page of a configured origin shows the answer and where it stands", async () => {
  const { context, page, asked, ask } = await open(process.env.APP, process.env.KEY);
  await ask("Which seal lives in Lake Baikal?");
  const box = page.locator(".conclave-search");
  await box.locator("li").first().waitFor();
  assert.equal(await box.locator("li").count(), 2);
  assert.match(await box.locator("ol").innerText(), /Baikal/);
  assert.ok((await box.locator("mark").count()) > 0, "no words are marked");
  if (process.env.PICTURE) await page.screenshot({ path: process.env.PICTURE });
  assert.ok(
    asked.every((headers) => !headers.cookie),
    "a cookie was sent",
  );
  assert.deepEqual(await context.cookies(), []);
  assert.equal(await page.evaluate(() => localStorage.length + sessionStorage.length), 0);
  await ask("<img src=x onerror=alert(1)> xqzzy vrrbl?");
  await page.getByText(/may not be answered here|is not answered here/).waitFor();
  await context.close();
});

test("the page's own styles and policy leave it as it is", async () => {
  const { context, page } = await open(process.env.APP, process.env.KEY);
  const size = await page.locator(".conclave-search input").evaluate((one) => getComputedStyle(one).fontSize);
  assert.notEqual(size, "77px"); // of the page's rule for input
  await context.close();
});

test("a key beyond its rate and a page of another origin are told so", async () => {
  const limited = await open(process.env.APP, process.env.LIMITED);
  await limited.ask("Which seal lives in Lake Baikal?");
  await limited.page.locator(".conclave-search li").first().waitFor();
  await limited.ask("where is the moon?");
  await limited.page.getByText(/Many people ask/).waitFor();
  await limited.context.close();
  const other = await open(process.env.OTHER, process.env.KEY);
  await other.ask("Which seal lives in Lake Baikal?");
  await other.page.getByText("The search does not answer at the moment.").waitFor();
  await other.context.close();
});
