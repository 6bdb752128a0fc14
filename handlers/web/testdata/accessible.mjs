// Every view in every width, the themes in turns, as axe sees it.
import assert from "node:assert/strict";
import test from "node:test";
import { accessible, fits, leave, looks, themes, visit, widths } from "./browser.mjs";
import { browser, server } from "./servers.mjs";

const views = {
  "an empty box": ["/", (page) => page.locator(".about").first().waitFor()],
  "an answer": [
    "/?tune=1&q=why+did+the+fox+hide+the+moon&tags=tales",
    async (page) => {
      await page.locator(".results summary").first().click();
      await page.locator(".results table").first().waitFor();
    },
  ],
  "an answer without numbers": ["/?q=why+did+the+fox+hide+the+moon", (page) => page.locator(".results > li").first().waitFor()],
  "the glossary": ["/?q=moon", (page) => page.getByRole("button", { name: "Glossary" }).click()],
  "the documents": ["/?view=collection", (page) => page.getByRole("heading", { name: "Add documents" }).waitFor()],
  code: ["/?tune=1&q=moon", (page) => page.getByRole("button", { name: "Copy as code" }).click()],
  "a comparison": [
    "/?view=compare&q=the+moon&methods=auto,rrf,sum,hybrid",
    async (page) => {
      const id = await page.locator(".rankings li").first().getAttribute("data-id");
      await page.fill("#whynot", id);
      await page.locator(".whynot button").click();
      await page.locator(".whynot table").first().waitFor();
    },
  ],
  "the collection": ["/?tune=1&view=collection", (page) => page.getByRole("heading", { name: "Experts" }).waitFor()],
  "an error": [`/?q=${"moon+".repeat(4000)}`, (page) => page.locator(".problem").waitFor()],
  "the reference": ["/docs", (page) => page.waitForLoadState("networkidle")],
};

test("accessible: the guide", async () => {
  const page = await visit(browser, `${server}/guide/`);
  const paths = await page.locator("#pages a[href^='/guide/']").evaluateAll((links) => links.map((link) => link.pathname));
  assert.ok(paths.length > 15, `${paths}`);
  for (const [i, path] of ["/guide/", ...paths].entries()) {
    await page.goto(server + path);
    const pictures = await page.locator("main img").evaluateAll((all) => all.filter((picture) => !picture.naturalWidth).length);
    assert.equal(pictures, 0, `${path} has pictures that are not shown`);
    // The pages are many and of one make: each fits into the least width, and axe sees it in one width and one theme.
    await page.setViewportSize({ width: widths[0], height: 900 });
    await fits(page, `${path}, ${widths[0]} px`);
    const [width, theme] = [[widths[0], widths.at(-1)][i % 2], themes[(i >> 1) % 2]];
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme: theme });
    await accessible(page, `${path}, ${width} px, ${theme}`);
  }
  await page.setViewportSize({ width: 360, height: 900 });
  await page.goto(`${server}/guide/`);
  await page.getByRole("link", { name: "All pages" }).click();
  await page.locator("#pages").getByRole("link", { name: "Fusion" }).click();
  await page.getByRole("heading", { name: "Fusion", exact: true }).waitFor();
  assert.equal(await page.locator("[aria-current=page]").textContent(), "Fusion");
  await leave(page);
});

for (const [name, [path, ready]] of Object.entries(views))
  test(`accessible: ${name}`, async () => {
    for (const [width, theme] of looks(widths)) {
      const page = await visit(browser, server + path, { width, theme, expected: /Failed to load resource/ });
      await ready(page);
      // The reference is long: axe sees all of it once, and then the first operations, of which all are made alike.
      if (width !== widths[0]) {
        await fits(page, `${name}, ${width} px`);
        await page.evaluate(() => [...document.querySelectorAll("[id^=op-]")].slice(12).forEach((op) => op.remove()));
      }
      await accessible(page, `${name}, ${width} px, ${theme}`);
      await leave(page);
    }
  });
