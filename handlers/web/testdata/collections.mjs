// Several collections: chosen, asked one by one and together, made and removed; a key for some sees these.
import assert from "node:assert/strict";
import test from "node:test";
import { accessible, leave, looks, visit } from "./browser.mjs";
import { browser, server } from "./servers.mjs";

const { OWNER: owner, READER: reader } = process.env;
const names = (page) => page.locator(".panel li").evaluateAll((rows) => rows.map((row) => row.dataset.name));
const choose = (page) => page.locator(".chooser summary").click();
const asked = (page) => page.waitForRequest((request) => request.method() === "POST" && new URL(request.url()).pathname.endsWith("/search"));

// as opens a page with a key, and waits for what is expected of its requests.
async function as(key, path, use, options = {}) {
  const page = await visit(browser, `${server}/docs`, { expected: /Failed to load resource/, ...options });
  await page.evaluate((key) => sessionStorage.setItem("key", key), key);
  await page.goto(server + path);
  await use(page);
  await leave(page);
}

test("a collection is made, filled and asked, and every request goes to it", () =>
  as(owner, "/", async (page) => {
    await page.locator(".about").waitFor();
    await choose(page);
    assert.deepEqual(await names(page), ["lamps"]);
    await page.getByRole("link", { name: "All collections" }).click();
    await page.fill("#new-name", "kit chen");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await page.locator(".problem").waitFor(); // no name may have spaces
    await page.fill("#new-name", "kitchen");
    assert.equal(await page.inputValue("#new-language"), "en");
    await page.fill("#new-description", "What cooks know");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await page.getByRole("heading", { name: "Add documents" }).waitFor();
    const paths = [];
    page.on("request", (request) => paths.push(new URL(request.url()).pathname));
    assert.equal(new URL(page.url()).searchParams.get("collections"), "kitchen");
    await page.setInputFiles("#file", { name: "rice.jsonl", mimeType: "", buffer: Buffer.from('{"id":"rice","title":"Rice","text":"Rice boils for twelve minutes, far from any lamp.","metadata":{"course":"main"}}\n{"id":"tea","title":"Tea","text":"Tea draws for three minutes.","metadata":{"course":"last"}}\n') });
    await page.getByText("2 passages can be searched now.").waitFor();
    await page.getByRole("link", { name: "Ask", exact: true }).click();
    await page.fill("#question", "how long does rice boil");
    await page.keyboard.press("Enter");
    await page.locator(".answers .source").waitFor();
    assert.match(await page.locator(".answers").textContent(), /twelve minutes/);
    assert.deepEqual(paths.filter((path) => path.startsWith("/v1/") && !path.startsWith("/v1/collections")), []);
  }));

test("several are asked together, and each result says where it is from", () =>
  as(owner, "/?collections=lamps&q=lamp", async (page) => {
    await page.locator(".answers .source").waitFor();
    await choose(page);
    const request = asked(page);
    await page.getByRole("link", { name: "Also ask kitchen" }).click();
    assert.deepEqual((await request).postDataJSON().collections, ["lamps", "kitchen"]);
    await page.locator(".collection-name").first().waitFor();
    const from = new Set(await page.locator(".collection-name").allTextContents());
    assert.deepEqual([...from].toSorted(), ["kitchen", "lamps"]);
    assert.equal(new URL(page.url()).searchParams.get("q"), "lamp");
    await page.reload();
    await page.locator(".collection-name").first().waitFor();
    for (const [width, theme] of looks([390, 1280])) {
      await page.setViewportSize({ width, height: 900 });
      await choose(page);
      await page.emulateMedia({ colorScheme: theme });
      await accessible(page, `the chooser, ${width} px, ${theme}`);
      await page.keyboard.press("Escape");
    }
    await choose(page);
    await page.getByRole("link", { name: "Leave out lamps" }).click();
    await page.locator(".collection-name").first().waitFor({ state: "detached" });
    assert.equal(new URL(page.url()).searchParams.get("collections"), "kitchen");
  }));

