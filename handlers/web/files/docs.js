// The API reference draws itself from /openapi.json. Everything that is shown
// goes into the page as text, never as HTML.
"use strict";

const $ = (id) => document.getElementById(id);

// base is the path that the server is reached under, without its last slash.
const base = new URL("..", document.currentScript.src).pathname.slice(0, -1);

// h makes an element: h("a", {href: "#x", class: "y"}, "text", child, …).
function h(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(key, value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child !== undefined && child !== null) element.append(child);
  }
  return element;
}

let contract;
let expert; // the name of an expert that is loaded, for the examples
let collection; // and that of the collection

// resolve follows $ref, keeping the description that stands beside it.
function resolve(schema) {
  if (!schema || !schema.$ref) return schema || {};
  let target = contract;
  for (const step of schema.$ref.slice(2).split("/")) target = target[step];
  return schema.description ? { ...target, description: schema.description } : target;
}

const refName = (schema) => (schema && schema.$ref ? schema.$ref.split("/").pop() : "");

// typeText says what a value is, in words.
function typeText(schema) {
  const name = refName(schema);
  const s = resolve(schema);
  if (s.anyOf || s.oneOf) return (s.anyOf || s.oneOf).map(typeText).join(" or ");
  const types = [].concat(s.type || []);
  const words = types.map((type) => {
    if (type === "array") return "list of " + typeText(s.items);
    if (type === "object") {
      if (name) return name;
      return s.additionalProperties ? "object of " + typeText(s.additionalProperties) : "object";
    }
    return type;
  });
  return words.join(" or ") || "anything";
}

// bounds says what values are allowed.
function bounds(schema) {
  const s = resolve(schema);
  const out = [];
  if (s.minimum !== undefined) out.push("from " + s.minimum);
  if (s.maximum !== undefined) out.push("to " + s.maximum);
  if (s.minItems) out.push("at least " + s.minItems);
  if (s.default !== undefined) out.push("default " + JSON.stringify(s.default));
  return out.join(", ");
}

function allowed(schema) {
  const s = resolve(schema);
  for (const place of [s, s.items, ...(s.oneOf || [])]) {
    const values = place && resolve(place).enum;
    if (values) return values;
  }
  return [];
}

// inner is the object inside a schema whose fields are worth showing.
function inner(schema) {
  const s = resolve(schema);
  if (s.properties) return { name: refName(schema), schema: s };
  for (const next of [s.items, ...(s.anyOf || []), ...(s.oneOf || [])]) {
    const found = next && inner(next);
    if (found) return found;
  }
  return null;
}

function field(name, schema, required, seen) {
  const s = resolve(schema);
  const values = allowed(schema);
  const limits = bounds(schema);
  const item = h("li", {},
    h("div", { class: "head" },
      h("span", { class: "name" }, name),
      h("span", { class: "type" }, typeText(schema) + (limits ? ", " + limits : "")),
      required ? h("span", { class: "required" }, "required") : null),
    s.description ? h("div", { class: "text" }, s.description) : null,
    values.length ? h("div", { class: "text values" }, values.map((v) => h("code", {}, String(v)))) : null);
  const below = inner(schema);
  if (below && !seen.includes(below.name)) {
    item.append(h("details", {}, h("summary", {}, below.name || "fields"), fields(below.schema, [...seen, below.name])));
  }
  return item;
}

function fields(schema, seen) {
  const required = schema.required || [];
  const names = Object.keys(schema.properties || {});
  names.sort((a, b) => required.includes(b) - required.includes(a));
  return h("ul", { class: "fields" }, names.map((name) => field(name, schema.properties[name], required.includes(name), seen)));
}

// describe turns `code` in a description into code.
function describe(text) {
  return text.split(/(`[^`]+`)/).map((part) => (part.startsWith("`") ? h("code", {}, part.slice(1, -1)) : part));
}

// highlight colours JSON.
function highlight(text) {
  const out = document.createDocumentFragment();
  const token = /("(?:\\.|[^"\\])*")(\s*:)?|\b(true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
  let last = 0;
  for (const m of text.matchAll(token)) {
    out.append(text.slice(last, m.index));
    const kind = m[1] ? (m[2] ? "k" : "s") : m[3] ? "w" : "n";
    out.append(h("span", { class: kind }, m[1] || m[0]));
    if (m[2]) out.append(m[2]);
    last = m.index + m[0].length;
  }
  out.append(text.slice(last));
  return out;
}

