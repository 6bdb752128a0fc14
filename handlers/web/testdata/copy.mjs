// The dialog that shows a search as code.
import assert from "node:assert/strict";
import test from "node:test";
import { copied, programs } from "./programs.mjs";
import { on, server } from "./servers.mjs";

const question = `isn't "it" a fox? \`x\` \\ $HOME`;

test("a search is copied as programs", () =>
  on(`/?tune=1&q=${encodeURIComponent(question)}`, async (page) => {
    await page.getByRole("button", { name: "Copy as code" }).click();
    for (const name of programs) {
      const text = await copied(page, name);
      assert.ok(text.includes(`${server}/v1/search`) && !text.includes("X-API-Key"), text);
    }
    const chosen = () => page.locator("[role=tab][aria-selected=true]").textContent();
    await page.getByRole("tab", { name: "curl" }).focus();
    await page.keyboard.press("Enter");
    await page.keyboard.press("ArrowLeft");
    assert.equal(await chosen(), "Go");
    await page.keyboard.press("ArrowRight");
    assert.equal(await chosen(), "curl");
    await page.keyboard.press("Escape");
    await page.locator("#copy").waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "Copy as code" }).click();
    await page.getByRole("button", { name: "Close" }).click();
    await page.locator("#copy").waitFor({ state: "hidden" });
  }));
