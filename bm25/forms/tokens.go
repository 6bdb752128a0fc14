package forms

// PairGap joins the two terms of a phrase in a token. No term holds it, while some
// hold an underscore.
const PairGap = "+"

// Words returns the terms of a passage, in order and with repetitions. An engine that indexes them as they are, with
// Lucene's BM25 and the same parameters, scores as Searcher does.
func (analysis Analysis) Words(title, text string) []string {
	return append(analysis.Terms(title), analysis.Terms(text)...)
}

// Forms returns the other forms of the words of a passage's title and text (see Unicode), each as an entry of the
// vocabulary, which begins with FormMark. A form that several words have is repeated. With the analysis Lucene it
// returns nil.
func (analysis Analysis) Forms(title, text string) (forms []string) {
	if !analysis.HasForms() {
		return nil
	}
	a := NewAnalyser(analysis)
	for _, part := range []string{title, text} {
		for t := a.WordsOf(a.Normalised(part)); ; {
			word, signed, compound := t.Next()
			for _, c := range [...]string{signed, compound} {
				if c == "" {
					continue
				}
				for _, j := range a.CompoundForms(c) {
					forms = append(forms, FormMark+j.Form)
				}
			}
			if word == "" {
				break
			}
			if term := string(a.Term(word)); term != "" {
				_, all := a.PassageForms(word, term)
				for _, form := range all {
					forms = append(forms, FormMark+form)
				}
			}
		}
	}
	return forms
}

// FormsLike returns the Forms of a passage, filled up to the number of its Words with tokens that no question has. An
// engine that indexes them has the lengths that forms are scored with.
func (analysis Analysis) FormsLike(title, text string) []string {
	forms := analysis.Forms(title, text)
	for missing := len(analysis.Words(title, text)) - len(forms); missing > 0; missing-- {
		forms = append(forms, FormMark)
	}
	return forms
}

// Pairs returns the phrases of a passage as tokens (see Searcher.Phrases). The title and the text, if they have terms,
// have one more token each, which no question has. So there are as many as Words, and an engine that indexes them has
// the lengths that phrases are scored with.
func (analysis Analysis) Pairs(title, text string) (tokens []string) {
	for _, part := range [...]string{title, text} {
		if terms := analysis.Terms(part); len(terms) > 0 {
			tokens = append(append(tokens, PairGap), pairs(terms)...)
		}
	}
	return tokens
}

// QuestionTerms returns the terms that a question asks for, in order and with repetitions.
func (analysis Analysis) QuestionTerms(question string) []string {
	r := analysis.ReadingOf(question)
	r.passOverFunctionWords()
	return r.terms
}

// QuestionPairs returns the phrases of a question as the tokens of Pairs, in order and with repetitions.
func (analysis Analysis) QuestionPairs(question string) []string {
	return pairs(analysis.Terms(question))
}

// pairs returns each two adjacent terms as one token with PairGap between them; nil if there are fewer than two.
func pairs(terms []string) (tokens []string) {
	for i := 1; i < len(terms); i++ {
		tokens = append(tokens, terms[i-1]+PairGap+terms[i])
	}
	return tokens
}
