package answering

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/talk"
	"example.org/conclave/search/internal/content"
	"example.org/conclave/search/internal/sources"
	"example.org/conclave/search/reply"
)

// commonWord is the rarity (fusion.Key.Rarity) below which a word is common: thirty of 360 passages have such a word,
// or 140 of 3,600. A question of one common word does not say which of them is meant.
const commonWord = .4

// longestPlural is the number of letters that the plural of a word of up to leastShared letters may add: two in foxes.
const longestPlural = 2

// asksNothing returns a note for users if passages cannot answer the question as it is asked; "" if they can. That is
// so if
//
//  1. it greets, thanks, or asks about the collection itself ("how many documents are there");
//  2. it has only function words ("where is it");
//  3. it is a single common word or a short number, and the first passage has it in no title or heading.
//
// In a conversation only the first applies. first is the ranking. If the first passage cannot be read, it returns "".
func (a *Answer) asksNothing(ctx context.Context, first []fusion.Item) string {
	if kind, _ := talk.Classify(a.Found.Inquiry.Question, len(a.Found.Inquiry.Before) > 0); kind != talk.Question {
		return "this greets, thanks, or asks about the collection itself: passages do not answer it"
	}
	words := strings.Fields(a.Found.Inquiry.Question)
	if len(a.Found.Inquiry.Before) > 0 || len(words) == 0 || len(first) == 0 {
		return ""
	}
	if len(words) > 1 {
		if !a.Rules.Words.MayCarryNothing(a.Found.Inquiry.Question) {
			return ""
		}
		function := a.Rules.Words.FunctionWordsOf(ctx, a.Found.View, a.Found.Inquiry.Question)
		for _, word := range content.WordsIn(a.Found.Inquiry.Question) {
			if !slices.Contains(function, word.Lower) {
				return ""
			}
		}
		return "the question has only words that every text has, and does not say what it is about"
	}
	at := slices.IndexFunc(
		a.Findings, func(f sources.Finding) bool { return f.Status == reply.StatusOK && f.Keys != nil },
	)
	if at < 0 || len(a.Findings[at].Keys.List) != 1 {
		return ""
	}
	word := content.BareWord(words[0])
	number := IsNumber(word)
	if !number && a.Findings[at].Keys.List[0].Rarity >= commonWord {
		return ""
	}
	_, passages, err := a.Texts(ctx, first[:1])
	if err != nil || len(passages) == 0 {
		return ""
	}
	place := reply.PlaceOf(&passages[0])
	switch {
	case TitleHas(word, passages[0].Title+" "+place.Heading+" "+titleOf(place)):
		return ""
	case number:
		return "a number alone does not say what is asked"
	}
	return "many passages have this word, and it does not say alone what is asked"
}

// fewDigits is the greatest number of digits of a number that says nothing alone, such as a year or an amount.
const fewDigits = 4

// IsNumber reports whether a word is a number of at most fewDigits digits, without letters.
func IsNumber(word string) bool {
	digits := 0
	for _, r := range word {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			return false
		}
	}
	return digits > 0 && digits <= fewDigits
}

// titleOf returns the title of the document of a place; "" if it has none.
func titleOf(p reply.Place) string {
	if p.Document == nil {
		return ""
	}
	return p.Document.Title
}

// TitleHas reports whether a title has a word, or a form of it with another ending. Words with digits have no other
// form.
func TitleHas(word, title string) bool {
	word = strings.ToLower(word)
	least := max(leastShared, (utf8.RuneCountInString(word)+1)/2)
	return slices.ContainsFunc(content.WordsIn(title), func(other content.WordIn) bool {
		shared := content.SharedPrefix(word, other.Lower)
		return other.Lower == word ||
			!content.HasDigit(word) && (shared >= least || shared == utf8.RuneCountInString(word) &&
				utf8.RuneCountInString(other.Lower) <= shared+longestPlural)
	})
}