// bodyOf is the type and the description of a request's body.
function bodyOf(op) {
  const content = Object.entries((op.requestBody && op.requestBody.content) || {});
  return content.length ? { type: content[0][0], ...content[0][1] } : null;
}

// exampleOf is what a body may look like.
function exampleOf(media) {
  if (typeof media.example === "string") return media.example.trimEnd();
  const example = { ...media.example };
  if (example.expert && expert) example.expert = expert;
  if (example.model === "base" && expert) example.model = expert;
  if (example.knowledge_id && collection) example.knowledge_id = collection;
  return JSON.stringify(example, null, 2);
}

// successOf is the status of a request that went well.
const successOf = (op) => Object.keys(op.responses).filter((s) => s < "300").sort()[0];

const quote = (s) => "'" + s.replaceAll("'", "'\\''") + "'";

// tryIt is the form that sends a request, with the curl line that does the same.
function tryIt(path, method, op) {
  const inputs = (op.parameters || []).map((p) => {
    const values = p.in === "query" && !String(p.schema.type).includes("array") ? allowed(p.schema) : [];
    const boolean = p.schema.type === "boolean";
    const control = values.length || boolean
      ? h("select", { required: p.required }, h("option", { value: "" }, ""), (boolean ? ["true", "false"] : values).map((v) => h("option", { value: v }, String(v))))
      : h("input", { type: "text", autocomplete: "off", spellcheck: "false", required: p.required });
    if (p.name === "q") control.value = "how do bees find their way back to the hive";
    if (p.name === "collection" && collection) control.value = collection;
    return { p, control };
  });
  const media = bodyOf(op);
  const body = media && h("textarea", { "aria-label": "Request body", spellcheck: "false" });
  if (body) {
    body.value = exampleOf(media);
    body.rows = Math.min(16, body.value.split("\n").length + 1);
  }
  const curl = h("pre", { class: "curl", tabindex: "0", "aria-label": "The same with curl" });
  const reply = h("div", { class: "reply", "aria-live": "polite" });
  const send = h("button", { type: "submit", class: "main" }, "Send");

  const request = () => {
    let url = base + path;
    const query = new URLSearchParams();
    const headers = {};
    for (const { p, control } of inputs) {
      if (control.value === "") continue;
      if (p.in === "path") url = url.replace("{" + p.name + "}", encodeURIComponent(control.value));
      if (p.in === "query") query.set(p.name, control.value);
      if (p.in === "header") headers[p.name] = control.value;
    }
    if ([...query].length) url += "?" + query.toString().replaceAll("%2C", ",");
    if (body) headers["Content-Type"] = media.type;
    return { url, headers };
  };
  const showCurl = () => {
    const { url, headers } = request();
    const implied = body ? "post" : "get";
    let line = "curl " + (method === implied ? "" : "-X " + method.toUpperCase() + " ") + quote(location.origin + url);
    for (const [name, value] of Object.entries(headers)) line += " \\\n  -H " + quote(name + ": " + value);
    if ($("key").value) line += ' \\\n  -H "X-API-Key: $KEY"';
    if (body) line += " \\\n  --data-binary " + quote(body.value.trim());
    curl.textContent = line;
  };

  const form = h("form", {
    class: "try",
    input: showCurl,
    keydown: (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit(); },
    submit: async (event) => {
      event.preventDefault();
      send.disabled = true;
      reply.replaceChildren();
      const { url, headers } = request();
      if ($("key").value) headers["X-API-Key"] = $("key").value;
      const began = performance.now();
      try {
        const response = await fetch(url, { method: method.toUpperCase(), headers, body: body ? body.value : undefined, cache: "no-store" });
        const text = await response.text();
        const took = performance.now() - began;
        reply.append(h("div", { class: "outcome" },
          h("b", { class: response.ok ? "good" : "bad" }, (response.status + " " + response.statusText).trim()),
          h("span", {}, took.toFixed(1) + " ms"),
          h("span", {}, new Blob([text]).size + " bytes"),
          h("span", { class: "timing" }, response.headers.get("Server-Timing") || "")));
        if (text) reply.append(h("pre", { tabindex: "0", "aria-label": "Answer" }, pretty(response, text)));
      } catch (error) {
        reply.append(h("p", { class: "failure" }, "No answer: " + error.message));
      }
      send.disabled = false;
      send.focus({ preventScroll: true });
      reply.scrollIntoView({ block: "nearest" });
    },
  },
  h("h3", {}, "Try it"),
  inputs.map(({ p, control }) => h("label", { class: "row" }, h("span", {}, p.name), control)),
  body,
  h("div", { class: "buttons" }, send,
    h("button", { type: "button", click: () => navigator.clipboard && navigator.clipboard.writeText(curl.textContent) }, "Copy curl"),
    h("span", { class: "hint" }, "Ctrl+Enter sends")),
  reply, curl);
  $("key").addEventListener("input", showCurl);
  showCurl();
  return form;
}

