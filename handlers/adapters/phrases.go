package adapters

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.org/conclave/internal/languages"
	"example.org/conclave/internal/talk"
	"example.org/conclave/search/reply"
)

// phrases are what a chat says in one language about itself and its collection. In each, the verbs are filled in the
// order of the names in its comment.
type phrases struct {
	welcome, goodbye string
	greeting         string // collection, size, examples
	aside            string // collection, examples
	who              string // collection, size, examples
	examples         string // titles; it stands behind a sentence
	has              string // collection, size
	some             string // number of documents that are listed
	unknownAge       string // collection, size
	first            string // number of documents that are looked at
	sameDay          string // day
	ages             string // newest document, its day, oldest document, its day

	onePassage, passages   string // number
	oneDocument, documents string // number
	moreThan               string // documents
	with                   string // documents, passages
	and                    string // between the last two titles of a list
	comma                  string // between the others
	quotes                 string // title
	day                    string // layout of package time

	notFound string // collection
	doubtful string // collection
	nearest  string // collection
	// What stands behind a sentence, before the full stop of the next one.
	unsupportedMark, uncitedMark string
	unsupportedAll               string // behind an answer
	unsupportedRest              string // before what a model wrote
	sources                      string // before their list
	page                         string // number
}

// phrasesOf has the phrases of each of talk.Languages.
var phrasesOf = map[string]*phrases{
	"en": {
		welcome: "You are welcome.", goodbye: "Goodbye.",
		greeting: "Hello. I answer questions from %s, which has %s.%s",
		aside:    "I answer questions from %s.%s",
		who: "I am a program that answers questions from %s, which has %s. " +
			"I say where each answer stands, and I say so where I find none.%s",
		examples: " Ask about %s, for example.", has: "%s has %s.", some: "These are %d of them.",
		unknownAge: "%s has %s. It is not known when they were changed last.",
		first:      " Of the first %d:", sameDay: " All with a date were changed on %s.",
		ages:       " The newest is %s, changed on %s; the oldest is %s, changed on %s.",
		onePassage: "%s passage", passages: "%s passages", oneDocument: "%s document", documents: "%s documents",
		moreThan: "more than %s", with: "%s with %s", and: " and ", comma: ", ", quotes: "“%s”", day: "2 January 2006",
		notFound:        "I find no answer to this in %s.",
		doubtful:        "It is doubtful that %s answers this.",
		nearest:         "This comes closest in %s:",
		unsupportedMark: " (not in the passages that are cited)",
		uncitedMark:     " (no source)",
		unsupportedAll:  "No passage supports this answer.",
		unsupportedRest: "A model wrote this, which no passage supports:",
		sources:         "Sources:",
		page:            "page %d",
	},
	"de": {
		welcome: "Gern geschehen.", goodbye: "Auf Wiedersehen.",
		greeting: "Hallo. Ich beantworte Fragen aus %s mit %s.%s",
		aside:    "Ich beantworte Fragen aus %s.%s",
		who: "Ich bin ein Programm, das Fragen aus %s mit %s beantwortet. " +
			"Ich sage, wo jede Antwort steht, und sage es auch, wenn ich keine finde.%s",
		examples: " Fragen Sie zum Beispiel nach %s.", has: "%s hat %s.", some: "Das sind %d davon.",
		unknownAge: "%s hat %s. Wann sie zuletzt geändert wurden, ist nicht bekannt.",
		first:      " Von den ersten %d:", sameDay: " Alle mit Datum wurden am %s geändert.",
		ages:       " Das neueste ist %s, geändert am %s; das älteste ist %s, geändert am %s.",
		onePassage: "%s Passage", passages: "%s Passagen", oneDocument: "%s Dokument", documents: "%s Dokumente",
		moreThan: "mehr als %s", with: "%s (%s)", and: " und ", comma: ", ", quotes: "„%s“", day: "2.1.2006",
		notFound:        "Dazu finde ich in %s keine Antwort.",
		doubtful:        "Es ist zweifelhaft, ob %s das beantwortet.",
		nearest:         "Am nächsten kommt dem in %s:",
		unsupportedMark: " (nicht in den genannten Passagen)",
		uncitedMark:     " (ohne Quelle)",
		unsupportedAll:  "Keine Passage belegt diese Antwort.",
		unsupportedRest: "Das hat ein Modell geschrieben; keine Passage belegt es:",
		sources:         "Quellen:",
		page:            "Seite %d",
	},
	"es": {
		welcome: "De nada.", goodbye: "Adiós.",
		greeting: "Hola. Respondo preguntas a partir de %s, que tiene %s.%s",
		aside:    "Respondo preguntas a partir de %s.%s",
		who: "Soy un programa que responde preguntas a partir de %s, que tiene %s. " +
			"Digo dónde está cada respuesta, y también cuándo no encuentro ninguna.%s",
		examples: " Pregunte por ejemplo por %s.", has: "%s tiene %s.", some: "Estos son %d de ellos.",
		unknownAge: "%s tiene %s. No se sabe cuándo se cambiaron por última vez.",
		first:      " De los primeros %d:", sameDay: " Todos los que tienen fecha se cambiaron el %s.",
		ages:       " El más nuevo es %s, cambiado el %s; el más antiguo es %s, cambiado el %s.",
		onePassage: "%s pasaje", passages: "%s pasajes", oneDocument: "%s documento", documents: "%s documentos",
		moreThan: "más de %s", with: "%s con %s", and: " y ", comma: ", ", quotes: "«%s»", day: "2/1/2006",
		notFound:        "No encuentro respuesta a esto en %s.",
		doubtful:        "Es dudoso que %s responda a esto.",
		nearest:         "Lo más cercano en %s es:",
		unsupportedMark: " (no está en los pasajes citados)",
		uncitedMark:     " (sin fuente)",
		unsupportedAll:  "Ningún pasaje respalda esta respuesta.",
		unsupportedRest: "Esto lo escribió un modelo y ningún pasaje lo respalda:",
		sources:         "Fuentes:",
		page:            "página %d",
	},
	"fr": {
		welcome: "Je vous en prie.", goodbye: "Au revoir.",
		greeting: "Bonjour. Je réponds aux questions à partir de %s, qui a %s.%s",
		aside:    "Je réponds aux questions à partir de %s.%s",
		who: "Je suis un programme qui répond aux questions à partir de %s, qui a %s. " +
			"Je dis où se trouve chaque réponse, et je le dis aussi quand je n’en trouve pas.%s",
		examples: " Demandez par exemple %s.", has: "%s a %s.", some: "En voici %d.",
		unknownAge: "%s a %s. On ne sait pas quand ils ont été modifiés pour la dernière fois.",
		first:      " Parmi les %d premiers :", sameDay: " Tous ceux qui ont une date ont été modifiés le %s.",
		ages:       " Le plus récent est %s, modifié le %s ; le plus ancien est %s, modifié le %s.",
		onePassage: "%s passage", passages: "%s passages", oneDocument: "%s document", documents: "%s documents",
		moreThan: "plus de %s", with: "%s avec %s", and: " et ", comma: ", ", quotes: "« %s »", day: "02/01/2006",
		notFound:        "Je ne trouve pas de réponse à cela dans %s.",
		doubtful:        "Il n’est pas sûr que %s réponde à cela.",
		nearest:         "Ce qui s’en approche le plus dans %s :",
		unsupportedMark: " (absent des passages cités)",
		uncitedMark:     " (sans source)",
		unsupportedAll:  "Aucun passage n’appuie cette réponse.",
		unsupportedRest: "Un modèle a écrit ceci, qu’aucun passage n’appuie :",
		sources:         "Sources :",
		page:            "page %d",
	},
	"ja": {
		welcome: "どういたしまして。", goodbye: "さようなら。",
		greeting: "こんにちは。%s（%s）から質問に答えます。%s",
		aside:    "%s から質問に答えます。%s",
		who:      "%s（%s）から質問に答えるプログラムです。各回答の出典を示し、見つからないときはそう言います。%s",
		examples: "たとえば %s について質問してください。", has: "%s には %s があります。", some: "これはそのうちの %d 件です。",
		unknownAge: "%s には %s があります。最後に変更された日は分かりません。",
		first:      "最初の %d 件のうち：", sameDay: "日付のあるものはすべて %s に変更されました。",
		ages:       "最も新しいのは %s（%s に変更）、最も古いのは %s（%s に変更）です。",
		onePassage: "%s 箇所", passages: "%s 箇所", oneDocument: "%s 件の文書", documents: "%s 件の文書",
		moreThan: "%s 以上", with: "%s（%s）", and: "、", comma: "、", quotes: "「%s」", day: "2006年1月2日",
		notFound:        "%s にはこの質問への回答が見つかりません。",
		doubtful:        "%s がこの質問に答えているかどうかは疑わしいです。",
		nearest:         "%s の中で最も近いのは次の箇所です：",
		unsupportedMark: "（引用した箇所にはありません）",
		uncitedMark:     "（出典なし）",
		unsupportedAll:  "この回答を裏付ける箇所はありません。",
		unsupportedRest: "次の文はモデルが書いたもので、裏付ける箇所はありません：",
		sources:         "出典：",
		page:            "%d ページ",
	},
	"zh": {
		welcome: "不客气。", goodbye: "再见。",
		greeting: "您好。我根据 %s（%s）回答问题。%s",
		aside:    "我根据 %s 回答问题。%s",
		who:      "我是一个根据 %s（%s）回答问题的程序。我会说明每个回答的出处，找不到时也会说明。%s",
		examples: "例如，您可以问 %s。", has: "%s 有 %s。", some: "以上是其中的 %d 份。",
		unknownAge: "%s 有 %s。不知道最后更改的时间。",
		first:      "前 %d 份中：", sameDay: "有日期的都在 %s 更改。",
		ages:       "最新的是 %s，更改于 %s；最旧的是 %s，更改于 %s。",
		onePassage: "%s 个段落", passages: "%s 个段落", oneDocument: "%s 份文档", documents: "%s 份文档",
		moreThan: "超过 %s", with: "%s（%s）", and: "和", comma: "、", quotes: "“%s”", day: "2006年1月2日",
		notFound:        "在 %s 中找不到这个问题的答案。",
		doubtful:        "%s 是否回答了这个问题，还不能确定。",
		nearest:         "%s 中最接近的是：",
		unsupportedMark: "（所引段落中没有）",
		uncitedMark:     "（没有出处）",
		unsupportedAll:  "没有段落支持这个回答。",
		unsupportedRest: "以下内容由模型写成，没有段落支持：",
		sources:         "出处：",
		page:            "第 %d 页",
	},
}

