package question

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/conclave/internal/spelling"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/snapshot"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

const (
	mostSuspects  = 16 // words of a question that are looked up
	mostInContext = 6  // candidates for a word whose neighbours are looked at
	leastLetters  = 3  // of a word that may be mistyped
	wordsAPassage = 50 // different words, about
	ofCollection  = .6 // the share of a question's words that are the collection's
	ofNeighbours  = .5 // the share of that that the neighbours decide, where they are known
	leastPassages = 20 // below which a collection says no more of how frequent a word is
	mostUnknown   = .5 // the share of words that nobody knows: with more the question is in another language
)

// suspect is a word of a question that may be mistyped.
type suspect struct {
	begin, end int    // in the question
	word       string // in lower case
	name       bool   // it begins with a capital, and others of the question do not
	placed     storage.Placed
}

// Speller corrects misspelt words of questions to one collection.
type Speller struct {
	Run      run.Runner
	Language func() *spelling.Language // whose words a question may have; it may return nil
}

// Correct returns a question with its misspelt words corrected, and the corrections. If looking for them fails, it
// reports that and returns the question as it is. doubt says, for the user, what keeps the corrections from being those
// of the whole collection; "": nothing does.
func (c Speller) Correct(
	ctx context.Context,
	view *snapshot.Pinned,
	question string,
) (out string, corrections []reply.Correction, doubt string) {
	err := c.Run.Compute(ctx, func(ctx context.Context) error {
		return run.Guard(func() (err error) {
			out, corrections, err = correctWords(ctx, view, c.Language, question)
			return err
		})
	})
	var partial *storage.PartialError
	switch {
	case errors.As(err, &partial):
		return out, corrections, "for the correction of misspelt words " + partial.Reason
	case err != nil:
		c.Run.Report.Source(ctx, reply.WordSource, reply.StatusFailed, fmt.Errorf("looking for mistyped words: %w", err))
		return question, nil, "misspelt words were not looked for, since that failed or took too long"
	}
	return out, corrections, ""
}

// correctWords returns a question with the words put right that neither the collection nor the
// language knows, where words that they know are near enough and likelier
// (see spelling.Typed). It returns the question as it is where there is nothing to correct. With a
// *storage.PartialError words were counted inexactly.
func correctWords(
	ctx context.Context,
	view *snapshot.Pinned,
	known func() *spelling.Language,
	question string,
) (string, []reply.Correction, error) {
	v := view.Vocabulary()
	if v == nil {
		return question, nil, nil
	}
	language := known()
	suspects := suspectsOf(question, language)
	if len(suspects) == 0 || len(suspects) > mostSuspects {
		return question, nil, nil
	}
	words := make([]string, len(suspects))
	for i := range suspects {
		words[i] = suspects[i].word
	}
	looked, err := v.Look(ctx, words)
	if err == nil && len(looked) != len(words) {
		err = fmt.Errorf("the collection said of %d words how they are written, and not of %d", len(looked), len(words))
	}
	if err != nil {
		return question, nil, err
	}
	passages := float64(max(view.Passages().Len(), leastPassages))
	var corrections []reply.Correction
	out := strings.Builder{}
	last := 0
	unknown := 0
	var lacks error
	for i, s := range suspects {
		if looked[i].Known {
			continue
		}
		unknown++
		meant, err := s.likeliest(ctx, v, language, looked[i].Near, passages)
		switch {
		case storage.IsPartial(err):
			lacks = err
		case err != nil:
			return question, nil, err
		}
		if meant == "" {
			continue
		}
		from := question[s.begin:s.end]
		to := inCaseOf(from, meant)
		out.WriteString(question[last:s.begin] + to)
		last = s.end
		corrections = append(corrections, reply.Correction{From: from, To: to})
	}
	if len(corrections) == 0 || float64(unknown-len(corrections)) > mostUnknown*float64(len(strings.Fields(question))) {
		return question, nil, lacks
	}
	out.WriteString(question[last:])
	return out.String(), corrections, lacks
}

// LanguageOf returns what the vocabulary of an expert's encoder says of its language; nil where it
// says nothing.
func LanguageOf(x *learned.Expert) *spelling.Language {
	if x == nil {
		return nil
	}
	encoder, ok := x.Encoder.(interface{ WholeWords() []string })
	if !ok {
		return nil
	}
	return spelling.NewLanguage(encoder.WholeWords())
}