// pretty indents JSON; anything else is shown as it came.
function pretty(response, text) {
  if (!/json/.test(response.headers.get("Content-Type") || "")) return text.slice(0, 100000);
  try {
    JSON.parse(text);
  } catch {
    return highlight(text.slice(0, 200000)); // one JSON text a line
  }
  return highlight(indented(text).slice(0, 200000));
}

// indented is a JSON text over lines. Its numbers keep their digits, of which JSON.parse
// would round those of large ones.
function indented(text) {
  let out = "", depth = 0;
  const line = () => "\n" + "  ".repeat(depth);
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g) || [];
  tokens.forEach((token, i) => {
    const empty = /[[{]/.test(tokens[i - 1]) && /[\]}]/.test(token) && tokens[i - 1].length === 1;
    if (token === "}" || token === "]") {
      depth--;
      out += empty ? token : line() + token;
      return;
    }
    out += token === ":" ? ": " : token;
    if (token === "{" || token === "[") depth++;
    if (token === "," || ((token === "{" || token === "[") && !/^[\]}]$/.test(tokens[i + 1]))) out += line();
  });
  return out;
}

function scopeOf(op) {
  const needs = (op.security || []).find((s) => s.bearer);
  if (!needs) return "no key";
  return needs.bearer.length ? "scope " + needs.bearer.join(", ") : "any key";
}

function operation(path, method, op) {
  const id = "op-" + op.operationId;
  const media = bodyOf(op);
  const success = successOf(op);
  const good = op.responses[success];
  const goodMedia = good && good.content && Object.values(good.content)[0];
  const answer = goodMedia && inner(goodMedia.schema);
  const parameters = (op.parameters || []).map((p) => field(p.name, { ...p.schema, description: p.description }, p.required, []));
  const statuses = Object.keys(op.responses).filter((s) => s !== success).sort();
  return h("section", { class: "operation", id, "aria-labelledby": id + "-title" },
    h("header", {},
      h("span", { class: "method " + method }, method.toUpperCase()),
      h("span", { class: "path" }, path),
      h("span", { class: "needs" }, scopeOf(op))),
    h("h2", { id: id + "-title" }, op.summary),
    op.description ? h("p", {}, describe(op.description)) : null,
    h("div", { class: "parts" },
      h("div", {},
        parameters.length ? [h("h3", {}, "Parameters"), h("ul", { class: "fields" }, parameters)] : null,
        media ? [h("h3", {}, "Body"), ...bodyFields(media)] : null,
        answer ? [h("h3", {}, "Answer"), h("details", { open: !media && !parameters.length }, h("summary", {}, answer.name), fields(answer.schema, [answer.name]))] : null,
        h("h3", {}, "Other statuses"),
        h("details", {}, h("summary", {}, statuses.join(", ")),
          h("dl", { class: "statuses" }, statuses.map((s) => [h("dt", {}, s), h("dd", {}, describe(resolve(op.responses[s]).description || ""))])))),
      tryIt(path, method, op)));
}

