// Questions that were not answered, as an administrator sees them. SEARCHER's key may search, OWNER's may do everything.
import assert from "node:assert/strict";
import test from "node:test";
import { accessible, leave, looks, visit, widths } from "./browser.mjs";
import { browser, server } from "./servers.mjs";

const { SEARCHER: searcher, OWNER: owner, FILTERED: filtered } = process.env;
const expected = /Failed to load resource/;

const call = async (method, path, key, body) => {
  const response = await fetch(server + path, { method, headers: { "x-api-key": key, "content-type": "application/json" }, body: body && JSON.stringify(body) });
  return { status: response.status, value: await response.json() };
};
const ask = async (question, more) => (await call("POST", "/v1/search", searcher, { question, ...more })).value;
const listed = async () => (await call("GET", "/v1/admin/unanswered", owner)).value;

const foreign = "which gearbox oil does a 1998 Volvo need?";
const known = "what did the fox ask the moon?";

test("what was not answered is listed for an administrator alone, and forgotten when asked", async () => {
  for (const question of [foreign, "Which gearbox oil does a 1998 VOLVO need", "how do I reset my router password?", known]) await ask(question);
  await ask(foreign, { fusion: ["rrf", "bm25"] }); // a comparison counts for nothing
  const { keep, questions } = await listed();
  assert.equal(keep, 5);
  const texts = questions.map((one) => one.question);
  assert.ok(!texts.includes(known), texts.join());
  assert.equal(questions[0].question, "Which gearbox oil does a 1998 VOLVO need");
  assert.equal(questions[0].asked, 2);
  assert.ok(["not_found", "doubtful"].includes(questions[0].verdict));
  assert.equal((await call("GET", "/v1/admin/unanswered", searcher)).status, 403);

  for (const [width, theme] of looks(widths)) {
    const page = await visit(browser, `${server}/?view=collection`, { width, expected });
    await page.fill("#key", owner);
    await page.locator("#key").press("Tab");
    const card = page.getByRole("region", { name: "Questions without an answer" });
    await card.getByText("asked twice").waitFor();
    await page.emulateMedia({ colorScheme: theme });
    await accessible(page, `unanswered, ${width} px, ${theme}`);
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/unanswered-${width}-${theme}.png`, fullPage: true });
    await leave(page);
  }

  const page = await visit(browser, `${server}/?view=collection`, { expected });
  await page.fill("#key", searcher);
  await page.locator("#key").press("Tab");
  await page.getByRole("heading", { name: "Documents", exact: true }).first().waitFor();
  assert.equal(await page.getByText("Questions without an answer").isVisible(), false);
  await page.fill("#key", owner);
  await page.locator("#key").press("Tab");
  await page.getByRole("button", { name: "Forget how do I reset my router password?" }).click();
  await page.getByText("Forgotten.").waitFor();
  assert.deepEqual((await listed()).questions.map((one) => one.asked), [2]);
  await page.getByRole("region", { name: "Questions without an answer" }).getByRole("button", { name: "Forget all" }).click();
  await page.getByText("All questions so far were answered.").waitFor();
  assert.deepEqual((await listed()).questions, []);
  await leave(page);
});

test("a question that is answered later goes, and the list is bounded", async () => {
  await ask(foreign);
  const added = await call("PUT", "/v1/passages/volvo", owner, { title: "Gearbox oil", text: "A 1998 Volvo needs gearbox oil of the grade 75W-90." });
  assert.ok(added.status < 300, JSON.stringify(added));
  const answer = await ask(foreign);
  const { questions } = await listed();
  if (answer.verdict === "found") assert.deepEqual(questions, []);
  else assert.equal(questions[0].asked, 2);
  for (let i = 0; i < 8; i++) await ask(`how do I reset router number ${i}?`);
  assert.equal((await listed()).questions.length, 5);
});

test("what two have asked is offered to a third with the same rights, and forgotten when asked", async () => {
  await call("DELETE", "/v1/admin/answered", owner);
  const typed = async (key) => (await call("GET", "/v1/suggest?q=what%20did%20th", key)).value.suggestions.filter((one) => one.kind === "question").map((one) => one.text);
  const mine = async (key, question) => (await call("POST", "/v1/search", key, { question })).value.verdict;
  assert.equal(await mine(searcher, known), "found");
  await mine(searcher, `${known}!`);
  assert.notEqual(await mine(searcher, "how do I reset my router password?"), "found");
  assert.deepEqual(await typed(searcher), []); // one asker
  await mine(owner, known);
  await mine(filtered, known);
  assert.deepEqual(await typed(searcher), [known]);
  assert.deepEqual(await typed(filtered), []); // the others see more
  const { askers, questions } = (await call("GET", "/v1/admin/answered", owner)).value;
  assert.equal(askers, 2);
  assert.deepEqual(questions.map((one) => [one.question, one.asked, one.offered, one.restricted]), [
    [known, 3, true, false],
    [known, 1, false, true],
  ]);
  assert.equal((await call("GET", "/v1/admin/answered", searcher)).status, 403);

  const page = await visit(browser, `${server}/?view=collection`, { expected });
  await page.fill("#key", owner);
  await page.locator("#key").press("Tab");
  const card = page.getByRole("region", { name: "Questions with an answer" });
  await card.getByText("suggested, asked three times").waitFor();
  await accessible(page, "answered");
  await card.getByRole("button", { name: "Forget all" }).click();
  await card.getByText("No question has been answered yet.").waitFor();
  assert.deepEqual(await typed(searcher), []);
  await leave(page);
});
