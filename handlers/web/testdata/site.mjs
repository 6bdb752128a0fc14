// A site is added by its address, as the page offers where hosts are allowed, and a result leads to the passage on its page.
import assert from "node:assert/strict";
import test from "node:test";
import { accessible, themes } from "./browser.mjs";
import { on } from "./servers.mjs";

const { SITE: site } = process.env;

test("a site is added by its address, and results lead to its pages", () =>
  on(
    "/?view=collection",
    async (page) => {
      await page.getByText("Add a web page or a website").click();
      await page.getByLabel("Address, on").fill(`${site}/docs/`);
      await page.getByLabel("All pages below this address").check();
      for (const theme of themes) {
        await page.emulateMedia({ colorScheme: theme });
        await accessible(page, `the form of a site, ${theme}`);
      }
      await page.locator("details:has(#site-address) button").click();
      await page.getByText("2 created").waitFor();
      await page.locator("li", { hasText: "outside: 1" }).waitFor();
      await page.locator(`.documents li[data-id="${site}/docs/bees.html"]`).waitFor();
      await page.goto(new URL("/?q=how+do+bees+tell+the+way", page.url()).href);
      const link = page.locator(".place a.outside").first();
      await link.waitFor();
      assert.equal(await link.getAttribute("href"), `${site}/docs/bees.html#:~:text=Bees%20dance%20to%20tell%20the%20way.`);
    },
    {},
  ));
