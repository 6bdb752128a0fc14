// The page in the languages that it speaks, and texts that are read from right to left.
import assert from "node:assert/strict";
import test from "node:test";
import { accessible } from "./browser.mjs";
import { on } from "./servers.mjs";

const spoken = {
  "de-AT": ["de", "Was möchten Sie wissen?", "Dokumente", "Zweifelhaft: Die Dokumente enthalten die Antwort vielleicht nicht."],
  "es-MX": ["es", "¿Qué quiere saber?", "Documentos", "Dudoso: puede que los documentos no contengan la respuesta."],
  "fr-CH": ["fr", "Que voulez-vous savoir ?", "Documents", "Douteux : les documents ne contiennent peut-être pas la réponse."],
  "ja-JP": ["ja", "何を知りたいですか？", "文書", "不確か：文書に答えがないかもしれません。"],
  "zh-CN": ["zh", "您想知道什么？", "文档", "存疑：文档中可能没有答案。"],
  "da-DK": ["en", "What do you want to know?", "Documents", "Doubtful: the documents may not contain the answer."],
};

for (const [locale, [language, asks, documents, verdict]] of Object.entries(spoken))
  test(`a browser of ${locale} gets the page in ${language}`, () =>
    on(
      "/",
      async (page) => {
        await page.getByRole("heading", { name: asks }).waitFor();
        assert.equal(await page.locator("html").getAttribute("lang"), language);
        assert.equal(await page.locator('nav a[data-view="collection"]').innerText(), documents);
        await page.getByRole("combobox").fill("Why did the fox fall into the well?");
        await page.keyboard.press("Enter");
        await page.locator(".verdict").waitFor();
        assert.equal(await page.locator(".verdict").innerText(), verdict);
        await accessible(page, `${locale} at a phone's width`);
        if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/language-${language}.png`, fullPage: true });
        await page.locator('nav a[data-view="collection"]').click();
        await page.getByRole("heading", { name: documents, exact: true }).first().waitFor();
        await accessible(page, `the documents in ${locale}`);
      },
      { width: 360, locale },
    ));

test("a text is read from the side on which it begins", () =>
  on(
    "/?q=הים",
    async (page) => {
      const passage = page.locator(".results .text, .answers .passage").filter({ hasText: "הים" }).first();
      await passage.waitFor();
      // The first letter of a line stands at the right edge.
      const [first, box] = await passage.evaluate((element) => {
        const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
        const range = document.createRange();
        let text = walker.nextNode();
        while (!text.data.trim()) text = walker.nextNode();
        range.setStart(text, 0);
        range.setEnd(text, 1);
        const style = getComputedStyle(element);
        return [range.getBoundingClientRect().right, element.getBoundingClientRect().right - parseFloat(style.paddingRight)];
      });
      assert.ok(Math.abs(first - box) < 2, `${first} and ${box}`);
      if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/language-rtl.png`, fullPage: true });
    },
    { width: 768 },
  ));

test("that answers are not marked in a language is said once, in the language of the page", () =>
  on(
    "/",
    async (page) => {
      const note = "reader does not read the language of the question or of the passages: it marks no words";
      await page.route("**/v1/search", async (route) => {
        const { answer, ...request } = route.request().postDataJSON();
        const headers = { ...route.request().headers(), accept: "application/json" };
        const response = await route.fetch({ postData: JSON.stringify(request), headers });
        await route.fulfill({ response, json: { ...(await response.json()), verdict: "found", notes: [note], answers: [] } });
      });
      await page.getByRole("combobox").fill("Warum fiel der Fuchs in den Brunnen?");
      await page.keyboard.press("Enter");
      await page.getByText("In dieser Sprache werden keine Antworten markiert. Diese Passage passt am besten:").waitFor();
      assert.deepEqual(await page.locator(".warning").allTextContents(), []);
      await page.getByRole("switch", { name: "Zahlen" }).check();
      await page.locator(".warning").filter({ hasText: "it marks no words" }).waitFor();
    },
    { width: 768, locale: "de-DE" },
  ));