// phrasesIn returns the phrases of a language, English for "" and for one that is not among talk.Languages.
func phrasesIn(language string) *phrases {
	if p := phrasesOf[language]; p != nil {
		return p
	}
	return phrasesOf[talk.Languages[0]]
}

// phrasesFor returns the phrases of the language of a message, English if there are none. What is found for it tells
// the language of a message whose words tell none.
func phrasesFor(message string, found []reply.Result) *phrases {
	texts := make([]string, len(found))
	for i, x := range found {
		texts[i] = languages.TellingPart(x.Title, x.Text)
	}
	return phrasesIn(languages.OfQuestion(message, languages.Of(texts)))
}

// countPassages returns so many passages in words, such as "3 passages".
func (p *phrases) countPassages(n int) string { return counted(n, p.onePassage, p.passages) }

// countDocuments returns so many documents in words, such as "1 document".
func (p *phrases) countDocuments(n int) string { return counted(n, p.oneDocument, p.documents) }

// counted returns one, filled with 1, if n is 1, and else many, filled with n.
func counted(n int, one, many string) string {
	if n == 1 {
		many = one
	}
	return fmt.Sprintf(many, strconv.Itoa(n))
}

// list returns names as a list, such as "A, B and C"; "" if there are none.
func (p *phrases) list(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], p.comma) + p.and + names[last]
}

// dayOf returns a day as the language writes it, in UTC.
func (p *phrases) dayOf(t time.Time) string { return t.UTC().Format(p.day) }
