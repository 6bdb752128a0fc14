// The page of a server that wants a key: SEARCHER's may search, OWNER's may do everything.
import assert from "node:assert/strict";
import test from "node:test";
import { leave, visit } from "./browser.mjs";
import { copied, programs } from "./programs.mjs";
import { browser, server } from "./servers.mjs";

const { SEARCHER: searcher, OWNER: owner } = process.env;
const expected = /Failed to load resource/;

async function enter(page, key) {
  await page.fill("#key", key);
  await page.locator("#key").press("Tab");
}

test("a key is asked for, used, kept for the session, and forgotten with it", async () => {
  const page = await visit(browser, `${server}/?q=moon&tune=1`, { expected });
  const refused = page.getByText("Enter an API key at the top of the page.");
  await refused.waitFor();
  await enter(page, searcher);
  await page.locator(".results > li").first().waitFor();
  await page.reload();
  await page.locator(".results > li").first().waitFor();
  await page.locator("nav a", { hasText: "Documents" }).click();
  await page.getByRole("heading", { name: "Experts" }).waitFor();
  assert.equal(await page.getByRole("heading", { name: "Jobs" }).count(), 0, "a key that searches sees no jobs");
  await enter(page, owner);
  await page.getByRole("heading", { name: "Jobs" }).waitFor();
  await enter(page, "wrong");
  await refused.waitFor();
  assert.ok(!page.url().includes(owner), page.url());
  await leave(page);
  const other = await visit(browser, `${server}/?q=moon`, { expected });
  await other.locator("#key").waitFor();
  assert.equal(await other.inputValue("#key"), "");
  await leave(other);
});

test("a key is remembered on the device for who wants that, and forgotten again", async () => {
  const context = await browser.newContext();
  const open = async () => {
    const page = await context.newPage();
    await page.goto(`${server}/?q=moon`);
    return page;
  };
  const page = await open();
  await page.locator("#key").waitFor();
  await page.locator("#keep-key").check();
  await enter(page, searcher);
  await page.locator(".results > li").first().waitFor();
  const other = await open(); // a tab has a session of its own
  await other.locator(".results > li").first().waitFor();
  await other.locator("#keep-key").uncheck();
  const third = await open();
  await third.locator("#key").waitFor();
  assert.equal(await third.inputValue("#key"), "");
  await context.close();
});

test("programs name the variable that has the key, not the key", async () => {
  const page = await visit(browser, `${server}/?tune=1`, { expected });
  await enter(page, owner);
  await page.fill("#question", "the moon");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Copy as code" }).click();
  for (const name of programs) {
    const text = await copied(page, name);
    assert.ok(text.includes("CONCLAVE_KEY") && !text.includes(owner), text);
  }
  await leave(page);
});