// bodyFields are the fields of a body, or of each line of it.
function bodyFields(media) {
  const shape = inner(media.schema);
  return [
    media.type === "application/json" ? null : h("p", {}, h("code", {}, media.type)),
    shape ? fields(shape.schema, [shape.name]) : h("p", {}, describe(resolve(media.schema).description || typeText(media.schema))),
  ];
}

function draw() {
  $("version").textContent = "API " + contract.info.version;
  $("intro").append(...contract.info.description.split("\n\n").map((text) => h("p", {}, text)));
  const byTag = new Map(contract.tags.map((tag) => [tag.name, []]));
  for (const [path, item] of Object.entries(contract.paths)) {
    for (const method of ["get", "post", "put", "delete"]) {
      if (item[method]) byTag.get(item[method].tags[0]).push({ path, method, op: item[method] });
    }
  }
  $("loading").remove();
  for (const [tag, list] of byTag) {
    list.sort((a, b) => a.op["x-order"] - b.op["x-order"]);
    $("links").append(h("h2", {}, tag), h("ul", {}, list.map(({ path, method, op }) =>
      h("li", { "data-text": (method + " " + path + " " + op.summary).toLowerCase() },
        h("a", { href: "#op-" + op.operationId }, h("span", { class: "method " + method }, method.toUpperCase()), h("span", {}, path))))));
    $("operations").append(...list.map(({ path, method, op }) => operation(path, method, op)));
  }
  $("links").append(h("h2", {}, "errors"), h("ul", {}, h("li", { "data-text": "problems errors" }, h("a", { href: "#problems" }, "Problems"))));
  $("problem-rows").append(...contract["x-problems"].map((p) =>
    h("tr", { id: "problem-" + p.code }, h("td", {}, String(p.status)), h("td", {}, h("code", {}, p.code)), h("td", {}, p.title), h("td", {}, p.remedy))));
  $("problems").hidden = false;
  $("filter").addEventListener("input", filterLinks);
  window.addEventListener("hashchange", showTarget);
  showTarget();
}

// filterLinks leaves the links that have every word of the filter, and the
// headings that still have links.
function filterLinks() {
  const wanted = $("filter").value.toLowerCase().split(/\s+/);
  let found = 0;
  for (const list of $("links").querySelectorAll("ul")) {
    let here = 0;
    for (const li of list.children) {
      li.hidden = !wanted.every((word) => li.dataset.text.includes(word));
      if (!li.hidden) here++;
    }
    list.hidden = list.previousElementSibling.hidden = here === 0;
    found += here;
  }
  $("unmatched").hidden = found > 0;
  $("unmatched").textContent = found > 0 ? "" : "Nothing here is called “" + $("filter").value.trim() + "”.";
}

// showTarget goes to what the address names; it was not there yet when the
// browser looked for it.
function showTarget() {
  for (const old of document.querySelectorAll(".here")) old.classList.remove("here");
  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (!target) return;
  target.classList.add("here");
  target.scrollIntoView({ behavior: "instant", block: target.tagName === "TR" ? "center" : "start" });
}

async function showReady() {
  const badge = $("ready");
  try {
    const response = await fetch(base + "/readyz", { cache: "no-store" });
    const state = await response.json();
    badge.className = "ready " + (response.ok ? "good" : "bad");
    badge.textContent = response.ok
      ? "ready" + (state.passages !== undefined ? ", " + state.passages.toLocaleString("en") + " passages" : "") + (state.warnings ? ", " + state.warnings.length + " warning(s)" : "")
      : state.detail;
  } catch {
    badge.className = "ready bad";
    badge.textContent = "no answer";
  }
}

async function load() {
  try {
    const response = await fetch(base + "/openapi.json");
    if (!response.ok) throw new Error((await response.json()).detail || String(response.status));
    contract = await response.json();
  } catch (error) {
    $("loading").className = "failure";
    $("loading").textContent = "The contract could not be loaded: " + error.message;
    return;
  }
  try {
    expert = (await (await fetch(base + "/v1/experts")).json()).experts[0].name;
  } catch {
    // Without experts, or without a key, the examples keep their own name.
  }
  try {
    collection = (await (await fetch(base + "/v1/vector_stores")).json()).data[0].id;
  } catch {
    // As above.
  }
  draw();
}

load();
showReady();
