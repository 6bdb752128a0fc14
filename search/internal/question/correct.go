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
	mostSuspects  = 16 // a question with more suspects is not corrected
	mostInContext = 6  // the number of candidates for a word whose neighbours are looked up
	leastLetters  = 3  // the number of letters from which on a word is corrected
	wordsAPassage = 50 // the assumed number of different words of a passage
	ofCollection  = .6 // the weight of a word's frequency in the collection; the rest is the language's
	ofNeighbours  = .5 // the part of that weight that its neighbours have, if they are known
	leastPassages = 20 // a smaller collection counts as one of so many passages
	mostUnknown   = .5 // a question with a greater share of unknown words is in another language
)

// suspect is a word of a question that may be mistyped.
type suspect struct {
	begin, end int                   // in the question
	word       string                // in lower case
	name       bool                  // it begins with a capital letter inside a question that is not all capitals
	placed     storage.WordInContext // the question before and after it; Word is empty
}

// Speller corrects misspelt words of questions to a collection.
type Speller struct {
	Run      run.Runner
	Language func() *spelling.Language // returns the words that are never misspelt; it may return nil
}

// Correct returns a question with its misspelt words corrected, and the corrections. If the search for them fails, it
// reports the error and returns the question as it is. doubt is a sentence for users that says what was not searched,
// or that nothing was; "": all was.
func (c Speller) Correct(
	ctx context.Context,
	view *snapshot.PinnedView,
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

// correctWords returns a question with its misspelt words corrected, and the corrections. A word is replaced if neither
// the collection nor the language knows it and a known word is near enough and likelier (spelling.Edits.Typed). It
// returns the question as it is, without an error, if the view has no vocabulary, or if too many words remain unknown.
// known returns the language or nil. With a *storage.PartialError the result is usable, and words were counted
// inexactly.
func correctWords(
	ctx context.Context,
	view *snapshot.PinnedView,
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
		err = fmt.Errorf("the collection gave the spellings of %d words, not of %d", len(looked), len(words))
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
		meant, err := s.likeliestWord(ctx, v, language, looked[i].Near, passages)
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

// LanguageOf returns the language whose words are the whole words in the vocabulary of an expert's encoder. It returns
// nil if x is nil or the encoder does not list them.
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

// likeliestWord returns the word that was most probably meant by a suspect, in lower case; "" if that is the suspect
// itself or no word is near enough. near are the collection's words near it, passages is the size of the collection,
// and language may be nil. With a *storage.PartialError the result is usable, and neighbours were counted inexactly.
func (s *suspect) likeliestWord(
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
		if !s.allowsEdits(c, letters) {
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
		placed := make([]storage.WordInContext, min(len(all), mostInContext))
		for i := range placed {
			placed[i] = s.placed
			placed[i].Word = all[i].Word
		}
		beside, err := v.NeighbourShares(ctx, placed)
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

// allowsEdits reports whether a candidate has few enough edits (spelling.MostEdits) for a suspect of so many letters.
// One of three letters may only have letters missing or swapped, and a name one edit.
func (s *suspect) allowsEdits(c spelling.Candidate, letters int) bool {
	most := spelling.MostEdits(max(letters, utf8.RuneCountInString(c.Word)))
	if letters == leastLetters && c.Edits.Swapped == 1 {
		most = 1
	}
	if s.name {
		most = min(most, 1)
	}
	return c.Edits.Total() <= most && (letters > leastLetters || c.Edits.Added+c.Edits.Replaced == 0)
}

// suspectsOf returns the words of a question that may be misspelt, in their order: those of leastLetters letters or
// more that the language does not have. It leaves out words of more than spelling.LongestWord letters, and identifiers:
// words with digits or signs (eachWord), in quotes or in capitals. language may be nil.
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
							placed: storage.WordInContext{Before: question[:begin+from], After: question[begin+to:]},
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

// eachWord calls yield with the begin and end of each word of a chunk, which is a part of a text without white space.
// Words consist of letters; hyphens separate them and punctuation may surround them. It yields nothing if the chunk has
// digits, signs or apostrophes, other than a possessive 's.
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

// inCaseOf returns the word meant, which is in lower case, with the capital letters of typed: all, the first, or none.
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
