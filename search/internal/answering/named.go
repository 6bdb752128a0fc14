package answering

import (
	"context"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/internal/answering/naming"
	"example.org/conclave/search/internal/content"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/sources"
	"example.org/conclave/search/reply"
)

// A question with a name that no passage has ("who built the mill of Lund?") finds passages about its other words, and
// encoders cannot tell the difference. The greater the share of such names in the question, the less likely the
// collection answers it.

const (
	// leastTelling is the least fusion.Key.Code of a number that counts as a name. In 1,000 passages numbers of three
	// digits reach it; a 5 or a 12 does not.
	leastTelling = .5
	// leastShared is the least number of letters at their beginning that two forms of a name share, such as Siberian
	// and Siberia; they also share at least half of the name's.
	leastShared = 4

	// mostNamed is the most names that a note lists.
	mostNamed = 3
)

// namedNowhere returns the names in the question (numbers, and capitalised words inside a sentence) that no passage
// has and of which the first passage has no other form. share is their part of the question, from 0 to 1, by the
// rarity of its words. names is nil and share 0 if there are none or no source searched by words. It fails if the
// first passage cannot be read.
func (a *Answer) namedNowhere(ctx context.Context, first []fusion.Item) (names []string, share float64, err error) {
	at := slices.IndexFunc(
		a.Findings, func(f sources.Finding) bool { return f.Status == reply.StatusOK && f.Keys != nil },
	)
	if at < 0 || len(first) == 0 {
		return nil, 0, nil
	}
	k := a.Findings[at].Keys
	names = NamesNowhere(k, a.Found.Inquiry.Question, a.namesIn(ctx))
	if len(names) == 0 {
		return nil, 0, nil
	}
	_, passages, err := a.Texts(ctx, first[:1])
	if err != nil || len(passages) == 0 {
		return nil, 0, err
	}
	names = NamesLackedBy(names, &passages[0])
	return names, ShareOf(k, names), nil
}

