// An answer that a model writes, behind a scripted endpoint: shown while it is written, with what the
// passages do not say marked; stopped, cut off, and left for another question.
import assert from "node:assert/strict";
import test from "node:test";
import { accessible, themes } from "./browser.mjs";
import { on } from "./servers.mjs";

const asked = (question) => `/?q=${encodeURIComponent(question)}`;
const words = (page) => page.locator(".written");
const write = (page) => page.getByRole("button", { name: "Write the answer" }).click();
const model = async (path) => (await fetch(process.env.MODEL + path)).text();

// The first answer comes as a whole, since it is not known yet whether the model writes reasoning first.
test("a first answer is shown when it is whole", () =>
  on(asked("what keeps, first?"), async (page) => {
    await write(page);
    await page.getByText("A model (local) wrote this").waitFor();
  }));

test("an answer is shown while it is written, and compared with its passages when it is whole", () =>
  on(asked("who hid the lamp of the lighthouse?"), async (page) => {
    await write(page);
    await page.getByText("local is writing…").waitFor();
    assert.equal(await words(page).textContent(), "The keeper of the lighthouse hid the lamp [1]. He lives");
    assert.ok((await page.locator(".results > li").count()) > 0, "the passages are there while it writes");
    const first = await page.locator(".results > li").first().elementHandle();
    await model("/go-on");
    await page.getByText("A model (local) wrote this").waitFor();
    assert.equal(await words(page).textContent(), "The keeper of the lighthouse hid the lamp [1]. He lives in Oslo [1].");
    assert.deepEqual(await words(page).locator("mark.unsupported").allTextContents(), ["He lives in Oslo"]);
    assert.match(await page.locator("section.answers").textContent(), /Found in no passage: Oslo\./);
    assert.ok(await first.evaluate((item) => item.isConnected), "the passages stay as they are");
    await words(page).getByRole("button", { name: "[1]" }).first().click();
    assert.equal(await page.evaluate(() => document.activeElement.dataset.id), "lamps/1");
    for (const theme of themes) {
      await page.emulateMedia({ colorScheme: theme });
      await accessible(page, `a written answer, ${theme}`);
    }
  }));

test("lists, tables and code of an answer are shown as such, and nothing becomes a link or an image", () =>
  on(asked("what are the parts of the lamp?"), async (page) => {
    await write(page);
    await page.getByText("A model (local) wrote this").waitFor();
    const answer = words(page);
    assert.deepEqual(await answer.locator("li").allTextContents(), [
      "the lamp of the keeper [1]",
      "<img src=x onerror=alert(1)> ![p](http://evil.example/) [x](javascript:alert(1))",
    ]);
    assert.deepEqual(await answer.locator("th").allTextContents(), ["Part", "Weight"]);
    assert.deepEqual(await answer.locator("td").allTextContents(), ["keeper's lamp", "80 g [1]"]);
    assert.equal(await answer.locator("pre").textContent(), "ls *.md");
    assert.equal(await answer.locator("strong").first().textContent(), "Parts");
    assert.equal(await answer.locator("img, a").count(), 0);
    assert.equal(await answer.getByRole("button", { name: "[1]" }).count(), 2);
    await accessible(page, "a written answer with a table");
  }));

test("who stops it keeps what was written", () =>
  on(asked("who hid the lamp, told endlessly?"), async (page) => {
    await write(page);
    await page.getByText("again and again").waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("A model (local) wrote this").waitFor();
    assert.match(await words(page).textContent(), /again and again.* \[…\]$/);
    assert.equal(await model("/gone"), "who hid the lamp, told endlessly?");
    await page.getByRole("button", { name: "Stop" }).waitFor({ state: "detached" });
  }));

test("another question ends the writing of the one before", () =>
  on(asked("where is the lamp, told endlessly?"), async (page) => {
    await write(page);
    await page.getByText("again and again").waitFor();
    await page.fill("#question", "how long does rice keep");
    await page.keyboard.press("Enter");
    assert.equal(await model("/gone"), "where is the lamp, told endlessly?");
    await page.locator('.results > li[data-id="rice"], .answers .source').first().waitFor();
    assert.equal(await words(page).count(), 0);
  }));

test("a model that fails says so, and the passages are there", () =>
  on(asked("who broke the lamp?"), async (page) => {
    await write(page);
    await page.getByText(/Answered without local: .*too much to do/).waitFor();
    assert.ok((await page.locator(".results > li").count()) > 0);
    assert.equal(await words(page).count(), 0);
  }));

test("a model that breaks off keeps what it wrote, and says why it ends", () =>
  on(asked("who lost half of the lamp?"), async (page) => {
    await write(page);
    await page.getByText("A model (local) wrote this").waitFor();
    assert.match(await words(page).textContent(), /^The keeper hid it \[1\]\./);
    await page.getByText(/local.*ends early/).waitFor();
  }));

test("a server that goes away while it writes is said", () =>
  on(asked("who hid the lamp of the lighthouse?"), async (page) => {
    await page.route("**/v1/search", async (route) => {
      const request = route.request().postDataJSON();
      if (request.answer?.reader !== "local") return route.continue();
      const { answer, ...plain } = request;
      const response = await route.fetch({ postData: JSON.stringify(plain), headers: { "content-type": "application/json" } });
      const body = `event: passages\ndata: ${await response.text()}\n\nevent: token\ndata: {"text":"The keeper"}\n\n`.replace("\n\n\n", "\n\n");
      await route.fulfill({ contentType: "text/event-stream", body });
    });
    await write(page);
    await page.getByText("The answer ended early").waitFor();
    assert.match(await words(page).textContent(), /^The keeper/);
  }));
