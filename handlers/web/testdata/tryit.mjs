// "Try it" of the reference: who sends a request sees the answer without scrolling.
import assert from "node:assert/strict";
import test from "node:test";
import { on } from "./servers.mjs";

const operations = ["searchPassages", "searchSimply", "searchBatch", "fuseCandidates", "embedTexts", "passages", "experts", "limits", "readyz",
  "modelContext", "openAIModels", "openAIEmbeddings", "openAIStores", "openAISearch", "openAIStoreFiles", "inferenceEmbed", "difyRetrieval"];

for (const width of [768, 1440])
  test(`an answer is seen where it was asked for, ${width} px wide`, () =>
    on(
      "/docs",
      async (page) => {
        for (const operation of operations) {
          const form = page.locator(`#op-${operation} .try`);
          await form.locator("button.main").click();
          await form.locator(".reply pre").waitFor();
          await page.waitForFunction((id) => !document.querySelector(`#op-${id} button.main`).disabled, operation);
          const [top, bottom, height] = await form.locator(".reply").evaluate((reply) => {
            const box = reply.getBoundingClientRect();
            return [box.top, box.bottom, innerHeight];
          });
          assert.ok(top >= 0 && bottom <= height, `${operation}: the answer is from ${top} to ${bottom} of ${height} px`);
          assert.match(await form.locator(".outcome b").textContent(), /^200/, operation);
        }
      },
      { width },
    ));
