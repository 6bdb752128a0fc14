// The keyboard alone: every stop of Tab has a name and a ring that is seen, in the order of
// the page and without one left out; every control does its work by keys.
import assert from "node:assert/strict";
import test from "node:test";
import { on } from "./servers.mjs";

const question = "how do I stop a nosebleed";
const asked = `q=${encodeURIComponent(question)}`;
const first = (selector) => (page) => page.locator(selector).first().waitFor();

const views = {
  "an empty box": ["/", first(".about")],
  "an answer": [
    `/?${asked}&tags=health&tune=1`,
    async (page) => {
      await page.locator(".results summary").first().click();
      await page.locator(".results table").first().waitFor();
    },
    30,
  ],
  "a comparison": [`/?view=compare&${asked}&methods=auto,rrf`, first(".rankings li")],
  "the collection": ["/?view=collection&tune=1", first(".curve")],
  "the reference": ["/docs", first("#op-searchPassages .try")],
};

for (const [name, [address, ready, enough]] of Object.entries(views))
  test(`every stop of the keyboard: ${name}`, () =>
    on(address, async (page) => {
      await ready(page);
      const browser = await page.context().newCDPSession(page);
      const want = await page.evaluate(() => {
        document.body.tabIndex = -1; // Tab goes on from the page's beginning
        document.body.focus();
        document.body.removeAttribute("tabindex");
        const stops = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")];
        const open = stops.filter((e) => e.tabIndex >= 0 && !e.disabled && e.checkVisibility({ visibilityProperty: true }));
        open.forEach((element, i) => (element.stop = i));
        return open.length;
      });
      assert.ok(want > 8, `only ${want} stops`);
      // The reference repeats itself, and results grow in number as one comes near their end:
      // the first stops stand for the others.
      for (let i = 0; i < Math.min(want, enough ?? 150); i++) {
        await page.keyboard.press("Tab");
        const { result } = await browser.send("Runtime.evaluate", { expression: "document.activeElement" });
        const seen = await page.evaluate(() => {
          const element = document.activeElement;
          const style = getComputedStyle(element);
          const { top, bottom, left, right } = element.getBoundingClientRect();
          return {
            stop: element.stop,
            html: element.outerHTML.slice(0, 160),
            ring: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 && style.outlineColor !== "rgba(0, 0, 0, 0)",
            shown: bottom > 0 && top < innerHeight && right > 0 && left < innerWidth && bottom > top,
          };
        });
        const { nodes } = await browser.send("Accessibility.getPartialAXTree", {
          objectId: result.objectId,
          fetchRelatives: false,
        });
        assert.equal(seen.stop, i, `stop ${i} is ${seen.html}`);
        assert.ok(seen.ring && seen.shown, `nobody sees where the focus is: ${JSON.stringify(seen)}`);
        assert.ok(nodes[0].name?.value.trim(), `no name: ${seen.html}`);
      }
    }));

