// The page of who asks: no question is lost, no number is shown, and each link keeps both.
import assert from "node:assert/strict";
import test from "node:test";
import { api, on } from "./servers.mjs";

const question = "why did the fox hide the moon";
const asked = `q=${encodeURIComponent(question)}`;
const at = (page) => new URL(page.url()).searchParams;
const typed = (page) => page.inputValue("#question");
const answered = (page) => page.locator("section.answers").waitFor();

test("what is typed is kept whatever is ticked, switched, reloaded or visited between", () =>
  on("/", async (page) => {
    await page.locator(".about").waitFor();
    await page.fill("#question", question);
    await page.locator("#tune").check();
    assert.equal(await typed(page), question);
    await page.getByRole("link", { name: "Compare" }).click();
    assert.equal(await typed(page), question);
    await page.getByRole("checkbox", { name: "sum", exact: true }).check();
    await page.getByRole("checkbox", { name: "rrf", exact: true }).uncheck();
    assert.equal(await typed(page), question);
    await page.reload();
    assert.equal(await typed(page), question);
    await page.locator("#question").press("Enter");
    await page.locator(".rankings li").first().waitFor();
    await page.fill("#question", `${question} for a night`);
    await page.getByRole("checkbox", { name: "rrf", exact: true }).check();
    assert.equal(await typed(page), `${question} for a night`);
    await page.getByRole("link", { name: "Documents", exact: true }).click();
    await page.getByRole("heading", { name: "Add documents" }).waitFor();
    await page.getByRole("link", { name: "Ask", exact: true }).click();
    await answered(page);
    assert.equal(await typed(page), `${question} for a night`);
    assert.equal(at(page).get("q"), question);
  }));

test("the numbers are behind one switch, which every link keeps", () =>
  on(`/?${asked}`, async (page) => {
    await answered(page);
    const { results } = await api("/v1/search", { question, k: 10 });
    // What is on the screen, but for what the documents say themselves.
    const shown = async () => {
      let text = await page.locator("body").innerText();
      for (const { title = "", text: own } of results) for (const part of [title, ...own.split("\n")]) text = text.replaceAll(part, "");
      return text.replace(/page \d+/g, "");
    };
    assert.doesNotMatch(await shown(), /\d/);
    for (const item of await page.locator("details.why summary").all()) await item.click();
    assert.doesNotMatch(await shown(), /\d/);
    assert.equal(await page.locator(".asked, .bar, .results .id, table").count(), 0);
    await page.locator("#tune").check();
    await page.locator(".asked").waitFor();
    assert.equal(at(page).get("tune"), "1");
    assert.equal(at(page).get("q"), question);
    for (const href of await page.locator("main a[href^='/?'], nav a[data-view], .brand").evaluateAll((all) => all.map((one) => one.href)))
      assert.equal(new URL(href).searchParams.get("tune"), "1", href);
    await page.locator("#tune").uncheck();
    await page.locator(".asked").waitFor({ state: "detached" });
    for (const href of await page.locator("main a[href^='/?'], nav a[data-view]:not([data-view=compare]), .brand").evaluateAll((all) => all.map((one) => one.href)))
      assert.equal(new URL(href).searchParams.has("tune"), false, href);
  }));

test("a line of text is at most 75 characters long", () =>
  on(`/?${asked}`, async (page) => {
    await answered(page);
    const longest = await page.locator(".text, .passage, .about").evaluateAll((all) => {
      let most = 0;
      for (const element of all) {
        const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
        const lines = new Map();
        for (let node = walker.nextNode(); node; node = walker.nextNode())
          for (let i = 0; i < node.length; i++) {
            const range = document.createRange();
            range.setStart(node, i);
            range.setEnd(node, i + 1);
            const { bottom } = range.getBoundingClientRect();
            const line = Math.round(bottom / 12);
            lines.set(line, (lines.get(line) || 0) + 1);
          }
        most = Math.max(most, ...lines.values());
      }
      return most;
    });
    assert.ok(longest > 40 && longest <= 75, `${longest} characters in a line`);
  }, { width: 1280 }));

test("a question below an answer is asked behind it, and can be asked by itself", () =>
  on(`/?${asked}`, async (page) => {
    await answered(page);
    const sent = page.waitForRequest((request) => new URL(request.url()).pathname === "/v1/search");
    await page.fill("#followup", "and what did she do then?");
    await page.keyboard.press("Enter");
    assert.deepEqual((await sent).postDataJSON().messages, [
      { role: "user", content: question },
      { role: "user", content: "and what did she do then?" },
    ]);
    await page.locator(".earlier a", { hasText: question }).waitFor();
    assert.equal(await typed(page), "and what did she do then?");
    assert.deepEqual(at(page).getAll("before"), [question]);
    await page.reload();
    await page.locator(".earlier").waitFor();
    const alone = page.waitForRequest((request) => new URL(request.url()).pathname === "/v1/search");
    await page.getByRole("link", { name: "Ask it without the earlier questions" }).click();
    assert.equal((await alone).postDataJSON().question, "and what did she do then?");
    await page.locator(".earlier").waitFor({ state: "detached" });
  }));

test("a question is saved, offered on the first screen, and forgotten", () =>
  on(`/?${asked}`, async (page) => {
    await answered(page);
    await page.getByRole("button", { name: "Save the question" }).click();
    await page.locator(".brand").click();
    await page.locator(".saved a", { hasText: question }).click();
    await answered(page);
    assert.equal(at(page).get("q"), question);
    await page.locator(".brand").click();
    await page.getByRole("button", { name: `Forget ${question}` }).click();
    await page.locator(".saved a").waitFor({ state: "detached" });
  }));

