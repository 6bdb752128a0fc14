// Documents: dropped and chosen, listed, found, read at a place, replaced and deleted.
import assert from "node:assert/strict";
import test from "node:test";
import { accessible, looks } from "./browser.mjs";
import { api, browser, on, server } from "./servers.mjs";
import { leave, visit } from "./browser.mjs";

const shots = process.env.SHOTS; // a folder for screenshots, for people to look at
const collection = "/?view=collection";
const handbook = `# Mill 🦊 handbook

## Cleaning

Brush the burrs once a week. Never wash the burrs with water, since the steel rusts.

## Spare parts

| part | price |
| --- | --- |
| burr set für Mühle | twelve |
| hopper | nine |

## Warranty

The warranty of the “naïve” mill lasts for two years from the day of sale.
`;
const page2 = "<!doctype html><title>Tea</title><h1>Tea</h1><h2>Green</h2><p>Green tea is brewed below the boiling point of water, for two minutes.</p>";

// dropFiles drops files as a person does; names with slashes are in folders.
async function dropFiles(page, files) {
  const transfer = await page.evaluateHandle((files) => {
    const transfer = new DataTransfer();
    for (const [name, text] of files) transfer.items.add(new File([text], name, { lastModified: 1.7e12 }));
    return transfer;
  }, files);
  await page.dispatchEvent(".drop", "drop", { dataTransfer: transfer });
}

const rows = (page) => page.locator(".documents li");

test("files that are dropped are documents, and what cannot be read is named", () =>
  on(
    collection,
    async (page) => {
      await page.getByText("Drop files or folders here").waitFor();
      await dropFiles(page, [
        ["mill.md", handbook],
        ["tea.html", page2],
        ["broken.pdf", "%PDF-1.7 and nothing else"],
        [".hidden.md", "# Hidden"],
      ]);
      await page.getByText("2 documents can be searched now.").waitFor();
      const said = await page.locator(".outcome").textContent();
      assert.ok(said.includes("3 of 3 files: ") && said.includes("2 created") && said.includes("1 failed"), said);
      assert.match(await page.locator(".failed li").first().textContent(), /^broken\.pdf: ./);
      await rows(page).nth(1).waitFor();
      assert.deepEqual(await rows(page).evaluateAll((all) => all.map((one) => one.dataset.id)), ["mill.md", "tea.html"]);
      await dropFiles(page, [["mill.md", handbook]]);
      await page.getByText("1 of 1 file: 1 unchanged").waitFor();
    },
    { expected: /status of 4/ },
  ));

test("archives are unpacked, and mails bring what is attached; what cannot be read in them is named", () =>
  on(collection, async (page) => {
    await rows(page).first().waitFor();
    const { execFileSync } = await import("node:child_process");
    const { mkdtempSync, readFileSync, writeFileSync } = await import("node:fs");
    const folder = mkdtempSync("/tmp/conclave-archives-");
    writeFileSync(`${folder}/kettle.md`, "# Kettle\n\nDescale the kettle with vinegar.\n");
    writeFileSync(`${folder}/broken.docx`, "PK\u0003\u0004 rubbish");
    execFileSync("tar", ["-czf", "kitchen.tar.gz", "kettle.md", "broken.docx"], { cwd: folder });
    const mail = [
      "From: ann@example.org", "Subject: Minutes", "MIME-Version: 1.0", "Content-Type: multipart/mixed; boundary=b", "",
      "--b", "Content-Type: text/plain", "", "The committee chose a crimson carpet.",
      "--b", "Content-Type: text/plain", "Content-Disposition: attachment; filename=list.txt", "", "Needles and thread.", "--b--", "",
    ].join("\r\n");
    await page.setInputFiles("#file", [
      { name: "kitchen.tar.gz", mimeType: "application/gzip", buffer: readFileSync(`${folder}/kitchen.tar.gz`) },
      { name: "minutes.eml", mimeType: "message/rfc822", buffer: Buffer.from(mail) },
    ]);
    await page.getByText("3 documents can be searched now.").waitFor();
    const said = await page.locator(".outcome").textContent();
    assert.ok(said.includes("2 of 2 files: ") && said.includes("3 created") && said.includes("1 failed"), said);
    assert.match(await page.locator(".failed li").first().textContent(), /^kitchen\.tar\.gz\/broken\.docx: ./);
    if (shots) await page.screenshot({ path: `${shots}/archives.png`, fullPage: true });
    for (const id of ["kitchen.tar.gz/kettle.md", "minutes.eml", "minutes.eml/list.txt"])
      assert.equal((await api(`/v1/documents/${encodeURIComponent(id)}`)).id, id);
    for (const id of ["kitchen.tar.gz/kettle.md", "minutes.eml", "minutes.eml/list.txt"])
      await fetch(`${server}/v1/documents/${encodeURIComponent(id)}?refresh=wait`, { method: "DELETE" });
  }));