// reach presses Tab until a control has the focus.
async function reach(page, control) {
  await control.waitFor();
  for (let i = 0; i < 150; i++) {
    if (await control.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`Tab does not reach ${control}`);
}
const focused = (page) => page.evaluate(() => document.activeElement.textContent || document.activeElement.id);

test("asking by keys: question, reasons, tags, code, more, comparing", () =>
  on("/?tune=1", async (page) => {
    const key = async (control, name) => {
      await reach(page, control);
      await page.keyboard.press(name);
    };
    await page.locator(".about").first().waitFor();
    await page.keyboard.type(question);
    await page.keyboard.press("Enter");
    await page.locator(".results > li").first().waitFor();
    assert.equal(await focused(page), "question", "the box keeps the focus");
    await key(page.locator(".results summary").first(), "Enter");
    await page.locator(".results table").first().waitFor();
    await page.locator(".more").focus(); // who comes near it by Tab has more passages already
    await page.keyboard.press("Enter");
    await page.locator(".results > li").nth(10).waitFor();
    await page.evaluate(() => document.getElementById("question").focus());
    await key(page.getByRole("button", { name: "Copy as code" }), "Enter");
    await page.locator("dialog[open]").waitFor();
    await key(page.getByRole("tab", { name: "curl" }), "ArrowRight");
    assert.equal(await focused(page), "Python");
    await page.keyboard.press("ArrowLeft");
    await key(page.getByRole("button", { name: "Copy", exact: true }), "Space");
    await page.getByText("Copied.").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("dialog[open]").waitFor({ state: "detached" });
    assert.equal(await focused(page), "Copy as code");
    const tag = await page.locator(".results .tag").first().textContent();
    await key(page.locator(".results .tag").first(), "Enter");
    await page.getByRole("button", { name: `Remove the tag ${tag}` }).waitFor();
    assert.equal(await focused(page).then(Boolean), true);
    await key(page.getByRole("button", { name: `Remove the tag ${tag}` }), "Space");
    await page.getByRole("button", { name: `Remove the tag ${tag}` }).waitFor({ state: "detached" });
    assert.equal(await page.evaluate(() => document.activeElement.id), "content");
    await key(page.getByRole("link", { name: "Compare methods" }), "Enter");
    await page.locator(".rankings li").first().waitFor();
  }));

test("comparing by keys: methods, weights, why not", () =>
  on(`/?view=compare&${asked}`, async (page) => {
    const sum = page.getByRole("checkbox", { name: "sum", exact: true });
    await reach(page, sum);
    await page.keyboard.press("Space");
    await page.locator(".rankings section").nth(3).waitFor();
    assert.ok(await sum.isChecked());
    assert.ok(await sum.evaluate((element) => element === document.activeElement), "a method keeps the focus");
    const slider = page.getByLabel("Factor of bm25");
    await reach(page, slider);
    await page.keyboard.press("ArrowRight");
    assert.equal(await slider.inputValue(), "1.05");
    const item = page.locator(".rankings li").first();
    await reach(page, item);
    assert.match(await item.getAttribute("class"), /lit/);
    await reach(page, page.locator("#whynot"));
    await page.keyboard.type(await item.getAttribute("data-id"));
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.locator(".whynot table").first().waitFor();
  }));

// holding keeps back the answers to some requests until release is called.
async function holding(page, address) {
  let release;
  const released = new Promise((resolve) => (release = resolve));
  await page.route(address, async (route) => {
    await released;
    await route.continue();
  });
  return release;
}

for (const [where, nth] of [["another ranking", "first"], ["the ranking that is drawn anew", "last"]])
  test(`who has gone on by Tab to ${where} stays there when a weight has its effect`, () =>
    on(`/?view=compare&${asked}&methods=sum`, async (page) => {
      const release = await holding(page, "**/v1/fuse");
      const own = page.locator(".rankings section").last();
      const slider = page.getByLabel("Factor of bm25");
      await slider.focus();
      await page.keyboard.press("ArrowRight");
      const before = await own.textContent();
      const item = page.locator(".rankings section")[nth]().locator("li").first();
      await reach(page, item);
      const id = await item.getAttribute("data-id");
      release();
      await page.waitForFunction((before) => [...document.querySelectorAll(".rankings section")].at(-1).textContent !== before, before);
      assert.equal(await page.evaluate(() => document.activeElement.dataset.id), id);
      const lit = await page.locator(".rankings li.lit").evaluateAll((items) => items.map((other) => other.dataset.id));
      assert.deepEqual(lit, [id, id]);
    }));

test("the button that cancels a job keeps the focus while the job goes on", () =>
  on("/?view=collection&tune=1", async (page) => {
    let done = 0;
    const job = { id: "7", kind: "add_expert", name: "nq", state: "running" };
    await page.route("**/v1/jobs", (route) => route.fulfill({ json: { jobs: [{ ...job, progress: { done: ++done, total: 100 } }] } }));
    await page.reload();
    await reach(page, page.getByRole("button", { name: "Cancel add expert nq" }));
    const progress = () => page.locator(".progress").getAttribute("aria-valuenow");
    const before = await progress();
    await page.waitForFunction((before) => document.querySelector(".progress").ariaValueNow !== before, before);
    assert.equal(await page.evaluate(() => document.activeElement.ariaLabel), "Cancel add expert nq");
  }));

test("the collection and the reference by keys: a file, a snapshot, a key, a request", () =>
  on("/?view=collection&tune=1", async (page) => {
    const chooser = page.waitForEvent("filechooser");
    await reach(page, page.locator("#file"));
    await page.keyboard.press("Enter");
    await chooser;
    await reach(page, page.locator("#snapshot"));
    await page.keyboard.type("by-keys");
    await page.keyboard.press("Enter");
    await page.getByText("The snapshot is being made").waitFor();
    await page.locator("body").press("Home");
    await page.evaluate(() => document.querySelector(".skip").focus());
    await reach(page, page.locator("nav").getByRole("link", { name: "API" }));
    await page.keyboard.press("Enter");
    await page.locator("#op-searchPassages .try").waitFor();
    await reach(page, page.locator("#filter"));
    await page.keyboard.type("/v1/experts");
    await reach(page, page.locator("#links li:not([hidden]) a", { hasText: "/v1/experts" }).first());
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash === "#op-experts");
    await reach(page, page.locator("#op-experts .try button.main"));
    await page.keyboard.press("Space");
    await page.locator("#op-experts .reply pre").waitFor();
  }));
