package bm25

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"example.org/conclave/bm25/forms"
)

// A questionTerm is a distinct term of a question that some passage has.
type questionTerm struct {
	text    string
	count   int     // how often it is in the question
	df      uint64  // passages that have it, in the whole collection
	idf     float32 //
	weight  float32 // count · idf
	records []termRecord
}

// understand returns an analysed question, with its terms and their other forms looked up in all segments. Terms are in
// descending order of their weights, then in the order of their texts. Scores are sums in this order, and then of
// what other forms add, so that they are the same to the last bit for any division into segments. The result must not
// be changed: later calls for the question return it too. It fails if an index is damaged.
func (s *Searcher) understand(question string) (*understood, error) {
	if u := s.recent.find(question); u != nil {
		return u, nil
	}
	u, err := s.lookUpTerms(question)
	if err != nil {
		return nil, err
	}
	s.recent.keep(&u)
	return &u, nil
}

// lookUpTerms does the work of understand.
func (s *Searcher) lookUpTerms(question string) (u understood, err error) {
	u.question = question
	r := s.params.Analysis.ReadingOf(question)
	r.CountTerms(s.phrases)
	u.terms = make([]questionTerm, 0, len(r.Distinct))
	for _, c := range r.Distinct {
		t := questionTerm{text: c.Text, count: c.Count}
		if err := s.weigh(&t); err != nil {
			return u, err
		}
		if t.df == 0 {
			u.unknown = append(u.unknown, t)
			continue
		}
		t.weight = float32(t.count) * t.idf
		u.terms = append(u.terms, t)
	}
	slices.SortFunc(u.terms, func(x, y questionTerm) int {
		return cmp.Or(cmp.Compare(y.weight, x.weight), strings.Compare(x.text, y.text))
	})
	u.others, err = s.otherForms(r, u.terms)
	return u, err
}

// understood is an analysed question with its terms looked up in all segments.
type understood struct {
	question string
	terms    []questionTerm // that some passage has
	others   []otherTerms
	unknown  []questionTerm // that no passage has
}

// findsNothing reports whether no passage can be a hit: none has a term of the question, nor another form.
func (u *understood) findsNothing() bool { return len(u.terms) == 0 && len(u.others) == 0 }

// weigh sets the records, the number of passages and the idf of a term. It fails if an index is damaged.
func (s *Searcher) weigh(t *questionTerm) (err error) {
	t.df, err = s.countDocuments(t)
	if err == nil {
		t.idf = IDF(t.df, uint64(s.statistics.withTerms))
	}
	return err
}

// lookupForm looks up a term as another form of passages' words. records is nil if no segment has it. It fails for a
// damaged index.
func (s *Searcher) lookupForm(term string) (f questionTerm, err error) {
	var buffer [64]byte
	entry := append(append(buffer[:0], forms.FormMark...), term...)
	for i, g := range s.segments {
		r, err := g.Index.lookup(entry)
		if err != nil {
			return f, err
		}
		if r.df == 0 {
			continue
		}
		dead, err := g.deleted(r)
		if err != nil {
			return f, err
		}
		if f.records == nil {
			f.text = string(entry)
			f.records = make([]termRecord, len(s.segments))
		}
		f.records[i] = r
		f.df += uint64(r.df - min(dead, r.df))
	}
	return f, nil
}

// countDocuments sets t.records to the term's records in all segments, and returns how many live passages have it. It
// fails if an index is damaged.
func (s *Searcher) countDocuments(t *questionTerm) (df uint64, err error) {
	t.records = make([]termRecord, len(s.segments))
	for i, g := range s.segments {
		r, err := s.lookup(g.Index, []byte(t.text))
		if err != nil {
			return 0, err
		}
		dead, err := g.deleted(r)
		if err != nil {
			return 0, err
		}
		t.records[i] = r
		df += uint64(r.df - min(dead, r.df))
	}
	return df, nil
}

// lookup returns the record of a term, a phrase (two terms with forms.PhraseGap between them) or another form in a
// segment; df is 0 if the segment has none. It fails if the index is damaged.
func (s *Searcher) lookup(x *Index, text []byte) (termRecord, error) {
	first, second, phrase := bytes.Cut(text, []byte{forms.PhraseGap})
	if !phrase {
		return x.lookup(text)
	}
	if !x.params.Phrases {
		return termRecord{}, nil
	}
	return x.lookupPhrase(first, second)
}

// Phrases returns a searcher of the same segments that reads a question as its phrases: two terms that follow each
// other in what Analyse returns, within the title or within the text of a passage. "The lake is deep" and "lakes, deep
// ones" have the phrase "lake deep". It returns nil if the segments were built without phrases (Params.Phrases), or
// there are none. It keeps the order of ties. A phrase scores as a term does, with its own df and tf and the statistics
// of terms, so that its scores can be added to theirs (Metzler and Croft, "A Markov Random Field Model for Term
// Dependencies", SIGIR 2005: the sequential dependence of exact phrases, with BM25's formula).
func (s *Searcher) Phrases() *Searcher {
	if !s.params.Phrases {
		return nil
	}
	return &Searcher{params: s.params, statistics: s.statistics, segments: s.segments, ties: s.ties, phrases: true}
}
