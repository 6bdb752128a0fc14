// Suggestions below the box for a question.
import assert from "node:assert/strict";
import test from "node:test";
import { accessible } from "./browser.mjs";
import { on } from "./servers.mjs";

// typing types letter by letter and returns the requests for suggestions that this made.
async function typing(page, text) {
  const asked = [];
  const listen = (request) => new URL(request.url()).pathname === "/v1/suggest" && asked.push(new URL(request.url()).searchParams.get("q"));
  page.on("request", listen);
  await page.getByRole("combobox").pressSequentially(text, { delay: 20 });
  await page.waitForTimeout(400);
  page.off("request", listen);
  return asked;
}

// offered waits until exactly these texts are offered.
const offered = (page, ...wanted) =>
  page.waitForFunction(
    (wanted) => JSON.stringify([...document.querySelectorAll('[role="option"]')].map((one) => one.textContent)) === wanted,
    JSON.stringify(wanted),
  );

test("titles are offered, taken with the keyboard, and asked for", () =>
  on(
    "/",
    async (page) => {
      const box = page.getByRole("combobox", { name: "Question" });
      const asked = await typing(page, "the clockm");
      await offered(page, "The Clockmaker's Hen");
      assert.ok(asked.length < "the clockm".length, `${asked}`); // a busy machine may take a while between two keys
      assert.equal(await box.getAttribute("aria-expanded"), "true");
      await accessible(page, "with suggestions");
      if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/suggestions.png` });
      assert.deepEqual(await typing(page, "aker"), [], "what goes on needs no request");
      await box.press("ArrowDown");
      assert.equal(await page.getByRole("option", { selected: true }).textContent(), "The Clockmaker's Hen");
      assert.equal(await box.getAttribute("aria-activedescendant"), "suggestion-0");
      await box.press("Enter");
      await page.getByRole("heading", { name: "The Clockmaker's Hen" }).first().waitFor();
      assert.equal(new URL(page.url()).searchParams.get("q"), "The Clockmaker's Hen");
    },
    { width: 360 },
  ));

test("Escape and leaving put the list away, a click takes from it, and typos are forgiven", () =>
  on("/", async (page) => {
    const box = page.getByRole("combobox");
    await typing(page, "clokmak");
    await offered(page, "The Clockmaker's Hen");
    await box.press("Escape");
    assert.equal(await page.getByRole("option").count(), 0);
    await box.fill("");
    assert.deepEqual(await typing(page, "t"), [], "one letter asks nothing");
    await typing(page, "he baker");
    await page.getByRole("option", { name: "The Baker Who Sold Her Shadow" }).click();
    await page.locator(".results, .answers").first().waitFor();
    assert.ok(new URL(page.url()).searchParams.get("q").length > 5);
  }));