test("what is about one of several is about the one that is chosen, and an id of two collections is two passages", () =>
  as(owner, "/?collections=lamps,kitchen&view=collection", async (page) => {
    await page.getByRole("heading", { name: "Documents of lamps" }).waitFor();
    await page.getByRole("heading", { name: "Judged answers" }).waitFor();
    await page.waitForLoadState("networkidle"); // what the first one's view asks for
    const paths = [];
    page.on("request", (request) => paths.push(new URL(request.url()).pathname));
    await page.locator(".one-of").getByRole("link", { name: "kitchen" }).click();
    await page.getByRole("heading", { name: "Documents of kitchen" }).waitFor();
    await page.locator("summary", { hasText: "Passages" }).click();
    await page.locator('.passagelist li[data-id="tea"]').waitFor();
    await page.fill("#find-passage", "rice");
    await page.locator('.passagelist li[data-id="tea"]').waitFor({ state: "detached" });
    await page.getByText("twelve minutes").waitFor();
    assert.deepEqual(paths.filter((path) => path.startsWith("/v1/collections/lamps") || path === "/v1/search"), []);
    await accessible(page, "the documents of one of two");

    await page.goto(`${server}/?collections=lamps,kitchen&q=rice&tune=1`);
    await page.locator(".results > li").first().waitFor();
    await page.locator(".narrowing summary").click();
    await page.locator('.facets [data-field="course"]').waitFor(); // of the second
    const rice = page.locator('.results > li[data-id="rice"]');
    assert.equal(await rice.count(), 2);
    await rice.last().locator("details.why > summary").click();
    await page.waitForFunction(() => new URLSearchParams(location.search).has("open"));
    await page.reload();
    await rice.last().locator("details.why[open]").waitFor();
    assert.equal(await rice.first().locator("details.why[open]").count(), 0);

    await page.goto(`${server}/?collections=lamps,kitchen&q=rice&view=compare`);
    await page.fill("#whynot", "rice");
    await page.getByRole("button", { name: "Look" }).click();
    await page.locator('.whynot section[aria-label="rice"]').last().waitFor();
    assert.deepEqual(await page.locator(".whynot .collection-name").allTextContents(), ["lamps", "kitchen"]);
    const ranks = await page.locator('.whynot section[aria-label="rice"] .fallen section:first-child > p').allTextContents();
    assert.equal(new Set(ranks).size, 2, ranks.join(" | ")); // each has a rank of its own

    await page.goto(`${server}/?collections=lamps,kitchen`);
    await page.getByRole("region", { name: "kitchen" }).getByText("Two passages").waitFor();
    await page.getByRole("region", { name: "lamps" }).getByText("Three passages").waitFor();
  }));

test("a key for some collections sees these alone, and makes none", () =>
  as(reader, "/?q=rice", async (page) => {
    await page.locator(".answers .source").waitFor();
    await choose(page);
    assert.deepEqual(await names(page), ["kitchen"]);
    await page.getByRole("link", { name: "All collections" }).click();
    await page.locator('li[data-name="kitchen"]').last().waitFor();
    assert.equal(await page.getByRole("button", { name: "Create", exact: true }).count(), 0);
    assert.equal(await page.getByRole("button", { name: "Delete kitchen" }).count(), 0);
    await page.goto(`${server}/?collections=lamps&q=lamp`);
    await page.getByText("There is no collection").waitFor();
  }));

test("a collection is removed when that is said twice, and the last leaves a page that makes one", () =>
  as(owner, "/?view=collections", async (page) => {
    for (const name of ["kitchen", "lamps"]) {
      const row = page.locator(`main li[data-name="${name}"]`);
      await row.getByRole("button", { name: `Delete ${name}` }).click();
      await row.getByText("Delete for good?").click();
      await row.waitFor({ state: "detached" });
    }
    await page.goto(`${server}/`);
    await page.getByText("There is no collection yet.").waitFor();
    await page.getByRole("button", { name: "Create", exact: true }).waitFor();
  }));