// likeliest returns the word that a suspect was most probably meant as; "" where that is as it is. With a
// *storage.PartialError its neighbours were counted inexactly.
func (s *suspect) likeliest(
	ctx context.Context,
	v storage.Vocabulary,
	language *spelling.Language,
	near []spelling.Candidate,
	passages float64,
) (string, error) {
	type candidate struct {
		spelling.Candidate
		own, general float64 // the probabilities in the collection and in the language
		typed        float64 // the logarithm of that of the edits
		score        float64
	}
	letters := utf8.RuneCountInString(s.word)
	var all []candidate
	add := func(c spelling.Candidate, own bool) {
		if !s.allows(c, letters) {
			return
		}
		at := slices.IndexFunc(all, func(x candidate) bool { return x.Word == c.Word })
		if at < 0 {
			at = len(all)
			all = append(all, candidate{Candidate: c, typed: c.Edits.Typed(utf8.RuneCountInString(c.Word))})
		}
		if own {
			all[at].own = float64(c.Count) / (wordsAPassage * passages)
		} else {
			all[at].general = float64(c.Count) / float64(language.Total())
		}
	}
	for _, c := range near {
		add(c, true)
	}
	if language != nil {
		for _, c := range language.Near(nil, s.word, spelling.MostEdits(letters+1)) {
			add(c, false)
		}
	}
	weigh := func(c *candidate, beside storage.Neighbours, known float64) {
		own := (1-ofNeighbours*known)*c.own + ofNeighbours*(beside.Before+beside.After)/2
		c.score = math.Log(ofCollection*own+(1-ofCollection)*c.general) + c.typed
	}
	for i := range all {
		weigh(&all[i], storage.Neighbours{}, 0)
	}
	order := func(a, b candidate) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.Word, b.Word)) }
	slices.SortFunc(all, order)
	var lacks error
	if len(all) > 1 {
		placed := make([]storage.Placed, min(len(all), mostInContext))
		for i := range placed {
			placed[i] = s.placed
			placed[i].Word = all[i].Word
		}
		beside, err := v.Beside(ctx, placed)
		switch {
		case storage.IsPartial(err):
			lacks = err
		case err != nil:
			return "", err
		}
		all = all[:min(len(all), len(beside))]
		for i := range all {
			weigh(&all[i], beside[i], 1)
		}
		slices.SortFunc(all, order)
	}
	if len(all) == 0 || language != nil && all[0].score < language.Unheard(s.word) {
		return "", lacks
	}
	return all[0].Word, lacks
}

// allows reports whether a candidate is near enough: short words are too near to each other for
// more than two letters that changed places, and one that is missing.
func (s *suspect) allows(c spelling.Candidate, letters int) bool {
	most := spelling.MostEdits(max(letters, utf8.RuneCountInString(c.Word)))
	if letters == leastLetters && c.Edits.Swapped == 1 {
		most = 1
	}
	if s.name {
		most = min(most, 1)
	}
	return c.Edits.Total() <= most && (letters > leastLetters || c.Edits.Added+c.Edits.Replaced == 0)
}

// suspectsOf returns the words of a question that the language does not have. Words beside
// digits or signs, in quotes or in capitals are identifiers, and right as they are.
func suspectsOf(question string, language *spelling.Language) (suspects []suspect) {
	loud := question == strings.ToUpper(question)
	quoted, first := false, true
	for begin := 0; begin < len(question); {
		r, size := utf8.DecodeRuneInString(question[begin:])
		if unicode.IsSpace(r) {
			begin += size
			continue
		}
		end := begin + len(question[begin:])
		if n := strings.IndexFunc(question[begin:], unicode.IsSpace); n >= 0 {
			end = begin + n
		}
		chunk := question[begin:end]
		within := quoted || strings.HasPrefix(chunk, `"`)
		if strings.Count(chunk, `"`)%2 == 1 {
			quoted = !quoted
		}
		if !within {
			eachWord(chunk, func(from, to int) {
				word := question[begin+from : begin+to]
				lower := strings.ToLower(word)
				head, _ := utf8.DecodeRuneInString(word)
				switch n := utf8.RuneCountInString(word); {
				case n < leastLetters || n > spelling.LongestWord || language != nil && language.Count(lower) > 0:
				case !loud && n > 1 && word == strings.ToUpper(word) && word != lower:
				default:
					suspects = append(
						suspects,
						suspect{
							begin:  begin + from,
							end:    begin + to,
							word:   lower,
							name:   !loud && !first && unicode.IsUpper(head),
							placed: storage.Placed{Before: question[:begin+from], After: question[begin+to:]},
						},
					)
				}
				first = false
			})
		}
		begin = end
	}
	return suspects
}

// eachWord yields where the words of a chunk without white space are: those of letters
// alone, with hyphens between them and punctuation around them.
func eachWord(chunk string, yield func(from, to int)) {
	from := strings.IndexFunc(chunk, unicode.IsLetter)
	to := strings.LastIndexFunc(chunk, unicode.IsLetter)
	if from < 0 {
		return
	}
	_, size := utf8.DecodeRuneInString(chunk[to:])
	to += size
	if strings.ContainsFunc(
		chunk[:from]+chunk[to:],
		func(r rune) bool { return unicode.IsDigit(r) || strings.ContainsRune(`_@/\#$%&*+=<>|~^`, r) },
	) {
		return
	}
	core := chunk[from:to]
	for _, apostrophe := range []string{"'s", "’s", "'S", "’S"} {
		core = strings.TrimSuffix(core, apostrophe)
	}
	for part := range strings.SplitSeq(core, "-") {
		if part == "" ||
			strings.ContainsFunc(part, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
			return // an identifier, or two words with an apostrophe
		}
	}
	for part := range strings.SplitSeq(core, "-") {
		yield(from, from+len(part))
		from += len(part) + 1
	}
}

// inCaseOf returns a word in lower case with the capitals of another one.
func inCaseOf(typed, meant string) string {
	head, size := utf8.DecodeRuneInString(typed)
	switch {
	case len(typed) > size && typed == strings.ToUpper(typed):
		return strings.ToUpper(meant)
	case unicode.IsUpper(head):
		r, n := utf8.DecodeRuneInString(meant)
		return string(unicode.ToUpper(r)) + meant[n:]
	}
	return meant
}
