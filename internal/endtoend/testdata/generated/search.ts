// A program with the types that openapi-typescript makes of the document: it adds a
// passage, waits until searches see it, and searches for it.
import type { components, paths } from "./api";

type SearchRequest = paths["/v1/search"]["post"]["requestBody"]["content"]["application/json"];
type SearchResponse = paths["/v1/search"]["post"]["responses"][200]["content"]["application/json"];
type Upload = paths["/v1/passages"]["post"]["requestBody"]["content"]["application/json"];
type Problem = components["schemas"]["Problem"];

declare const process: { env: Record<string, string> };

async function post<Out>(path: keyof paths, query: string, body: unknown): Promise<Out> {
  const response = await fetch(process.env.SERVER + path + query, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(((await response.json()) as Problem).detail);
  const text = await response.text();
  return JSON.parse(text.split("\n")[0] ?? "") as Out;
}

const upload: Upload = [{ id: "kite/ts", text: "A heron flew a kite over the harbour." }];
const line = await post<components["schemas"]["UploadLine"]>("/v1/passages", "?refresh=wait", upload);
if (line.status === "rejected") throw new Error(line.error?.detail);
const request: SearchRequest = { question: "heron kite harbour" };
const answer = await post<SearchResponse>("/v1/search", "", request);
const first = answer.results?.[0];
if (first === undefined) throw new Error("nothing was found");
console.log(first.id, first.rank);
export {};
