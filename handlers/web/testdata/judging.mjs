// Judging: thumbs are kept by the server, and what calibrating by them would change is said.
import assert from "node:assert/strict";
import test from "node:test";
import { accessible, looks, widths } from "./browser.mjs";
import { api, on } from "./servers.mjs";

const question = "why did the fox hide the moon";
const asked = `q=${encodeURIComponent(question)}`;
const collection = "/?view=collection";
const judged = async () => (await api("/v1/judgments")).judgments.filter((one) => one.question === question);
const kept = (page) => page.getByText("Thank you. Your judgment is saved.").first().waitFor();

test("a thumb is kept, wherever the passage stands, changed and taken back", () =>
  on(`/?tune=1&${asked}`, async (page) => {
    const item = page.locator(".results > li").first();
    const id = await item.getAttribute("data-id");
    await item.locator(".thumb.up").click();
    await kept(page);
    assert.deepEqual((await judged()).map(({ passage, grade }) => [passage, grade]), [[id, 1]]);
    assert.equal(await page.locator("section.answers .thumb.up").getAttribute("aria-pressed"), "true");
    await page.reload();
    await item.locator('.thumb.up[aria-pressed="true"]').waitFor();
    await item.locator(".thumb.down").click();
    await kept(page);
    assert.deepEqual((await judged()).map(({ grade }) => grade), [0]);
    await item.locator(".thumb.down").click();
    await page.getByText("Your judgment is removed.").waitFor();
    assert.deepEqual(await judged(), []);
    assert.equal(await item.locator('.thumb[aria-pressed="true"]').count(), 0);
  }));

test("a thumb that the server refuses says why", () =>
  on(
    `/?${asked}`,
    async (page) => {
      await page.route("**/v1/judgments", (route) =>
        route.fulfill({ status: 404, contentType: "application/problem+json", body: JSON.stringify({ status: 404, title: "There is no such path", detail: "Judgments are kept elsewhere." }) }),
      );
      await page.locator("section.answers .thumb.up").click();
      await page.getByText("Judgments are kept elsewhere.").waitFor();
      assert.equal(await page.locator('.thumb[aria-pressed="true"]').count(), 0);
    },
    { expected: /status of 404/ },
  ));

test("questions of a file are taken over; from ten judgments on the page says what calibrating would change", () =>
  on(
    collection,
    async (page) => {
      const card = page.locator(".improve");
      await card.getByText("Nobody has judged an answer yet").waitFor();
      assert.ok(await card.getByRole("button", { name: "Calibrate" }).isDisabled());
      const { passages } = await api("/v1/passages?limit=12");
      const lines = passages.map((one) => JSON.stringify({ question: `what does ${one.id} say of ${one.title}?`, positive_ids: [one.id] }));
      await page.setInputFiles("#questions-file", { name: "q.jsonl", mimeType: "", buffer: Buffer.from([...lines.slice(0, 2), '{"question":"x","positive_ids":["none"]}'].join("\n")) });
      await card.locator(".problem").getByText(/^line 3: There is no passage "none"/).waitFor();
      await page.setInputFiles("#questions-file", { name: "q.jsonl", mimeType: "", buffer: Buffer.from([...lines, '{"question":"what does nothing say?"}'].join("\n")) });
      await card.getByText("Added: twelve judgments.").waitFor();
      await card.getByText("Left out, because they name no passage: one question.").waitFor();
      await card.locator('.measured[data-kind="calibrate"]').waitFor({ timeout: 60_000 });
      const jobs = async () => (await api("/v1/jobs")).jobs;
      const [tried] = (await jobs()).filter((job) => job.kind === "calibrate");
      assert.ok(tried.dry_run && !tried.result.measured.written);
      await card.getByRole("button", { name: "Measure" }).click();
      await card.locator('.measured[data-kind="evaluate"]').waitFor({ timeout: 60_000 });
      assert.doesNotMatch(await card.innerText(), /\d/);
      await page.locator("#tune").check();
      await card.getByText("Report").first().click();
      const [measured] = (await jobs()).filter((job) => job.kind === "evaluate");
      const { now, questions } = measured.result.measured;
      await card.locator('.measured[data-kind="evaluate"]').getByText(`for ${now.top1} of ${questions} questions`).waitFor();
      const download = page.waitForEvent("download");
      await card.getByRole("button", { name: "Download the questions" }).click();
      const text = await (await (await download).createReadStream()).toArray();
      const read = Buffer.concat(text).toString().trim().split("\n").map((line) => JSON.parse(line));
      assert.deepEqual(read.map((one) => one.positive_ids), passages.map((one) => [one.id]));
      for (const [width, theme] of looks(widths)) {
        await page.setViewportSize({ width, height: 900 });
        await page.emulateMedia({ colorScheme: theme });
        await accessible(page, `judged answers, ${width} px`);
      }
    },
    { expected: /status of 404/ },
  ));

test("a text that is pasted is a document, under a name that no other has", () =>
  on(
    collection,
    async (page) => {
      for (const id of ["über-kites.md", "über-kites-2.md"]) {
        await page.getByText("Paste a text").click();
        await page.fill("#paste-title", "Über kites");
        await page.fill("#paste-text", "A kite of paper flew above the old harbour.");
        await page.getByRole("button", { name: "Store" }).click();
        await page.getByRole("link", { name: id, exact: true }).first().waitFor();
        assert.equal((await api(`/v1/documents/${encodeURIComponent(id)}`)).title, "Über kites");
        await page.reload();
      }
    },
    { expected: /status of 412/ },
  ));

test("passages are found, edited and deleted", () =>
  on(collection, async (page) => {
    const put = await fetch(`${process.env.SERVER}/v1/passages/browse?refresh=wait`, { method: "PUT", headers: { "content-type": "application/json" }, body: '{"title":"Heron","text":"The heron of the weir stands still.","tags":["bird"]}' });
    assert.equal(put.status, 201);
    await page.locator("details.card summary").click();
    await page.locator(".passagelist li").nth(5).waitFor();
    const found = page.waitForResponse("**/v1/search");
    await page.fill("#find-passage", "heron weir");
    await found;
    await page.waitForFunction(() => document.querySelectorAll(".passagelist li").length < 20);
    const row = page.locator('.passagelist li[data-id="browse"]');
    await row.waitFor();
    await row.getByRole("button", { name: "Edit browse" }).click();
    await page.fill("#edit-text", "The heron has flown.");
    await page.fill("#edit-tags", "bird, gone");
    await row.getByRole("button", { name: "Store" }).click();
    await row.getByText("The heron has flown.").waitFor();
    const stored = await api("/v1/passages/browse");
    assert.deepEqual([stored.title, stored.text, stored.tags], ["Heron", "The heron has flown.", ["bird", "gone"]]);
    await row.getByRole("button", { name: "Delete browse" }).click();
    await row.getByText("Delete for good?").click();
    await row.waitFor({ state: "detached" });
    await assert.rejects(api("/v1/passages/browse"), /404/);
  }));
