// The server under test, SERVER, and the browser that visits it.
import { after, before } from "node:test";
import { launch, leave, visit } from "./browser.mjs";

export const server = process.env.SERVER;

export let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

// on opens a page of the server, lets the test use it, and wants no complaint.
export async function on(path, use, options) {
  const page = await visit(browser, server + path, options);
  await use(page);
  await leave(page);
}

// api asks the server what a page is to show.
export async function api(path, body) {
  const response = await fetch(server + path, {
    method: body ? "POST" : "GET",
    body: body && JSON.stringify(body),
    headers: { "content-type": "application/json" },
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json();
}
