package sources

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/languages"
	"example.org/conclave/search/internal/snapshot"
	"example.org/conclave/search/learned"
)

// tellLanguages sets the languages of the question and of the collection, and p.unread: the experts that do not read
// these (Findings.Reads), each with the reason for users. p.unread stays nil if no other expert is asked, so that the
// question is not left without one. It does nothing if no expert is restricted to languages, or Foreign.
func (p *Findings) tellLanguages(ctx context.Context, view *snapshot.PinnedView) {
	restricted, matters := p.Panel.languagesOf(p.Inquiry.Wanted)
	if !matters {
		return
	}
	if p.Panel.words != nil {
		p.languages = p.Panel.words.Languages(ctx, view)
	}
	known := p.languages
	if len(known) == 0 {
		known = restricted
	}
	p.language = languages.OfQuestion(p.Inquiry.Question, known)
	unread := map[int]string{}
	others := false
	for _, at := range p.Inquiry.Wanted {
		x := p.Panel.ExpertOf(at)
		switch {
		case x == nil: // it counts words
		case !p.Reads(x.Languages):
			unread[at] = "it does not read " + p.unreadBy(x.Languages)
		case at < len(p.Panel.Experts):
			others = true
		}
	}
	if others {
		p.unread = unread
	}
}

// KnowsSpelling reports whether the misspelt words of a question can be told from others. The encoders list words of
// English alone, so in a collection that is in other languages, too, only those of an English question can, and only
// by an encoder that is not for many languages: of 492 questions in German, French and Spanish and 164 in English
// without a mistake, 91 and 34 had a right word that neither the passages nor that encoder knew.
func (p *Panel) KnowsSpelling(ctx context.Context, view *snapshot.PinnedView, question string) bool {
	if p.words == nil {
		return true
	}
	codes := p.words.Languages(ctx, view)
	if !slices.ContainsFunc(codes, func(code string) bool { return code != shippedLanguage }) {
		return true
	}
	if p.Generalist != nil && p.Generalist.Languages == nil {
		return false
	}
	return languages.OfQuestion(question, codes) == shippedLanguage
}

// languagesOf returns the languages that the first expert with a restriction reads, among these sources (indexes of
// Sources); nil if no expert is restricted. matters is true if one is, or is Foreign, so that the language of a
// question matters.
func (p *Panel) languagesOf(wanted []int) (restricted learned.Languages, matters bool) {
	for _, at := range wanted {
		x := p.ExpertOf(at)
		if x == nil {
			continue
		}
		matters = matters || x.Foreign || x.Languages != nil
		if restricted == nil {
			restricted = x.Languages
		}
	}
	return restricted, matters
}

// Reads reports whether a model that reads the languages by can read the question, and at least one language of the
// collection. Languages that are not known count as read.
func (p *Findings) Reads(by learned.Languages) bool {
	return by.Reads(p.language) && by.ReadsAny(p.languages)
}

// ReadsPassage reports whether a model that reads the languages by can read a passage. It is true in a collection in
// one language, and for a passage of which it is not clear in which of the collection's it is.
func (p *Findings) ReadsPassage(by learned.Languages, passage *corpus.Passage) bool {
	if by == nil || len(p.languages) < 2 {
		return true
	}
	code := languages.OfPassage(passage.Title, passage.Text)
	return !slices.Contains(p.languages, code) || by.Reads(code)
}

// OwnLanguage reports whether the question is in one of the collection's languages; false if these are not known.
func (p *Findings) OwnLanguage() bool { return slices.Contains(p.languages, p.language) }

// KnowsLanguages reports whether the languages of the question and of the collection are known.
func (p *Findings) KnowsLanguages() bool { return p.language != "" && len(p.languages) > 0 }

// Language returns the code of the question's language; "" if it is not known.
func (p *Findings) Language() string { return p.language }

// LanguageNames returns the names of the question's language and of the collection's most frequent one, for users. They
// must be known (KnowsLanguages).
func (p *Findings) LanguageNames() (question, passages string) {
	return languages.NameOf(p.language), languages.NameOf(p.languages[0])
}

// HasFunctionWords reports whether the function words of the question's language are known, as those of languages that
// are written with spaces between words are.
func (p *Findings) HasFunctionWords() bool { return languages.FunctionWordsOf(p.language) != nil }

// unreadBy returns the English name of the language that a model with the languages by cannot read: that of the
// question or, if it reads this one, the collection's most frequent.
func (p *Findings) unreadBy(by learned.Languages) string {
	if by.Reads(p.language) && len(p.languages) > 0 {
		return languages.NameOf(p.languages[0])
	}
	return languages.NameOf(p.language)
}

// UnreadNote returns a note for users if none of the experts that were asked reads the question and the passages, such
// as German ones by the experts for English; "" if one does, or none was asked.
func (p *Findings) UnreadNote() string {
	var by *learned.Expert
	for _, at := range p.Inquiry.Wanted {
		if at >= len(p.Panel.Experts) || p.Inquiry.Unused[at] != "" {
			continue
		}
		by = p.Panel.Experts[at].Model
		if p.Reads(by.Languages) {
			return ""
		}
	}
	if by == nil {
		return ""
	}
	return fmt.Sprintf("%s does not read %s, so that passages were found by equal words more than by meaning; "+
		"an expert for many languages can be added", by.Name, p.unreadBy(by.Languages))
}

// unusedReasons returns the sources of an inquiry that are not asked, each with the reason for users: no method uses it
// (Inquiry.Unused), it does not read the question, or another source of late interaction takes part.
func (p *Findings) unusedReasons(q *Inquiry) map[int]string {
	reasons := q.Unused
	if !q.AnyLanguage {
		reasons = withReasons(reasons, p.unread)
	}
	if q.AllLate {
		return reasons
	}
	return withReasons(reasons, p.Panel.otherLate(q.Wanted, reasons))
}

// withReasons returns reasons with those of more added; reasons itself if more is empty. It changes neither.
func withReasons(reasons, more map[int]string) map[int]string {
	if len(more) == 0 {
		return reasons
	}
	all := maps.Clone(more)
	for at, reason := range reasons {
		if reason != "" {
			all[at] = reason
		}
	}
	return all
}

// IsUnread reports whether an expert was left out since it does not read the question or the passages; false for nil.
func (p *Findings) IsUnread(x *Dense) bool {
	return x != nil && !p.Inquiry.AnyLanguage && p.unread[x.number] != ""
}

// Generalist returns the first expert without a domain that reads the question (Inquiry.AnyLanguage), whose vocabulary
// tells how much of it can be read; nil if there is none.
func (p *Findings) Generalist() *learned.Expert {
	for at, x := range p.Panel.Experts {
		if len(x.Model.Representatives) == 0 && (p.Inquiry.AnyLanguage || p.unread[at] == "") {
			return x.Model
		}
	}
	return nil
}

// withoutFunctionWords returns a text without the function words of a language, whose weight in an index of another
// language's words would be that of rare words; the text itself if it has no others, or for English and a language that
// is not known.
func withoutFunctionWords(text, code string) string {
	function := languages.FunctionWordsOf(code)
	if function == nil || code == shippedLanguage {
		return text
	}
	words := slices.DeleteFunc(strings.Fields(text), func(word string) bool {
		bare := strings.TrimFunc(word, unicode.IsPunct)
		return function.Has(bare) || languages.Opens(code, bare)
	})
	if len(words) == 0 {
		return text
	}
	return strings.Join(words, " ")
}

// shippedLanguage is the code of the language by which words are analysed if no other one is chosen.
const shippedLanguage = "en"
