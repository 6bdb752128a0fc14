// Answers above the passages: marked by a reader, or written by a generator.
import assert from "node:assert/strict";
import test from "node:test";
import { accessible, looks, widths } from "./browser.mjs";
import { api, on } from "./servers.mjs";

const question = process.env.QUESTION;
const asks = `q=${encodeURIComponent(question)}`;
const box = (page) => page.locator("section.answers");

// answered does what asks a question with an answer, again where the reader was late on a
// busy machine, and returns the response that the page shows.
async function answered(page, act) {
  for (let tries = 10; ; tries--) {
    const asked = page.waitForResponse((response) => new URL(response.url()).pathname === "/v1/search");
    await act();
    const response = await asked;
    assert.ok(response.request().postDataJSON().answer.reader);
    // The browser keeps no bodies of events.
    const found = process.env.GENERATES ? await api("/v1/search", response.request().postDataJSON()) : await response.json();
    if (found.degraded.length === 0 || tries === 0) {
      assert.deepEqual(found.degraded, []);
      await box(page).waitFor();
      return found;
    }
    act = () => page.reload();
  }
}

// of are the bytes of a passage between two places.
const of = (result, { start, end }) => Buffer.from(result.text).subarray(start, end).toString();

if (process.env.GENERATES)
  test("what is generated is asked for, says so, and names its sources", () =>
    on(`/?tune=1&${asks}`, async (page) => {
      await box(page).waitFor();
      assert.equal(await page.getByText("A model wrote this").count(), 0);
      const found = await answered(page, () => page.getByRole("button", { name: "Write the answer" }).click());
      await page.getByText("A model (writer) wrote this").waitFor();
      const said = await box(page).textContent();
      assert.ok(said.includes(found.generated.text), said);
      for (const { passage, share } of found.generated.support) {
        const { title } = found.results.find((result) => result.id === passage);
        assert.ok(said.includes(`${title || passage} ${Math.round(100 * share)} %`), said);
      }
      assert.equal(await page.locator("mark.answer").count(), 0);
    }));
