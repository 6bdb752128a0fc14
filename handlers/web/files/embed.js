// A search box with answers for a page of somebody else's:
//
//     <script src="https://conclave.example.org/embed.js" data-collection="handbook" data-key="…" async></script>
//
// It stands where the script stands, or in the element that data-target selects. data-key is the key of the site,
// data-label what the box is called, data-results how many places it shows (3). It sets no cookies and keeps nothing. It
// speaks the language of the page's lang attribute, or else of the browser, if that is one of those below.
(() => {
  const script = document.currentScript;
  const base = new URL(".", script.src);
  const spoken = {
    en: ["Ask", "Search", "This may not be answered here.", "This is not answered here.", ", page {}", "The search does not answer at the moment.", "Many people ask at the moment. Please try again in a few seconds."],
    de: ["Fragen", "Suchen", "Das steht hier vielleicht nicht.", "Das steht hier nicht.", ", Seite {}", "Die Suche antwortet gerade nicht.", "Gerade fragen viele. Bitte versuchen Sie es in einigen Sekunden noch einmal."],
    es: ["Preguntar", "Buscar", "Puede que la respuesta no esté aquí.", "La respuesta no está aquí.", ", página {}", "La búsqueda no responde en este momento.", "Muchas personas preguntan ahora. Inténtelo de nuevo en unos segundos."],
    fr: ["Demander", "Chercher", "La réponse n’est peut-être pas ici.", "La réponse n’est pas ici.", ", page {}", "La recherche ne répond pas pour le moment.", "Beaucoup de personnes posent des questions. Réessayez dans quelques secondes."],
    ja: ["質問する", "検索", "答えはここにないかもしれません。", "答えはここにありません。", "、{} ページ", "検索は今応答していません。", "現在混み合っています。数秒後にもう一度お試しください。"],
    zh: ["提问", "搜索", "这里可能没有答案。", "这里没有答案。", "，第 {} 页", "搜索目前没有响应。", "目前提问的人很多，请几秒后再试。"],
  };
  const languages = [script.closest("[lang]")?.lang, ...navigator.languages].filter(Boolean).map((one) => one.split("-")[0].toLowerCase());
  const [toAsk, toSearch, doubtful, not_found, onPage, silent, busy] = spoken[languages.find((one) => Object.hasOwn(spoken, one)) ?? "en"];
  const { collection, key, target, label = toAsk, results = "3" } = script.dataset;
  const verdicts = { doubtful, not_found };

  const style = new CSSStyleSheet();
  style.replaceSync(`
    :host { display: block; font: inherit; color: inherit; text-align: start }
    form { display: flex; gap: .5em }
    input { flex: 1; min-width: 0 }
    input, button { font: inherit; padding: .5em .7em; border: 1px solid #8886; border-radius: .4em; background: Canvas; color: CanvasText }
    button { cursor: pointer }
    :focus-visible { outline: 2px solid Highlight; outline-offset: 1px }
    p, blockquote, ol { margin: .7em 0 }
    blockquote { padding-inline-start: .8em; border-inline-start: 3px solid #8886 }
    .words { font-size: 1.25em; font-weight: 600 }
    .soft { opacity: .75; font-size: .9em }
    mark { background: #fd06; color: inherit }
    table { border-collapse: collapse }
    th, td { padding: .2em .6em; border: 1px solid #8886; text-align: start }
    ol { padding-inline-start: 1.4em }
    li { margin: .5em 0 }
  `);

  // h makes an element with attributes and children; texts stay texts.
  function h(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (typeof value === "function") element.addEventListener(name, value);
      else if (value !== undefined && value !== false) element.setAttribute(name, value);
    }
    element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
    return element;
  }

  // address returns where a document is if that is a page of the web; "" if not.
  function address(result) {
    const source = String(result.metadata?.url || result.link || result.document?.source || "");
    return /^https?:\/\//.test(source) ? source : "";
  }

  const name = (result) => result.title || result.document?.title || result.id;
  const short = (text, most) => (text.length > most ? `${text.slice(0, text.lastIndexOf(" ", most))} …` : text);

  // sentence shows the sentence of a passage around the marked words, which count in UTF-16.
  function sentence(text, { start, end }) {
    const from = Math.max(text.lastIndexOf("\n", start - 1), text.lastIndexOf(". ", start - 1) + 1) + 1;
    const stops = ["\n", ". "].map((stop) => text.indexOf(stop, end)).filter((at) => at >= 0);
    const to = Math.min(text.length, ...stops.map((at) => at + 1));
    return [text.slice(from, start), h("mark", null, text.slice(start, end)), text.slice(end, to)];
  }

  // answer shows the marked words, the row or the sentence that answers; null if nothing was marked.
  function answer(found) {
    const first = found.answers?.[0];
    const of = first && found.results.find((result) => result.id === first.passage);
    if (!of) return null;
    const { row } = first;
    return [
      first.headline && h("p", { class: "words" }, first.text),
      row
        ? h(
            "table",
            null,
            row.header?.length > 0 && h("tr", null, row.header.map((cell) => h("th", { scope: "col" }, cell))),
            h("tr", null, row.cells.map((cell, at) => h("td", null, at === row.column ? h("mark", null, cell) : cell))),
          )
        : h("blockquote", null, sentence(of.text, first)),
    ];
  }

  // place shows where something stands, as a link if that is on the web.
  function place(result) {
    const href = address(result);
    const page = result.page ? onPage.replace("{}", result.page) : "";
    return [href ? h("a", { href, rel: "noopener" }, name(result)) : name(result), page];
  }

  function show(found) {
    if (found.verdict === "not_found" || found.results.length === 0) return [h("p", { role: "status" }, verdicts.not_found)];
    const said = answer(found);
    return [
      verdicts[found.verdict] && h("p", { class: "soft" }, verdicts[found.verdict]),
      said,
      h(
        "ol",
        null,
        found.results.map((result) => h("li", null, place(result), h("div", { class: "soft" }, short(result.text, 240)))),
      ),
    ];
  }

  const problems = {
    401: "This search box has no key that the server knows.",
    403: "This search box may not ask here.",
    429: busy,
  };

  // ask returns what the server finds; a server without a model that marks words is asked for passages alone.
  async function ask(question, answer = true) {
    const path = collection ? `v1/collections/${encodeURIComponent(collection)}/search` : "v1/search";
    const body = { question, k: Number(results), answer, offsets: "utf16", fields: ["text", "title", "document", "metadata"] };
    const response = await fetch(new URL(path, base), {
      method: "POST",
      credentials: "omit",
      referrerPolicy: "no-referrer",
      headers: { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) },
      body: JSON.stringify(body),
    });
    if (response.ok) return response.json();
    const problem = await response.json().catch(() => ({}));
    if (problem.errors?.some((error) => error.pointer === "/answer")) return ask(question, false);
    throw new Error(problems[response.status] || problem.detail || `The server answered ${response.status}.`);
  }

  let asked = 0; // an answer to an earlier question comes too late
  const box = h("input", { type: "search", name: "q", "aria-label": label, placeholder: label, autocomplete: "off", maxlength: 8000 });
  const out = h("div", { "aria-live": "polite" });
  const form = h("form", { role: "search", submit }, box, h("button", { type: "submit" }, toSearch));

  async function submit(event) {
    event.preventDefault();
    const question = box.value.trim();
    if (!question) return;
    const mine = ++asked;
    out.setAttribute("aria-busy", "true");
    let shown;
    try {
      shown = show(await ask(question));
    } catch (error) {
      const unreachable = error instanceof TypeError; // of fetch
      shown = [h("p", { role: "alert" }, unreachable ? silent : error.message)];
    }
    if (mine !== asked) return;
    out.removeAttribute("aria-busy");
    out.replaceChildren(...h("div", null, shown).childNodes);
  }

  const host = h("div", { class: "conclave-search" });
  const shadow = host.attachShadow({ mode: "open" });
  shadow.adoptedStyleSheets = [style];
  shadow.append(form, out);
  const within = target && document.querySelector(target);
  if (within) within.append(host);
  else script.after(host);
})();
