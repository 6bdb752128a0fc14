// What the page says when something does not go well: errors, a server that is slow
// or gone. A browser logs every failed request itself; that alone is expected.
import assert from "node:assert/strict";
import test from "node:test";
import { on, server } from "./servers.mjs";

const expected = /Failed to load resource/;
const problem = (page) => page.locator(".problem").first().textContent();

for (const [view, path] of Object.entries({
  ask: "/?q=moon",
  compare: "/?view=compare&q=moon",
  collection: "/?view=collection&tune=1",
}))
  test(`errors of the server are shown: ${view}`, () =>
    on(
      "/docs",
      async (page) => {
        for (const [status, title, detail] of [
          [503, "Overloaded", "the server has more questions waiting than it can take"],
          [500, "Internal error", "the server's log says more"],
          [502, "The server answered with status 502", "<html>a proxy's page</html>"],
        ]) {
          await page.route("**/v1/**", (route) =>
            route.fulfill(
              status === 502
                ? { status, contentType: "text/html", body: detail }
                : { status, contentType: "application/problem+json", body: JSON.stringify({ status, title, detail }) },
            ),
          );
          await page.goto(server + path);
          await page.locator(".problem").waitFor();
          const text = await problem(page);
          assert.ok(text.includes(title) && text.includes(detail), text);
          await page.unroute("**/v1/**");
        }
        await page.route("**/v1/**", (route) => route.abort("connectionrefused"));
        await page.goto(server + path);
        await page.getByText("The server cannot be reached").waitFor();
        await page.unroute("**/v1/**");
        await page.goto(server + path);
        await page.locator(".results > li, .rankings li, .facts").first().waitFor();
      },
      { expected },
    ));

test("a question that the server refuses is shown with its reason", () =>
  on(`/?q=${"moon+".repeat(4000)}`, async (page) => {
    await page.locator(".problem").waitFor();
    assert.match(await problem(page), /question/);
  }, { expected }));

test("every refusal shows what the server says: a reason with its place, a line of a file", () =>
  on("/?view=collection", async (page) => {
    await page.getByRole("heading", { name: "Add documents" }).waitFor();
    await page.setInputFiles("#file", { name: "bad.jsonl", mimeType: "", buffer: Buffer.from('{"id":"ok/1","text":"fine"}\n{"id":"ok/2"}\nnot json\n') });
    await page.getByText(/^line 2: /).waitFor();
    await page.getByText(/^line 3: /).waitFor();
    await page.setInputFiles("#file", { name: "broken.json", mimeType: "", buffer: Buffer.from('[{"id":') });
    await page.locator(".outcome .problem, .outcome li").first().waitFor();
    const said = await page.locator(".outcome").textContent();
    assert.ok(said.length > 20 && !said.includes("The request failed") && !said.includes("[object"), said);
  }, { expected }));

test("who waits is told, and a newer question is not overtaken by an older one", () =>
  on("/", async (page) => {
    let late;
    await page.route("**/v1/search", async (route) => {
      if (!route.request().postData().includes("first")) return route.continue();
      const answer = await route.fetch();
      late = new Promise((resolve) => setTimeout(resolve, 700)).then(() => route.fulfill({ response: answer }).catch(() => {}));
    });
    await page.fill("#question", "first");
    await page.keyboard.press("Enter");
    await page.getByText("Searching…").waitFor();
    assert.equal(await page.locator(".answer").getAttribute("aria-busy"), "true");
    await page.fill("#question", "the fox and the moon");
    await page.keyboard.press("Enter");
    await page.locator(".results > li").first().waitFor();
    await late;
    assert.equal(await page.inputValue("#question"), "the fox and the moon");
    assert.equal(await page.locator(".results > li").count(), 9); // the first stands above
    assert.equal(await page.locator(".answer").getAttribute("aria-busy"), "false");
  }));