// NamesNowhere returns the names in a question that no passage of the collection has, as bare words without
// repetitions; nil if there are none. Names are numbers and codes of at least leastTelling and, where capital letters
// mark names in the question, capitalised words. k has the question's words.
func NamesNowhere(k *sources.Keys, question string, in naming.Language) (names []string) {
	var capital []string
	if naming.CapitalsTell(question, in) {
		capital = content.Capitals(question)
	}
	for _, x := range k.List {
		name := content.BareWord(x.Text)
		tells := x.Code >= leastTelling || slices.Contains(capital, name)
		if x.Nowhere && !x.Pair && tells && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// ShareOf returns the part, from 0 to 1, that these words have of the sum of the rarities of the question's words.
func ShareOf(k *sources.Keys, words []string) float64 {
	all := 0.0
	these := 0.0
	for _, x := range k.List {
		if x.Pair {
			continue
		}
		all += x.Rarity
		if slices.Contains(words, content.BareWord(x.Text)) {
			these += x.Rarity
		}
	}
	if all == 0 {
		return 0
	}
	return these / all
}

// NamesLackedBy returns the names of which passage p has no other form (leastShared). Names with a digit have no other
// form. If capital letters mark no names in p, as in German, it returns only names with a digit. It reuses the memory
// of names.
func NamesLackedBy(names []string, p *corpus.Passage) []string {
	text := p.Title + ". " + p.Text
	words := strings.Fields(text)
	tells := content.CapitalsTell(text)
	return slices.DeleteFunc(names, func(name string) bool {
		if !content.HasDigit(name) && !tells {
			return true
		}
		name = strings.ToLower(name)
		least := max(leastShared, (utf8.RuneCountInString(name)+1)/2)
		return !content.HasDigit(name) && slices.ContainsFunc(words, func(word string) bool {
			return content.SharedPrefix(name, strings.ToLower(content.BareWord(word))) >= least
		})
	})
}

// Estimates are the probabilities that a ranking answers, and the verdict.
type Estimates struct {
	Confidence *float64 // that the first passage answers; nil: it is not known
	Any        *float64 // that any of the passages answers; nil: it is not known
	Judged     reply.Judged
}

// headOf returns a copy of the first comparedNames passages of a ranking.
func headOf(items []fusion.Item) []fusion.Item {
	return slices.Clone(items[:min(comparedNames, len(items))])
}

// Head returns the first comparedNames passages of the ranking at an index, in their final order, regardless of which
// page is answered. It needs CutToPage to have run.
func (a *Answer) Head(ranking int) []fusion.Item {
	return a.heads[ranking]
}

// LowerVerdict lowers r's chance that the collection answers, and with it the verdict, in four cases. It returns a
// note for users on why, if the verdict is not VerdictFound in the end; otherwise "". The verdict falls to doubtful at
// most. It does nothing if r has no thresholds or no chance, or if the passages cannot be read. first is the
// ranking's Head.
//
//  0. No expert reads the question (Findings.UnreadNote, which is a note of its own): the verdict is doubtful at most.
//  1. The question asks nothing (asksNothing). r's confidences are then at most the chance.
//  2. The passages behind the answer lack a name of the question (findMisnaming): the verdict is doubtful at most, and
//     a.Misnamed is set.
//  3. No passage has some names of the question (namedNowhere): the chance falls with their share of the question.
func (a *Answer) LowerVerdict(ctx context.Context, r *Estimates, first []fusion.Item) (note string) {
	j := &r.Judged
	if j.Thresholds == nil || j.Answerable == nil {
		return ""
	}
	if a.Found.UnreadNote() != "" {
		r.capAtDoubtful()
		return ""
	}
	note = a.asksNothing(ctx, first)
	nothing := note != ""
	if !nothing {
		wrong, err := a.findMisnaming(ctx, first)
		if err == nil && wrong != nil { // a verdict is no reason to fail
			a.Misnamed = true
			r.capAtDoubtful()
			return wrong.note()
		}
	}
	share := 1.0
	if !nothing {
		names, part, err := a.namedNowhere(ctx, first)
		if err != nil || len(names) == 0 {
			return "" // a verdict is no reason to fail
		}
		share = part
		quoted := make([]string, 0, mostNamed)
		for _, name := range names[:min(len(names), mostNamed)] {
			quoted = append(quoted, wording.Quote(name))
		}
		note = "no passage has " + strings.Join(quoted, ", ") + ", which the question names"
	}
	if chance := sigmoid(run.LogOdds(*j.Answerable) - namedWeight*share); j.Verdict == reply.VerdictFound {
		j.Answerable = run.PrintedOf(run.Ptr(max(chance, j.Thresholds.Doubtful)))
		j.Verdict = j.Thresholds.Of(*j.Answerable)
	}
	if j.Verdict == reply.VerdictFound {
		return ""
	}
	if nothing {
		for _, chance := range []*float64{r.Confidence, r.Any} {
			if chance != nil {
				*chance = min(*chance, *j.Answerable)
			}
		}
	}
	return note
}

// capAtDoubtful lowers the verdict VerdictFound to doubtful, with a chance just below the threshold of VerdictFound,
// and r's confidences to at most that chance. r must have thresholds and a chance.
func (r *Estimates) capAtDoubtful() {
	j := &r.Judged
	if j.Verdict == reply.VerdictFound {
		j.Answerable = run.PrintedOf(run.Ptr(max(j.Thresholds.Doubtful, doubtfulShare*j.Thresholds.Found)))
		j.Verdict = j.Thresholds.Of(*j.Answerable)
	}
	for _, chance := range []*float64{r.Confidence, r.Any} {
		if chance != nil {
			*chance = min(*chance, *j.Answerable)
		}
	}
}

// doubtfulShare times the threshold of VerdictFound is the chance that capAtDoubtful sets.
const doubtfulShare = .9

// namedWeight times the share of the question's names that no passage has is how much the log-odds of the chance fall.
// docs/evidence/reliability.md has what other weights do.
const namedWeight = 10

// sigmoid returns the probability whose log-odds are x.
func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
