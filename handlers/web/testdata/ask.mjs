// Asking: the box, the examples, tags, pages of results, reasons, and the address.
import assert from "node:assert/strict";
import test from "node:test";
import { api, on } from "./servers.mjs";

const question = "why did the fox hide the moon";
const asked = (more) => api("/v1/search", { question, k: 10, explain: true, ...more });
const fields = ["title", "text", "highlights"];
const at = (page) => new URL(page.url()).searchParams;
const ids = (page) => page.locator(".results .id").allTextContents();
const answered = (page) => page.locator(".results > li").first().waitFor();

test("a question that is typed is answered as the API answers it", () =>
  on("/?tune=1", async (page) => {
    await page.locator(".about").waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.id), "question");
    await page.keyboard.type(question);
    await page.keyboard.press("Enter");
    await answered(page);
    const answer = await asked();
    assert.equal(at(page).get("q"), question);
    assert.equal(await page.title(), `${question} · conclave`);
    assert.deepEqual(await ids(page), answer.results.map((result) => result.id));
    const words = { found: /^Found/, doubtful: /^Doubtful/, not_found: /^Not found/ };
    if (!answer.verdict) assert.equal(await page.locator(".verdict").count(), 0);
    else assert.match(await page.locator(".verdict").textContent(), words[answer.verdict]);
    const text = page.locator(".results .text").first();
    assert.equal(await text.textContent(), answer.results[0].text);
    assert.deepEqual(
      await page.locator(".asked strong").allTextContents(),
      answer.sources.map((source) => source.name),
    );
  }));

test("a result says what it is made of, and the address remembers which", () =>
  on(`/?tune=1&q=${encodeURIComponent(question)}`, async (page) => {
    const [first] = (await asked()).results;
    await page.locator(".results summary").first().click();
    await page.waitForFunction(() => new URLSearchParams(location.search).has("open"));
    assert.equal(at(page).get("open"), first.id);
    const row = (name) =>
      page.locator(".results > li").first().locator("tr", { hasText: name }).locator("td").allTextContents();
    for (const part of first.contributions) {
      const cells = await row(part.source);
      assert.equal(Number(cells[3]).toFixed(3), part.contribution.toFixed(3), part.source);
    }
    // The segments of the bar are to each other as the contributions are.
    const boxes = await page.locator(".results .bar").first().locator("span").all();
    const parts = first.contributions.filter((part) => part.contribution > 0);
    assert.equal(boxes.length, parts.length);
    const full = (await page.locator(".results .bar").first().boundingBox()).width;
    for (const [i, box] of boxes.entries()) {
      const share = (await box.boundingBox()).width / full;
      assert.ok(Math.abs(share - parts[i].contribution / first.score) < 0.01, `${parts[i].source} has ${share} of the bar`);
    }
    await page.reload();
    await answered(page);
    assert.equal(await page.locator(".results details").first().getAttribute("open"), "");
    await page.locator(".results summary").first().click();
    await page.waitForFunction(() => !new URLSearchParams(location.search).has("open"));
  }));

test("tags narrow the search down, one after the other, and widen it again", () =>
  on(`/?tune=1&q=${encodeURIComponent(question)}`, async (page) => {
    await answered(page);
    await page.locator(".results .tag", { hasText: "tales" }).first().click();
    await page.locator(".tag.on").waitFor();
    await answered(page);
    const answer = await asked({ filter: { tags_all: ["tales"] } });
    assert.deepEqual(await ids(page), answer.results.map((result) => result.id));
    assert.equal(at(page).get("tags"), "tales");
    await page.goBack();
    await page.locator(".tag.on").waitFor({ state: "detached" });
    await page.goForward();
    await page.getByRole("button", { name: "Remove the tag tales" }).click();
    await answered(page);
    assert.equal(at(page).has("tags"), false);
  }));

test("more passages come by scrolling and by the button, each once", () =>
  on(`/?tune=1&q=${encodeURIComponent(question)}`, async (page) => {
    await answered(page);
    await page.mouse.move(400, 600);
    await page.mouse.wheel(0, 20000);
    await page.locator(".results > li").nth(19).waitFor();
    while ((await page.locator(".results > li").count()) < 30) {
      await page.locator(".more").click();
      await page.waitForFunction((n) => document.querySelectorAll(".results > li").length > n, 20);
    }
    const all = (await asked({ k: 30 })).results.map((result) => result.id);
    assert.deepEqual((await ids(page)).slice(0, 30), all);
  }));

test("/ goes back to the box", () =>
  on("/?q=moon", async (page) => {
    await answered(page);
    await page.locator("body").click({ position: { x: 5, y: 300 } });
    await page.keyboard.press("/");
    assert.equal(await page.evaluate(() => document.activeElement.id), "question");
    assert.equal(await page.inputValue("#question"), "moon");
  }));

test("nothing found is said, and that it is the condition which leaves nothing", () =>
  on("/?tune=1&q=moon&tags=no-such-tag", async (page) => {
    await page.getByText("No passage meets the condition.").waitFor();
    assert.equal(await page.locator(".results li").count(), 0);
  }));

test("the page can be walked through with the keyboard alone", () =>
  on("/", async (page) => {
    const skip = page.locator(".skip");
    await skip.focus();
    assert.ok((await skip.boundingBox()).x >= 0, "who is on the link to the content sees it");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "content");
    await page.locator("nav a", { hasText: "Documents" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Add documents" }).waitFor();
    assert.equal(await page.locator("nav [aria-current]").textContent(), "Documents");
  }));

test("the words that late interaction matched are marked, and the sentence that has most of them", () =>
  on(`/?tune=1&q=${encodeURIComponent(question)}`, async (page) => {
    await answered(page);
    const { results } = await asked({ fields });
    for (const [i, result] of results.entries()) {
      const highlights = result.highlights ?? []; // absent where no word was matched
      const all = highlights.reduce((sum, one) => sum + one.score, 0);
      const want = highlights
        .filter((one) => one.score / all >= 0.06)
        .map((one) => Buffer.from(result[one.field]).subarray(one.start, one.end).toString());
      const item = page.locator(".results > li").nth(i);
      assert.deepEqual(await item.locator("mark.some, mark.strong").allTextContents(), want);
      const stretch = item.locator(".stretch");
      if ((await stretch.count()) > 0) {
        const sentence = await stretch.textContent();
        assert.ok(result.text.includes(sentence) && sentence.length < result.text.length);
      }
    }
    assert.ok((await page.locator(".stretch").count()) > 5);
  }));

// Names that every object has are no views.
for (const view of ["__proto__", "constructor", "toString", "hasOwnProperty"])
  test(`the view ${view} is the one that asks`, () =>
    on(`/?view=${view}&q=fox&__proto__=x&constructor=y`, async (page) => {
      await answered(page);
      assert.equal(await page.locator('nav a[aria-current="page"]').textContent(), "Ask");
    }));
