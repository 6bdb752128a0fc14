// Narrowing: fields of metadata as boxes and ranges with exact counts, an order, and what leaves nothing.
// Of the 24 kites number i has a language of three, i modulo 3, the price 3i + 0.5, and the day i + 1 of May.
import assert from "node:assert/strict";
import test from "node:test";
import { accessible, looks } from "./browser.mjs";
import { on } from "./servers.mjs";

const at = (page) => new URL(page.url()).searchParams;
const found = (page) => page.locator(".results > li").first().waitFor();
const field = (page, name) => page.locator(`fieldset[data-field="${name}"]`);
const open = (page) => page.locator(".narrowing summary").click();
const numbers = async (page) => (await page.locator(".results .id").allTextContents()).map((id) => Number(id.split("/")[1]));

// counts are what the boxes of a field say, by its values.
const counts = async (page, name) =>
  Object.fromEntries(await field(page, name).locator("label").evaluateAll((all) => all.map((one) => [...one.querySelectorAll("span")].map((span) => span.textContent))));

test("the values of a field are boxes with exact counts, kept in the link", () =>
  on("/?tune=1&q=kite", async (page) => {
    await found(page);
    await open(page);
    assert.deepEqual(await counts(page, "language"), { de: "8", en: "8", fr: "8" });
    assert.equal(await field(page, "serial").count(), 0, "each passage has a serial number of its own");
    await field(page, "language").getByLabel("de").check();
    await page.locator(".tag.on").waitFor();
    await found(page);
    assert.equal(at(page).get("is.language"), "de");
    for (const n of await numbers(page)) assert.equal(n % 3, 0);
    // Who ticked one sees what the others would give; other fields count what is left.
    await page.waitForFunction(() => document.querySelectorAll('fieldset[data-field="language"] input').length === 3);
    assert.deepEqual(await counts(page, "language"), { de: "8", en: "8", fr: "8" });
    await field(page, "language").getByLabel("fr").check();
    await page.locator(".tag.on").nth(1).waitFor();
    await found(page);
    assert.deepEqual(at(page).getAll("is.language"), ["de", "fr"]);
    for (const n of await numbers(page)) assert.notEqual(n % 3, 1);
    await page.reload();
    await found(page);
    for (const n of await numbers(page)) assert.notEqual(n % 3, 1);
    await page.getByRole("button", { name: "Remove: language: de" }).click();
    await page.locator(".tag.on").nth(1).waitFor({ state: "detached" });
    await found(page);
    for (const n of await numbers(page)) assert.equal(n % 3, 2);
  }));

test("texts, numbers and booleans that read alike are told apart", () =>
  on("/?tune=1&q=kite", async (page) => {
    await found(page);
    await open(page);
    assert.deepEqual((await field(page, "shelf").locator("label").allTextContents()).toSorted(), ["76", "76", "A, B6", "true6"]);
    await field(page, "shelf").getByLabel("A, B").check();
    await page.locator(".tag.on").waitFor();
    await found(page);
    for (const n of await numbers(page)) assert.equal(n % 4, 3);
    await page.getByRole("button", { name: "Remove: shelf: A, B" }).click();
    await page.locator(".tag.on").waitFor({ state: "detached" });
    await field(page, "shelf").getByLabel("true").check();
    await page.locator(".tag.on").waitFor();
    await found(page);
    for (const n of await numbers(page)) assert.equal(n % 4, 2);
  }));

test("many numbers and days are ranges", () =>
  on("/?tune=1&q=kite", async (page) => {
    await found(page);
    await open(page);
    await page.getByLabel("price from").fill("30");
    await page.getByLabel("price from").blur();
    await page.locator(".tag.on").waitFor();
    await page.getByLabel("day to", { exact: true }).fill("2024-05-14");
    await page.getByLabel("day to", { exact: true }).blur();
    await page.locator(".tag.on").nth(1).waitFor();
    await found(page);
    assert.deepEqual([at(page).get("from.price"), at(page).get("to.day")], ["30", "2024-05-14"]);
    assert.deepEqual((await numbers(page)).toSorted((a, b) => a - b), [10, 11, 12, 13]);
  }));

test("passages are sorted by a field, without an answer above them", () =>
  on("/?tune=1&q=kite", async (page) => {
    await found(page);
    await open(page);
    await page.getByLabel("Order").selectOption({ label: "price, largest first" });
    await page.getByRole("heading", { name: "Passages by price" }).waitFor();
    assert.deepEqual(await numbers(page), [23, 22, 21, 20, 19, 18, 17, 16, 15, 14]);
    assert.equal(at(page).get("sort"), "-price");
    assert.equal(await page.locator("section.answers").count(), 0);
  }));

test("conditions that leave nothing say so, and each can be taken away", () =>
  on("/?q=kite&is.language=de&from.price=1000", async (page) => {
    await page.getByText("No passage meets all conditions.").waitFor();
    await page.locator("section.answers").getByRole("button", { name: "Remove: price from 1000" }).click();
    await found(page);
    assert.equal(at(page).has("from.price"), false);
    assert.equal(at(page).get("is.language"), "de");
  }));

test("a condition that does not fit the field is refused with the reason, and can be taken away", () =>
  on("/?q=kite&from.language=5", async (page) => {
    await page.locator(".problem").waitFor();
    assert.match(await page.locator(".problem").textContent(), /language/);
    await page.getByRole("button", { name: "Remove: language from 5" }).click();
    await found(page);
  }, { expected: /Failed to load resource/ }));

test("no number is shown without the switch, and all is accessible", () =>
  on("/?q=kite", async (page) => {
    await found(page);
    await open(page);
    assert.deepEqual(await field(page, "language").locator("label").allTextContents(), ["de", "en", "fr"]);
    for (const [width, theme] of looks([390, 1280])) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme: theme });
      await accessible(page, `narrowing, ${width} px, ${theme}`);
    }
  }));
