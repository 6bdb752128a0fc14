// Results that an administrator chooses for a question. SEARCHER's key may search, OWNER's may do everything.
import assert from "node:assert/strict";
import test from "node:test";
import { accessible, leave, looks, visit, widths } from "./browser.mjs";
import { browser, server } from "./servers.mjs";

const { SEARCHER: searcher, OWNER: owner } = process.env;
const expected = /Failed to load resource/;
const question = "what did the fox ask the moon?";

const ask = async (key) =>
  (
    await fetch(`${server}/v1/search`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: JSON.stringify({ question, k: 10 }),
    })
  ).json();

test("an administrator chooses results for a question, sees them marked, and removes the choice", async () => {
  const before = await ask(searcher);
  const [first, , , last] = before.results.map((result) => result.id);
  const page = await visit(browser, `${server}/?view=collection`, { expected });
  await page.fill("#key", searcher);
  await page.locator("#key").press("Tab");
  await page.getByRole("heading", { name: "Documents", exact: true }).first().waitFor();
  assert.equal(await page.getByText("Chosen results").isVisible(), false);
  await page.fill("#key", owner);
  await page.locator("#key").press("Tab");
  const card = page.getByRole("region", { name: "Chosen results" });
  await card.getByText("Choose results for a question").click();
  await card.getByLabel("Questions, one per line").fill(question.toUpperCase());
  await card.getByRole("button", { name: "Choose" }).click();
  await card.getByText("needs ids").waitFor();
  await card.getByLabel("First: ids").fill(last);
  await card.getByLabel("Hidden: ids").fill(first);
  await card.getByRole("button", { name: "Choose" }).click();
  await card.getByText("The next search uses it.").waitFor();
  const chosen = await ask(searcher);
  assert.equal(chosen.results[0].id, last);
  assert.equal(chosen.results[0].pinned, true);
  assert.ok(!chosen.results.some((result) => result.id === first));

  for (const [width, theme] of looks(widths)) {
    const other = await visit(browser, `${server}/?view=collection`, { width, expected });
    await other.fill("#key", owner);
    await other.locator("#key").press("Tab");
    await other.getByRole("region", { name: "Chosen results" }).getByText(`first: ${last}`).waitFor();
    await other.emulateMedia({ colorScheme: theme });
    await accessible(other, `chosen, ${width} px, ${theme}`);
    if (process.env.SHOTS) await other.screenshot({ path: `${process.env.SHOTS}/chosen-${width}-${theme}.png`, fullPage: true });
    await leave(other);
  }

  await card.getByRole("link", { name: question.toUpperCase() }).click();
  await page.getByText("chosen for this question").waitFor();
  await page.goBack();
  await page.getByRole("button", { name: `Remove the choice for ${question.toUpperCase()}` }).click();
  await page.getByText("No results are chosen: every question gets what the search finds.").waitFor();
  assert.deepEqual((await ask(searcher)).results.map((result) => result.id), before.results.map((result) => result.id));
  await leave(page);
});
