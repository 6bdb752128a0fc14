package search

import (
	"context"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/wording"
)

// A question that names what stands in no passage ("who built the mill of Lund?") is near to those about the rest
// of it, and encoders cannot tell. The more of the question that is, the less likely the collection answers it.

const (
	// leastTelling is how far the form of a number has to tell (Key.Code) to name something: of 1,000
	// passages those of three digits do, and a 5 or a 12 does not.
	leastTelling = .5
	// leastShared is how many letters a name has to have in common with a word of the first passage, and at
	// least half of its own, to be said by that word, as Siberian by Siberia.
	leastShared = 4
	// mostCapitals is the share of the first passage's words inside sentences up to which a capital letter
	// tells a name: in a German text, and in a list of titles, it does not.
	mostCapitals = .2
	// mostNamed is how many names a note has.
	mostNamed = 3
)

// namedNowhere returns what the question names, by numbers and by words with a capital letter inside a sentence,
// and what no passage has, nor the first one in another form; and how much of the question that is, from 0 to 1,
// by the rarity of its words.
func (a *answer) namedNowhere(ctx context.Context, first []fusion.Item) (names []string, share float64, err error) {
	at := slices.IndexFunc(a.findings, func(f finding) bool { return f.status == StatusOK && f.keys != nil })
	if at < 0 || len(first) == 0 {
		return nil, 0, nil
	}
	k := a.findings[at].keys
	names = k.nowhere(a.question)
	if len(names) == 0 {
		return nil, 0, nil
	}
	_, passages, err := a.texts(ctx, first[:1])
	if err != nil || len(passages) == 0 {
		return nil, 0, err
	}
	names = saidNowhere(names, &passages[0])
	return names, k.shareOf(names), nil
}

// nowhere returns the keys that name something and stand in no passage.
func (k *keys) nowhere(question string) (names []string) {
	capital := capitals(question)
	for _, x := range k.list {
		name := bareWord(x.Text)
		tells := x.Code >= leastTelling || slices.Contains(capital, name)
		if x.nowhere && !x.Pair && tells && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// shareOf returns the share that words have of the rarities of all.
func (k *keys) shareOf(words []string) float64 {
	all := 0.0
	these := 0.0
	for _, x := range k.list {
		if x.Pair {
			continue
		}
		all += x.Rarity
		if slices.Contains(words, bareWord(x.Text)) {
			these += x.Rarity
		}
	}
	if all == 0 {
		return 0
	}
	return these / all
}

// saidNowhere leaves out what a passage has in another form, and where capital letters tell nothing in its
// language, names without a digit.
func saidNowhere(names []string, p *corpus.Passage) []string {
	text := p.Title + ". " + p.Text
	words := strings.Fields(text)
	tells := capitalsTell(text)
	return slices.DeleteFunc(names, func(name string) bool {
		if !hasDigit(name) && !tells {
			return true
		}
		name = strings.ToLower(name)
		least := max(leastShared, (utf8.RuneCountInString(name)+1)/2)
		return !hasDigit(name) && slices.ContainsFunc(words, func(word string) bool {
			return sharedPrefix(name, strings.ToLower(bareWord(word))) >= least
		})
	})
}

// capitalsTell reports whether a capital letter inside the sentences of a text tells a name.
func capitalsTell(text string) bool {
	words := strings.Fields(text)
	inside := 0
	for i := range words {
		if i > 0 && !endsSentence(words[i-1]) {
			inside++
		}
	}
	return float64(len(capitals(text))) <= mostCapitals*float64(inside)
}

// capitals returns the words inside the sentences of a text that begin with a capital letter.
func capitals(text string) (out []string) {
	words := strings.Fields(text)
	for i, word := range words {
		if i == 0 || endsSentence(words[i-1]) {
			continue
		}
		word = bareWord(word)
		if first, size := utf8.DecodeRuneInString(word); unicode.IsUpper(first) && size < len(word) {
			out = append(out, word)
		}
	}
	return out
}

// endsSentence reports whether the next word begins a sentence, or something quoted.
func endsSentence(word string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(word, `"'”’»)`))
	return strings.ContainsRune(".?!:;…。？！", last)
}

// bareWord returns a word without the punctuation around it.
func bareWord(word string) string {
	return strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}

// sharedPrefix returns how many letters two words have in common from their beginning.
func sharedPrefix(a, b string) (n int) {
	other := []rune(b)
	for i, r := range []rune(a) {
		if i >= len(other) || other[i] != r {
			break
		}
		n++
	}
	return n
}

// doubt lowers the chance that the collection answers where the question asks nothing, or names what stands nowhere,
// and says so where the verdict is not VerdictFound. By this alone no verdict becomes VerdictNotFound. No passage is
// likelier right than the collection answers what asks nothing.
func (a *answer) doubt(ctx context.Context, r *Ranking, first []fusion.Item) {
	j := &r.Judged
	if j.Thresholds == nil || j.Answerable == nil {
		return
	}
	note := a.asksNothing(ctx, first)
	nothing := note != ""
	if !nothing {
		wrong, err := a.findMisnaming(ctx, first)
		if err == nil && wrong != nil { // a verdict is no reason to fail
			a.misnamed = true
			a.response.Notes = append(a.response.Notes, wrong.note())
			r.capAtDoubtful()
			return
		}
	}
	share := 1.0
	if !nothing {
		names, of, err := a.namedNowhere(ctx, first)
		if err != nil || len(names) == 0 {
			return // a verdict is no reason to fail
		}
		share = of
		quoted := make([]string, 0, mostNamed)
		for _, name := range names[:min(len(names), mostNamed)] {
			quoted = append(quoted, wording.Quote(name))
		}
		note = "no passage has " + strings.Join(quoted, ", ") + ", which the question names"
	}
	if chance := sigmoid(logOdds(*j.Answerable) - namedWeight*share); j.Verdict == VerdictFound {
		j.Answerable = printedOf(ptr(max(chance, j.Thresholds.Doubtful)))
		j.Verdict = j.Thresholds.Of(*j.Answerable)
	}
	if j.Verdict == VerdictFound {
		return
	}
	a.response.Notes = append(a.response.Notes, note)
	if nothing {
		for _, chance := range []*float64{r.Confidence, r.Any} {
			if chance != nil {
				*chance = min(*chance, *j.Answerable)
			}
		}
	}
}

// capAtDoubtful makes a verdict doubtful at most, by a chance just below the threshold of VerdictFound, and no
// confidence greater than that chance.
func (r *Ranking) capAtDoubtful() {
	j := &r.Judged
	if j.Verdict == VerdictFound {
		j.Answerable = printedOf(ptr(max(j.Thresholds.Doubtful, doubtfulShare*j.Thresholds.Found)))
		j.Verdict = j.Thresholds.Of(*j.Answerable)
	}
	for _, chance := range []*float64{r.Confidence, r.Any} {
		if chance != nil {
			*chance = min(*chance, *j.Answerable)
		}
	}
}

// doubtfulShare is the share of the threshold of VerdictFound that a chance is at most which is not to reach it.
const doubtfulShare = .9

// namedWeight is by how much the log-odds of the chance fall, times the share of the question that stands nowhere.
// docs/evidence/reliability.md has what other weights do.
const namedWeight = 10

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
