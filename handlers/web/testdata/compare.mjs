// Comparing: methods side by side, weights of one's own, why a passage is not there.
import assert from "node:assert/strict";
import test from "node:test";
import { api, on } from "./servers.mjs";

const question = "how do I stop a nosebleed";
const address = `/?view=compare&q=${encodeURIComponent(question)}`;
const column = (page, at) => page.locator(".rankings section").nth(at).locator("li");
const shownIDs = (page, at) => column(page, at).evaluateAll((items) => items.map((item) => item.dataset.id));
const loaded = (page) => page.locator(".rankings li").first().waitFor();

test("rankings stand side by side as the API gives them", () =>
  on(address, async (page) => {
    await loaded(page);
    await page.getByRole("checkbox", { name: "sum", exact: true }).check();
    await page.waitForFunction(() => document.querySelectorAll(".rankings section").length === 4);
    await page.getByRole("checkbox", { name: "hybrid", exact: true }).check();
    await page.waitForFunction(() => document.querySelectorAll(".rankings section").length === 5);
    for (const box of await page.locator("fieldset input[type=checkbox]:not(:checked)").all())
      assert.ok(await box.isDisabled(), "a fifth method can be chosen");
    const methods = ["auto", "rrf", "sum", "hybrid"];
    assert.equal(new URL(page.url()).searchParams.get("methods"), methods.join(","));
    const { rankings } = await api("/v1/search", { question, k: 10, fusion: methods });
    for (const [i, ranking] of rankings.entries())
      assert.deepEqual(await shownIDs(page, i), ranking.results.map((result) => result.id), methods[i]);
    // A line for each passage that two neighbours have.
    const want = [...rankings, rankings[0]].reduce((n, ranking, i, all) => {
      const next = all[i + 1]?.results.map((result) => result.id) ?? [];
      return n + ranking.results.filter((result) => next.includes(result.id)).length;
    }, 0);
    await page.waitForFunction((want) => document.querySelectorAll(".rankings path").length === want, want);
    await page.getByRole("checkbox", { name: "rrf", exact: true }).uncheck();
    await page.waitForFunction(() => document.querySelectorAll(".rankings section").length === 4);
  }));

test("the ranks say of which question they are, whatever is typed meanwhile", () =>
  on(address, async (page) => {
    await loaded(page);
    await page.locator("#question, input[type=search], textarea").first().fill("why do cats purr");
    await page.getByRole("checkbox", { name: "sum", exact: true }).check();
    await page.waitForFunction(() => document.querySelectorAll(".rankings section").length === 4);
    await page.getByRole("heading", { name: `Ranks for “${question}”` }).waitFor();
    await page.getByRole("button", { name: "Compare", exact: true }).click();
    await page.getByRole("heading", { name: "Ranks for “why do cats purr”" }).waitFor();
  }));

test("a passage lights up wherever it stands", () =>
  on(address, async (page) => {
    await loaded(page);
    const first = column(page, 0).first();
    const id = await first.getAttribute("data-id");
    const lit = () => page.locator(".rankings .lit");
    await first.hover();
    await lit().nth(1).waitFor();
    assert.ok((await lit().evaluateAll((items) => items.map((item) => item.dataset.id))).every((other) => other === id));
    await page.mouse.move(1, 1);
    await lit().first().waitFor({ state: "detached" });
    await first.focus();
    await lit().nth(1).waitFor();
  }));

// slide puts a slider where somebody drags it.
const slide = (page, source, factor) => page.getByLabel(`Factor of ${source}`).fill(String(factor));
const becomes = (page, want) =>
  page.waitForFunction(
    (want) => {
      const own = [...document.querySelectorAll(".rankings section")].at(-1);
      return [...own.querySelectorAll("li")].map((item) => item.dataset.id).join() === want.join();
    },
    want,
  );

test("weights of one's own rank as a search with these weights does", () =>
  on(`${address}&methods=sum,rrf`, async (page) => {
    await loaded(page);
    const ranked = async (fusion, weights) =>
      (await api("/v1/search", { question, k: 10, fusion, weights })).results.map((result) => result.id);
    const unchanged = await ranked("sum");
    assert.deepEqual(await shownIDs(page, 2), unchanged);
    for (const [base, bm25] of [
      [0.1, 1],
      [0.1, 3],
      [3, 0],
      [1, 1],
    ]) {
      await slide(page, "base", base);
      await slide(page, "bm25", bm25);
      await becomes(page, await ranked("sum", { base, bm25 }));
    }
    assert.deepEqual(await shownIDs(page, 2), unchanged);
    assert.deepEqual(await page.locator(".sliders output").allTextContents(), ["1.00", "1.00"]);
    await page.getByRole("checkbox", { name: "sum", exact: true }).uncheck();
    await page.waitForFunction(() => document.querySelectorAll(".rankings section").length === 2);
    await slide(page, "bm25", 0);
    await becomes(page, await ranked("rrf", { base: 1, bm25: 0 }));
  }));

test("weights of the gate move its ranking, and back", () =>
  on(`${address}&methods=gate`, async (page) => {
    await loaded(page);
    const before = await shownIDs(page, 0);
    await slide(page, "late", 0);
    const { results } = await api("/v1/search", { question, k: 500, fusion: "gate" });
    const score = (result) =>
      result.contributions.reduce((sum, part) => sum + (part.source === "late" ? 0 : part.contribution), 0);
    const without = results
      .toSorted((a, b) => score(b) - score(a))
      .slice(0, 10)
      .map((result) => result.id);
    await becomes(page, without);
    assert.notDeepEqual(without, before);
    await slide(page, "late", 1);
    await becomes(page, before);
  }));

test("a passage that is not there is found by its id or its text, with its rank in each source", () =>
  on(address, async (page) => {
    await loaded(page);
    const { rankings } = await api("/v1/search", { question, k: 100, fusion: ["auto", "rrf"] });
    const far = rankings[0].results[40];
    const look = async (text) => {
      await page.fill("#whynot", text);
      await page.getByRole("button", { name: "Look" }).click();
      await page.locator(".whynot .id", { hasText: far.id }).waitFor();
      const said = await page.locator(".fallen").textContent();
      assert.match(said, /Rank \d+, \d+\.\d+ below the first/);
      assert.equal(await page.locator(".whynot .warning").count(), 0);
      const cells = await page.locator(".fallen tbody tr", { hasText: "base" }).first().locator("td").allTextContents();
      const own = far.contributions.find((part) => part.source === "base");
      assert.equal(cells[0], String(own.rank ?? cells[0]));
      assert.equal(cells[1], own.score.toFixed(3));
    };
    await look(far.id);
    await page.fill("#whynot", "");
    await page.reload();
    await loaded(page);
    await look(`${far.text.slice(0, 120).toUpperCase().replace(/ (?=\S*$)/, "\n ")}`);
    await page.fill("#whynot", "qqqq zzzz xxxx");
    await page.getByRole("button", { name: "Look" }).click();
    await page.getByText("No passage has this id, and none has these words.").waitFor();
  }));