test("a folder that is chosen keeps its paths, and the list is searched", () =>
  on(collection, async (page) => {
    await rows(page).first().waitFor();
    const { mkdtempSync, mkdirSync, writeFileSync } = await import("node:fs");
    const folder = `${mkdtempSync("/tmp/conclave-documents-")}/wiki`;
    mkdirSync(`${folder}/deep`, { recursive: true });
    writeFileSync(`${folder}/one.md`, "# Kites\n\nA kite flew over the harbour.\n");
    writeFileSync(`${folder}/deep/two.md`, "# Lamps\n\nA lamp was hidden in the lighthouse.\n");
    await page.setInputFiles("#folder", folder);
    await page.getByText("2 documents can be searched now.").waitFor();
    await page.fill("#find", "deep/");
    await page.locator(".documents li", { hasText: "Lamps" }).waitFor();
    await page.waitForFunction(() => document.querySelectorAll(".documents li").length === 1);
    assert.equal(await rows(page).first().getAttribute("data-id"), "deep/two.md");
    await page.fill("#find", "no such document");
    await page.getByText("None.").first().waitFor();
  }));

test("a result says where it stands, and leads there", () =>
  on(`/?tune=1&q=${encodeURIComponent("how long does the warranty of the mill last")}`, async (page) => {
    const place = page.locator(".results > li", { hasText: "two years" }).locator(".place");
    await place.waitFor();
    assert.equal(await place.textContent(), "mill.md");
    assert.equal(await page.locator(".results > li h3").first().textContent(), "Mill 🦊 handbook › Warranty");
    await place.getByRole("link").click();
    const mark = page.locator("mark.found");
    await mark.waitFor();
    assert.equal(await mark.textContent(), "The warranty of the “naïve” mill lasts for two years from the day of sale.");
    assert.ok(await mark.evaluate((one) => one === document.activeElement && one.getBoundingClientRect().top < innerHeight));
    const text = await page.locator(".read").innerText();
    for (const heading of ["Mill 🦊 handbook", "Cleaning", "Spare parts", "Warranty"]) assert.ok(text.includes(heading), text);
    await page.getByRole("link", { name: "Ask only this document" }).click();
    await page.locator(".results > li").first().waitFor();
    const ids = await page.locator(".results .row .id").allTextContents();
    assert.ok(ids.length > 0 && ids.every((id) => id.startsWith("mill.md#")), ids);
    await page.getByRole("button", { name: "Ask all documents" }).click();
    await page.locator(".results .id", { hasText: "tea.html#" }).first().waitFor();
  }));

test("a link with a place in bytes marks the passage there, and with an end the words", () =>
  on("/", async (page) => {
    const found = await api("/v1/documents/mill.md?text=true&passages=true");
    const bytes = Buffer.from(found.text);
    for (const { metadata } of found.passage_list) {
      await page.goto(`${server}/?document=mill.md&at=${metadata.begin}`);
      const mark = page.locator("mark.found");
      await mark.waitFor();
      assert.equal(await mark.textContent(), bytes.subarray(metadata.begin, metadata.end).toString());
    }
    const at = bytes.indexOf("“naïve”");
    await page.goto(`${server}/?document=mill.md&at=${at}&end=${at + Buffer.byteLength("“naïve”")}`);
    await page.locator("mark.found").waitFor();
    assert.equal(await page.locator("mark.found").textContent(), "“naïve”");
    await page.goto(`${server}/?document=mill.md`);
    await page.locator(".read").waitFor();
    assert.equal(await page.locator("mark.found").count(), 0);
  }));

