// The collection: what it has, files that are dropped in, jobs and snapshots.
import assert from "node:assert/strict";
import test from "node:test";
import { gzipSync } from "node:zlib";
import { api, on } from "./servers.mjs";

const address = "/?view=collection&tune=1";
const loaded = (page) => page.getByRole("heading", { name: "Experts" }).waitFor();
const passages = (name, n) =>
  Array.from({ length: n }, (_, i) =>
    JSON.stringify({ id: `${name}/${i}`, title: `Kite ${name} ${i}`, text: `The kite ${name} number ${i} flew over the harbour.` }),
  ).join("\n");

test("what the collection has is what the API says", () =>
  on(address, async (page) => {
    await loaded(page);
    const [ready, { experts }] = [await api("/readyz"), await api("/v1/experts")];
    const facts = (await page.locator(".facts").textContent()).replaceAll(",", "");
    assert.ok(facts.includes(`Passages${ready.passages}`) && facts.includes(`Generation${ready.generation}`), facts);
    assert.deepEqual(
      await page.locator("tbody th").allTextContents(),
      experts.map((expert) => expert.name),
    );
    for (const expert of experts) {
      const row = await page.locator("tbody tr", { hasText: expert.name }).textContent();
      assert.ok(row.includes(expert.kind) && row.includes(expert.precision) && row.includes(expert.rows.toLocaleString("en")), row);
    }
  }));

test("a collection that nobody calibrated says so, and what to do", () =>
  on(address, async (page) => {
    await loaded(page);
    const { experts, reliability } = await api("/v1/experts");
    assert.ok(reliability === undefined && experts.every((expert) => expert.reliability === undefined));
    const card = page.locator(".card", { has: page.getByRole("heading", { name: "Calibration", exact: true }) });
    assert.match(await card.locator(".warning").textContent(), /Not calibrated.*conclave calibrate --collection/);
    for (const { name, recall } of experts) {
      const part = await card.getByRole("region", { name: `Calibration of ${name}` }).textContent();
      assert.ok(part.includes(`Recall@10 ${recall["recall@10"]?.toFixed(3) ?? "–"}`), part);
    }
    assert.equal(await card.locator("svg").count(), 0);
  }));

test("a file that is chosen is found by searches when the page says so", () =>
  on(address, async (page) => {
    await loaded(page);
    await page.setInputFiles("#file", { name: "kites.jsonl", mimeType: "", buffer: Buffer.from(passages("red", 7)) });
    await page.getByText("7 created").waitFor();
    await page.getByText("7 passages can be searched now.").waitFor();
    const { results } = await api("/v1/search", { question: "Kite red 3", k: 1, experts: [] });
    assert.match(results[0].id, /^red\//);
    await page.setInputFiles("#file", { name: "again.jsonl.gz", mimeType: "", buffer: gzipSync(passages("red", 8)) });
    await page.getByText("1 created, 7 unchanged").waitFor();
    await page.getByText("8 passages can be searched now.").waitFor();
  }));

test("a file that is dropped is stored, and lines that cannot be are named", () =>
  on(address, async (page) => {
    await loaded(page);
    const text = `${passages("blue", 2)}\n{"id":"blue/x"}`;
    const transfer = await page.evaluateHandle((text) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([text], "kites.jsonl"));
      return transfer;
    }, text);
    await page.dispatchEvent(".drop", "dragover", { dataTransfer: transfer });
    assert.match(await page.locator(".drop").getAttribute("class"), /over/);
    await page.dispatchEvent(".drop", "dragleave", { dataTransfer: transfer });
    assert.doesNotMatch(await page.locator(".drop").getAttribute("class"), /over/);
    await page.dispatchEvent(".drop", "drop", { dataTransfer: transfer });
    await page.getByText("2 created, 1 rejected").waitFor();
    await page.getByText(/^line 3: /).waitFor();
    await page.getByText("2 passages can be searched now.").waitFor();
  }));

test("a file of passages that cannot be read keeps no other file back", () =>
  on(
    address,
    async (page) => {
      await loaded(page);
      const transfer = await page.evaluateHandle((text) => {
        const transfer = new DataTransfer();
        for (const [name, content] of [["bad.jsonl", '{"id":'], ["good.jsonl", text], ["kites.md", "# Kites\n\nA kite of paper."]])
          transfer.items.add(new File([content], name));
        return transfer;
      }, passages("green", 2));
      await page.dispatchEvent(".drop", "drop", { dataTransfer: transfer });
      const outcome = page.locator(".outcome section");
      await outcome.filter({ hasText: "good.jsonl" }).getByText("2 created").waitFor();
      await outcome.filter({ hasText: "Documents" }).getByText(": 1 created").waitFor();
      assert.match(await outcome.filter({ hasText: "bad.jsonl" }).textContent(), /line 1/);
      assert.doesNotMatch(await page.locator(".outcome").textContent(), /\[object/);
    },
    { expected: /status of 4/ },
  ));

test("a snapshot is made, and its job is shown until it is done", () =>
  on(
    address,
    async (page) => {
      await loaded(page);
      await page.fill("#snapshot", "of the test");
      await page.getByRole("button", { name: "Make a snapshot" }).click();
      await page.locator(".problem").waitFor(); // no name may have spaces
      await page.fill("#snapshot", "monday");
      await page.getByRole("button", { name: "Make a snapshot" }).click();
      await page.getByText("The snapshot is being made").waitFor();
      await page.locator(".jobs strong", { hasText: /^monday$/ }).waitFor();
      await page.locator(".jobs li", { hasText: "snapshot monday" }).locator(".status.done").waitFor();
      const { snapshots } = await api("/v1/admin/snapshots");
      assert.ok(snapshots.some((snapshot) => snapshot.name === "monday"));
    },
    { expected: /status of 4/ },
  ));
