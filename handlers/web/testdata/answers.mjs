// Answers above the passages: marked by a reader, or written by a generator.
import assert from "node:assert/strict";
import test from "node:test";
import { accessible, themes, widths } from "./browser.mjs";
import { api, on } from "./servers.mjs";

const question = process.env.QUESTION;
const box = (page) => page.locator("section.answers");
const label = process.env.GENERATES ? "Write an answer" : "Mark the answer";

// answered does what asks a question with an answer, again where the reader was late on a
// busy machine, and returns the response that the page shows.
async function answered(page, act) {
  for (let tries = 10; ; tries--) {
    const asked = page.waitForResponse((response) => new URL(response.url()).pathname === "/v1/search");
    await act();
    const response = await asked;
    assert.equal(response.request().postDataJSON().answer, true);
    const found = await response.json();
    if (found.degraded.length === 0 || tries === 0) {
      assert.deepEqual(found.degraded, []);
      await page.locator(".results li").first().waitFor();
      return found;
    }
    act = () => page.reload();
  }
}

// of are the bytes of a passage between two places.
const of = (result, { start, end }) => Buffer.from(result.text).subarray(start, end).toString();

test("nothing is asked for or shown before the switch, and nothing after it is put back", () =>
  on(`/?q=${encodeURIComponent(question)}`, async (page) => {
    const control = page.getByLabel(label);
    await control.waitFor();
    await page.locator(".results li").first().waitFor();
    assert.equal(await box(page).count() + (await page.locator("mark.answer").count()), 0);
    await answered(page, () => control.check());
    assert.equal(new URL(page.url()).searchParams.get("answer"), "true");
    assert.equal(await box(page).count(), 1);
    await page.getByLabel(label).uncheck();
    await box(page).waitFor({ state: "detached" });
  }));

if (process.env.GENERATES)
  test("what is generated says so, and names its sources", () =>
    on("/", async (page) => {
      const found = await answered(page, () => page.goto(`${page.url()}?answer=true&q=${encodeURIComponent(question)}`));
      const said = await box(page).textContent();
      assert.ok(said.includes("Generated answer") && said.includes("A model wrote this (writer)"), said);
      assert.ok(said.includes(found.generated.text), said);
      for (const { passage, share } of found.generated.support) {
        const { title } = found.results.find((result) => result.id === passage);
        assert.ok(said.includes(`${title || passage} ${Math.round(100 * share)} %`), said);
      }
      assert.equal(await page.locator("mark.answer").count(), 0);
    }));
else {
  test("the collection says which vectors are of parts of passages", () =>
    on("/?view=collection", async (page) => {
      await page.getByRole("heading", { name: "Experts" }).waitFor();
      const { experts } = await api("/v1/experts");
      const cut = experts.find((expert) => expert.parts);
      const row = await page.locator("tbody tr", { hasText: cut.name }).textContent();
      assert.ok(cut.rows > cut.passages && row.includes(`${cut.rows}, of parts`), row);
    }));

  test("an answer stands above the passages with its chance, and is marked where it stands", () =>
    on("/", async (page) => {
      const found = await answered(page, () => page.goto(`${page.url()}?answer=true&q=${encodeURIComponent(question)}`));
      assert.ok(found.answers.length > 0);
      const entries = await box(page).locator("li").allTextContents();
      assert.equal(entries.length, found.answers.length);
      for (const [i, one] of found.answers.entries()) {
        const at = found.results.findIndex((result) => result.id === one.passage);
        const chance = one.chance === null ? "not known" : `${Math.round(100 * one.chance)} %`;
        assert.ok(entries[i].startsWith(one.text) && entries[i].includes(chance), entries[i]);
        assert.equal(found.results[at].text.slice(one.start, one.end), one.text); // the page asks for units of UTF-16
        const item = page.locator(".results > li").nth(at);
        assert.ok((await item.locator("mark.answer").allTextContents()).includes(one.text));
        assert.equal(await item.locator(".text").textContent(), found.results[at].text);
      }
      // Before the first answer stand letters of two, three and four bytes, so that bytes and
      // units of UTF-16 differ.
      const [first] = found.answers;
      assert.notEqual(of(found.results.find((result) => result.id === first.passage), first), first.text, "bytes and units of the text are the same");
      await box(page).getByRole("button", { name: first.text, exact: true }).first().click();
      assert.ok(await page.evaluate(() => document.activeElement.matches(".results > li")));
    }));

  test("where no words are sure enough nothing is shown", () =>
    on("/", async (page) => {
      const found = await answered(page, () => page.goto(`${page.url()}?answer=true&q=xyzzy+plugh`));
      assert.deepEqual(found.answers, []);
      assert.equal(await box(page).count() + (await page.locator("mark.answer").count()), 0);
    }));

  test("the part that a granularity finds most similar is marked", () =>
    on(`/?q=${encodeURIComponent(question)}`, async (page) => {
      await page.locator(".results li").first().waitFor();
      const { results } = await api("/v1/search", { question, k: 10, fields: ["text", "highlights"] });
      assert.ok(results.length > 0 && results.every(({ highlight }) => highlight), JSON.stringify(results));
      for (const result of results) {
        const stretch = page.locator(".results > li").nth(result.rank - 1).locator(".stretch");
        assert.equal(await stretch.textContent(), of(result, result.highlight));
      }
    }));
}

test("answers are accessible in every width and theme", async () => {
  for (const width of widths)
    await on("/", async (page) => {
      await answered(page, () => page.goto(`${page.url()}?answer=true&q=${encodeURIComponent(question)}`));
      await box(page).waitFor();
      for (const theme of themes) {
        await page.emulateMedia({ colorScheme: theme });
        await accessible(page, `answers, ${width} px, ${theme}`);
        if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/answers-${process.env.GENERATES || ""}${width}-${theme}.png` });
      }
    }, { width });
});