else {
  test("the collection says which vectors are of parts of passages", () =>
    on("/?view=collection&tune=1", async (page) => {
      await page.getByRole("heading", { name: "Experts" }).waitFor();
      const { experts } = await api("/v1/experts");
      const cut = experts.find((expert) => expert.parts);
      const row = await page.locator("tbody tr", { hasText: cut.name }).textContent();
      assert.ok(cut.rows > cut.passages && row.includes(`${cut.rows}, of parts`), row);
    }));

  test("the words that answer come first, with their source, and are marked where they stand", () =>
    on("/", async (page) => {
      const found = await answered(page, () => page.goto(`${page.url()}?${asks}`));
      assert.ok(found.answers.length > 0);
      const [first, ...others] = found.answers;
      const words = box(page).locator(".words");
      assert.equal(await words.textContent(), first.text);
      const [size, usual] = await Promise.all([words, box(page).locator("blockquote")].map((one) => one.evaluate((e) => parseFloat(getComputedStyle(e).fontSize))));
      assert.ok(size >= 1.25 * usual, `${size} beside ${usual}`);
      const source = found.results.find((result) => result.id === first.passage);
      assert.equal(await box(page).locator(".source").textContent(), source.title);
      assert.ok(source.text.includes((await box(page).locator("blockquote mark").textContent())));
      assert.equal(await box(page).locator(".others li").count(), others.length);
      for (const one of found.answers) {
        const at = found.results.findIndex((result) => result.id === one.passage);
        assert.equal(found.results[at].text.slice(one.start, one.end), one.text); // the page asks for units of UTF-16
        const item = page.locator(".results > li").nth(at);
        assert.ok((await item.locator("mark.answer").allTextContents()).includes(one.text));
        assert.equal(await item.locator(".text").textContent(), found.results[at].text);
      }
      // Before the first answer stand letters of two, three and four bytes, so that bytes and
      // units of UTF-16 differ.
      assert.notEqual(of(source, first), first.text, "bytes and units of the text are the same");
      await box(page).locator(".source button").click();
      assert.ok(await page.evaluate(() => document.activeElement.matches(".results > li")));
      assert.match(await page.locator(".legend").first().textContent(), /words that answer/);
    }));

  test("with numbers the chance of an answer is shown, and without the reader none", () =>
    on("/", async (page) => {
      const found = await answered(page, () => page.goto(`${page.url()}?tune=1&${asks}`));
      const [{ chance }] = found.answers;
      const said = await box(page).textContent();
      assert.ok(said.includes(chance === null ? "probability unknown" : `right in ${Math.round(100 * chance)} %`), said);
      const names = await page.locator(".barred").first().locator("figcaption").textContent();
      const colours = await page.locator(".bar").first().locator("span").evaluateAll((all) => all.map((one) => [one.title.split(":")[0], getComputedStyle(one).backgroundColor]));
      for (const [name] of colours) assert.ok(names.includes(name), names);
      assert.equal(new Set(colours.map(([, colour]) => colour)).size, new Set(colours.map(([name]) => name)).size, `${colours}`);
      await page.getByLabel("Mark the answer").uncheck();
      await page.locator("mark.answer").first().waitFor({ state: "detached" });
      assert.equal(new URL(page.url()).searchParams.get("answer"), "none");
    }));

  if (!process.env.GENERATES)
    test("a row of a table answers with its header, and the cell is marked", () =>
      on("/", async (page) => {
        const found = await answered(page, () => page.goto(`${page.url()}?q=${encodeURIComponent("what is a return ticket of the ferry for adults?")}`));
        const [first] = found.answers;
        assert.deepEqual([first.text, first.headline], ["8.00", true]);
        assert.equal(await box(page).locator(".words").textContent(), "8.00");
        assert.deepEqual(await box(page).locator(".rows th").allTextContents(), ["Ticket", "Adults", "Children"]);
        assert.deepEqual(await box(page).locator(".rows td").allTextContents(), ["Return", "8.00", "4.00"]);
        assert.deepEqual(await box(page).locator(".rows mark").allTextContents(), ["8.00"]);
        await answered(page, () => page.goto(`${page.url().split("?")[0]}?q=${encodeURIComponent("what does a return ticket of the ferry cost?")}`));
        assert.equal(await box(page).locator(".words").count(), 0);
        assert.deepEqual(await box(page).locator(".rows td").allTextContents(), ["Return", "8.00", "4.00"]);
      }));

  test("where no words are sure enough none are shown as the answer", () =>
    on("/", async (page) => {
      const found = await answered(page, () => page.goto(`${page.url()}?q=xyzzy+plugh`));
      assert.deepEqual(found.answers, []);
      assert.equal(await page.locator("mark.answer").count(), 0);
    }));

  test("the first screen offers topics that the collection answers, as their headings are", () =>
    on("/", async (page) => {
      const examples = page.locator(".example");
      await examples.first().waitFor();
      for (const q of await examples.allTextContents()) {
        const { results, verdict } = await api("/v1/search", { question: q, k: 1, answer: { passages: 2 } });
        assert.equal(verdict ?? "found", "found", q);
        assert.ok(q.toLowerCase().includes((results[0].title || "").toLowerCase().replace(/^the /, "")), `${q} ${results[0].title}`);
      }
      // What was offered of passages that are not there any more, or not for this key, is not offered again.
      await page.evaluate(() => {
        for (const place of Object.keys(localStorage).filter((name) => name.startsWith("offers:"))) {
          const { state } = JSON.parse(localStorage[place]);
          localStorage[place] = JSON.stringify({ state: `${state.split(" ")[0]} 1`, questions: ["What was here before?"] });
        }
      });
      await page.reload();
      await examples.first().waitFor();
      assert.ok(!(await examples.allTextContents()).includes("What was here before?"));
      const q = await examples.first().textContent();
      await answered(page, () => examples.first().click());
      assert.equal(new URL(page.url()).searchParams.get("q"), q);
    }));

  test("the part that a granularity finds most similar is marked", () =>
    on(`/?q=${encodeURIComponent(question)}`, async (page) => {
      await page.locator(".results > li").first().waitFor();
      const { results } = await api("/v1/search", { question, k: 10, fields: ["text", "highlights"] });
      assert.ok(results.length > 0 && results.every(({ highlight }) => highlight), JSON.stringify(results));
      for (const result of results) {
        const stretch = page.locator(".results > li").nth(result.rank - 1).locator(".stretch");
        const said = (await stretch.allTextContents()).join(" "); // in a table one for each cell
        assert.equal(said, of(result, result.highlight).replaceAll(/ \| |\n/g, " "));
      }
    }));
}

test("answers are accessible in every width and in both themes", async () => {
  for (const [width, theme] of looks(widths))
    await on("/", async (page) => {
      await answered(page, () => page.goto(`${page.url()}?${process.env.GENERATES ? "answer=writer&" : ""}${asks}`));
      await box(page).waitFor();
      await accessible(page, `answers, ${width} px, ${theme}`);
      if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/answers-${process.env.GENERATES || ""}${width}-${theme}.png` });
    }, { width, theme });
});
