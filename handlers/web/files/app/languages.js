// Languages: which one a text is in, and how it asks. A language is told by its script or by its
// commonest words, of which a text of some sentences has several.
const scripts = [
  ["Greek", /\p{Script=Greek}/u],
  ["Russian or a neighbour of it", /\p{Script=Cyrillic}/u],
  ["Arabic", /\p{Script=Arabic}/u],
  ["Hebrew", /\p{Script=Hebrew}/u],
  ["Hindi or a neighbour of it", /\p{Script=Devanagari}/u],
  ["Thai", /\p{Script=Thai}/u],
  ["Korean", /\p{Script=Hangul}/u],
  ["Japanese", /[\p{Script=Hiragana}\p{Script=Katakana}]/u],
  ["Chinese", /\p{Script=Han}/u],
];

// common are words that texts of a language have most, persons those that stand for one; articles
// begin a subject, of which what, who and about ask, and begins is how a question begins.
const latin = [
  {
    name: "English",
    common: "the of and to in is that it was for with as his on be at by had are but from have an they which you were their one all there been if more when will would who so no",
    articles: ["the", "a", "an"],
    persons: "he she his her him",
    what: (x) => `What is ${x}?`,
    who: (x) => `Who was ${x}?`,
    about: (x) => `What is known about ${x}?`,
    begins: /^(what|who|whom|whose|which|when|where|why|how|is|are|was|were|do|does|did|can|could|should|may|must)\b/i,
  },
  {
    name: "German",
    common: "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er hat dass sie nach wird bei einer um am sind noch wie einem über",
    articles: ["der", "die", "das", "ein", "eine"],
    persons: "er sie seine ihre ihn",
    what: (x) => `Was ist ${x}?`,
    who: (x) => `Wer war ${x}?`,
    about: (x) => `Was ist über ${x} bekannt?`,
    begins: /^(was|wer|wen|wem|wessen|welche[rsmn]?|wann|wo|woher|wohin|warum|wie|ist|sind|kann|darf|muss)\b/i,
  },
  {
    name: "French",
    common: "de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont avec son aux d'un cette ont ses mais comme on tout nous sa elle",
    articles: ["le", "la", "les", "un", "une", "l’", "l'"],
    persons: "il elle lui",
    what: (x) => `Qu’est-ce que ${x} ?`,
    who: (x) => `Qui était ${x} ?`,
    about: (x) => `Que sait-on sur ${x} ?`,
    begins: /^(que|qui|quoi|quel|quelle|quels|quelles|quand|où|pourquoi|comment|combien|est-ce)\b/i,
  },
  {
    name: "Spanish",
    common: "de la que el en y a los se del las un por con no una su para es al lo como más o pero sus le ha me si sin sobre este ya entre cuando todo esta ser son dos",
    articles: ["el", "la", "los", "las", "un", "una"],
    persons: "él ella",
    what: (x) => `¿Qué es ${x}?`,
    who: (x) => `¿Quién fue ${x}?`,
    about: (x) => `¿Qué se sabe sobre ${x}?`,
    begins: /^¿/,
  },
  {
    name: "Italian",
    common: "di e il la che in a per un del una non sono da le della i si con al come è dei nel più lo gli anche alla o ma su se delle ha dal questo loro",
    articles: ["il", "lo", "la", "i", "gli", "le", "un", "una", "l’", "l'"],
    persons: "egli lui lei ella",
    what: (x) => `Che cos’è ${x}?`,
    who: (x) => `Chi era ${x}?`,
    about: (x) => `Che cosa si sa di ${x}?`,
    begins: /^(che|chi|cosa|quale|quali|quando|dove|perché|come|quanto)\b/i,
  },
  {
    name: "Dutch",
    common: "de van het een en in is dat op te zijn voor met die niet aan er om ook als dan maar bij of uit nog worden door naar heeft tot ze wordt over zich wat deze",
    articles: ["de", "het", "een"],
    persons: "hij zij",
    what: (x) => `Wat is ${x}?`,
    who: (x) => `Wie was ${x}?`,
    about: (x) => `Wat is bekend over ${x}?`,
    begins: /^(wat|wie|welke|wanneer|waar|waarom|hoe|is|zijn|kan|mag|moet)\b/i,
  },
  {
    name: "Portuguese",
    common: "de a o que e do da em um para com não uma os no se na por mais as dos como mas ao ele das à seu sua ou quando muito nos já eu também só pelo pela até isso",
    articles: ["o", "a", "os", "as", "um", "uma"],
    persons: "ele ela",
    what: (x) => `O que é ${x}?`,
    who: (x) => `Quem foi ${x}?`,
    about: (x) => `O que se sabe sobre ${x}?`,
    begins: /^(o que|que|quem|qual|quais|quando|onde|por que|como|quanto)\b/i,
  },
].map((one) => ({ ...one, common: new Set(one.common.split(" ")), persons: new Set(one.persons.split(" ")) }));

// isFunctionWord says whether a word is one of those that only hold sentences of a language together, or ask.
export const isFunctionWord = (word, language) =>
  Boolean(language?.common?.has(word)) || (language?.begins?.exec(word)?.[0] ?? "") === word;

// leastCommon is the share of a text's words that are common ones of its language.
const leastCommon = 0.12;

// languageOf returns the language of a text with how it asks, where that is known; undefined where
// the text does not tell.
export function languageOf(text) {
  const letters = text.match(/\p{L}/gu)?.length || 0;
  for (const [name, script] of scripts) {
    const own = text.match(new RegExp(script.source, "gu"))?.length || 0;
    // Japanese writes its words in Chinese letters between its own.
    if (own > letters * (name === "Japanese" ? 0.1 : 0.5)) return { name };
  }
  const words = text.toLowerCase().match(/\p{L}+/gu) || [];
  const shares = latin.map((one) => ({ one, share: words.filter((word) => one.common.has(word)).length / words.length }));
  const [best] = shares.toSorted((a, b) => b.share - a.share);
  return words.length > 5 && best.share >= leastCommon ? best.one : undefined;
}
