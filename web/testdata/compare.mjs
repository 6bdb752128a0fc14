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
    assert.equal(await page.locator(".rankings path").count(), want);
    await page.getByRole("checkbox", { name: "rrf", exact: true }).uncheck();
    await page.waitForFunction(() => document.querySelectorAll(".rankings section").length === 4);
  }));

test("a passage lights up wherever it stands", () =>
  on(address, async (page) => {
    await loaded(page);
    const first = column(page, 0).first();
    const id = await first.getAttribute("data-id");
    const lit = () => page.locator(".rankings .lit").evaluateAll((items) => items.map((item) => item.dataset.id));
    await first.hover();
    assert.ok((await lit()).length >= 2 && (await lit()).every((other) => other === id));
    await page.mouse.move(1, 1);
    assert.deepEqual(await lit(), []);
    await first.focus();
    assert.ok((await lit()).length >= 2);
  }));