test("a result of a PDF opens the file at its page, with the passage marked", () =>
  on("/", async (page) => {
    const { readFileSync } = await import("node:fs");
    const file = readFileSync(new URL("../../../documents/testdata/handbook.pdf", import.meta.url));
    // This server has no reader of PDF: the passage is put as reading would, and the file and its pages come from here.
    const text =
      "A customer who has lost the receipt shows the bank statement of the day. The service desk looks the order up and prints a new one, which goes on to";
    const id = "deep/handbook.pdf#1";
    const metadata = {
      document: "deep/handbook.pdf", document_passages: 1, document_original: "copy", document_sha256: "0".repeat(64),
      media_type: "application/pdf", page: 2, begin: 0, end: Buffer.byteLength(text),
    };
    const at = `${server}/v1/passages/${encodeURIComponent(id)}?refresh=wait`;
    const headers = { "content-type": "application/json" };
    assert.equal((await fetch(at, { method: "PUT", body: JSON.stringify({ title: "Handbook", text, metadata }), headers })).status, 201);
    const dot = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==", "base64");
    const drawn = [];
    await page.route("**/v1/originals/**", (route) => {
      const query = new URL(route.request().url()).searchParams;
      if (!query.has("page")) return route.fulfill({ body: file, contentType: "application/pdf" });
      drawn.push([query.get("page"), query.get("passage")]);
      return route.fulfill({ body: dot, contentType: "image/png", headers: { "x-pages": "3" } });
    });
    const wanted = { text, metadata };
    const words = wanted.text.split(/\s+/).slice(0, 12).join(" ");
    await page.goto(`${server}/?tune=1&q=${encodeURIComponent(words)}&in=${encodeURIComponent("deep/handbook.pdf")}`);
    const place = page.locator(".results > li .place", { hasText: `page ${wanted.metadata.page}` }).first();
    await place.getByRole("link", { name: /page/ }).click();
    const canvas = page.locator(".original canvas");
    await canvas.waitFor();
    await page.getByText("Page 2 of 3").waitFor();
    assert.equal(await canvas.getAttribute("aria-label"), "Page 2 of 3");
    assert.deepEqual(drawn, [["2", id]]);
    assert.equal(await canvas.evaluate((one) => one.width), 1);
    if (shots) await page.screenshot({ path: `${shots}/original.png`, fullPage: true });
    await page.getByRole("button", { name: "Previous page" }).click();
    await page.getByText("Page 1 of 3").waitFor();
    assert.ok(await page.getByRole("button", { name: "Previous page" }).isDisabled());
    assert.deepEqual(drawn[1], ["1", id]);
    const saving = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save the file" }).click();
    const saved = await saving;
    assert.equal(saved.suggestedFilename(), "handbook.pdf");
    assert.ok(readFileSync(await saved.path()).equals(file));
    await fetch(at, { method: "DELETE" });
  }));

test("a document that is not there says so", () =>
  on(
    "/?document=nothing.md&at=3",
    async (page) => {
      await page.getByText("There is no document").waitFor();
    },
    { expected: /status of 4/ },
  ));

test("documents are replaced and deleted", () =>
  on(collection, async (page) => {
    await rows(page).first().waitFor();
    const row = page.locator('.documents li[data-id="tea.html"]');
    await row.locator('input[type="file"]').setInputFiles({
      name: "other.html",
      mimeType: "text/html",
      buffer: Buffer.from(page2.replaceAll("Tea</", "Infusions</").replaceAll("Green", "Black")),
    });
    await page.locator(".documents li", { hasText: "Infusions" }).waitFor();
    assert.match((await api("/v1/documents/tea.html?text=true")).text, /Black tea/);
    await page.getByRole("button", { name: "Delete tea.html" }).click();
    await page.getByRole("button", { name: "Delete tea.html" }).filter({ hasText: "Delete for good?" }).click();
    await row.waitFor({ state: "detached" });
    await assert.rejects(api("/v1/documents/tea.html"), /404/);
  }));

test("it can be read and used in every width and in both themes", async () => {
  for (const [width, theme] of looks([390, 768, 1280]))
    for (const [name, path] of [
      ["document", "/?document=mill.md&at=60"],
      ["list", collection],
      ["results", `/?q=${encodeURIComponent("how long does the warranty last")}`],
    ]) {
      const page = await visit(browser, server + path, { width, theme });
      await page.locator(name === "document" ? "mark.found" : name === "list" ? ".documents li" : ".place").first().waitFor();
      if (shots) await page.screenshot({ path: `${shots}/${name}-${width}-${theme}.png` });
      await accessible(page, `${name} in ${width} ${theme}`);
      await leave(page);
    }
});