test("the first screen says what is in here, in words", () =>
  on("/", async (page) => {
    const about = await page.locator(".about").textContent();
    assert.match(about, /passages|documents/);
    assert.match(about, /In English\./);
    assert.doesNotMatch(await page.locator("main").innerText(), /\d/);
  }));

test("an empty collection invites to drop files, and asks about them then", () =>
  on("/", async (page) => {
    await page.locator(".about").waitFor();
    await page.route("**/v1/collections/*", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), passages: 0 } });
    });
    await page.reload();
    await page.getByText("This collection is empty.").waitFor();
    await page.getByText("Drop files or folders here").waitFor();
    await page.unroute("**/v1/collections/*");
    await page.setInputFiles("#file", { name: "zeppelin.md", mimeType: "", buffer: Buffer.from("# Zeppelin\n\nThe zeppelin museum opens at nine.\n") });
    await page.locator(".about").waitFor();
  }));

test("a source on the web is a link, and its words are marked where they carry something", () =>
  on(`/?q=${encodeURIComponent("when will the zeppelin museum open")}`, async (page) => {
    await fetch(`${process.env.SERVER}/v1/passages/linked?refresh=wait`, {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ text: "At the weekend the zeppelin museum opens when the rain does.", metadata: { url: "https://example.org/zeppelin?x=1" } }),
    });
    await page.reload();
    await answered(page);
    const link = page.locator(".outside").first();
    assert.equal(await link.getAttribute("href"), "https://example.org/zeppelin?x=1");
    assert.match(await link.textContent(), /^example\.org/);
    const marks = (await page.locator("mark.word").allTextContents()).map((one) => one.toLowerCase());
    assert.ok(marks.includes("zeppelin") && marks.includes("museum"), `${marks}`);
    for (const one of ["when", "the"]) assert.ok(!marks.includes(one), `${one} is marked`);
    await page.locator("section.answers summary").first().click();
    assert.match(await page.locator("section.answers .reasons").textContent(), /words of the question: zeppelin, museum/);
  }));

test("what a model wrote is shown as it was written: citations lead to passages, and what these do not say is named", () =>
  on(`/?${asked}`, async (page) => {
    await answered(page);
    const { results } = await api("/v1/search", { question, k: 10 });
    const [first, second] = results;
    const generated = {
      text: "Vessel was lonely [1]. It cost 90 crowns [2]. See [7].",
      generated: true,
      reader: "local",
      complete: true,
      tokens: 12,
      score: 0,
      support: [],
      citations: [{ number: 1, passage: first.id, title: first.title }, { number: 2, passage: second.id, title: second.title }],
      sentences: [
        { text: "Vessel was lonely", citations: [1], support: 1, supported: true },
        { text: "It cost 90 crowns", citations: [2], support: 0.1, supported: false, unfounded: ["90"] },
      ],
    };
    await page.route("**/v1/experts", async (route) => {
      const response = await route.fetch();
      const known = await response.json();
      await route.fulfill({ response, json: { ...known, readers: [{ name: "local", generates: true }] } });
    });
    await page.route("**/v1/search", async (route) => {
      const { answer, ...request } = route.request().postDataJSON();
      const headers = { ...route.request().headers(), accept: "application/json" };
      const response = await route.fetch({ postData: JSON.stringify(request), headers });
      await route.fulfill({ response, json: { ...(await response.json()), ...(answer && { generated }) } });
    });
    await page.reload();
    await page.getByRole("button", { name: "Write the answer" }).click();
    const words = page.locator(".written");
    await words.waitFor();
    assert.equal(await words.textContent(), generated.text);
    assert.deepEqual(await words.locator("button").allTextContents(), ["[1]", "[2]"]); // there is no [7]
    await words.locator("button").nth(1).click();
    assert.equal(await page.evaluate(() => document.activeElement.dataset.id), second.id);
    const said = await page.locator("section.answers").textContent();
    assert.deepEqual(await words.locator("mark.unsupported").allTextContents(), ["It cost 90 crowns"]);
    assert.match(said, /Marked: not supported by the passages it cites/);
    assert.match(said, /Found in no passage: 90\./);
    assert.match(said, /A model \(local\) wrote this/);
  }));

test("methods that cannot answer here say why before they are clicked", () =>
  on("/?view=compare", async (page) => {
    await page.locator(".absent summary").waitFor();
    for (const fusion of ["auto", "gate", "hybrid", "muf", "muf-sparse", "cce", "rrf", "sum"]) {
      const reason = await api("/v1/search", { question: "anything", fusion }).then(
        () => null,
        (error) => JSON.parse(error.message.replace(/^[^{]*/, "")).detail,
      );
      const box = page.getByRole("checkbox", { name: fusion, exact: true });
      assert.equal(await box.isDisabled(), reason !== null, fusion);
      if (reason) assert.ok((await page.locator(".absent").textContent()).includes(reason), reason);
    }
  }));

test("the words of the page are explained one click away", () =>
  on(`/?${asked}`, async (page) => {
    await page.getByRole("button", { name: "Glossary" }).click();
    await page.getByText("A piece of a document, a few sentences long").waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    await page.locator("#glossary").waitFor({ state: "hidden" });
  }));
