package schema

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"

	"example.org/conclave/bm25"
	"example.org/conclave/bm25/forms"
	"example.org/conclave/store"
)

// Format is the version of the schema and of the manifest. This program reads and writes no other one.
const Format = 3

// FormatError is the error of an index in a format that this program does not read.
type FormatError struct{ Found, Reads int }

// Error says which format the index has, which one this program reads, and what to do.
func (e *FormatError) Error() string {
	return fmt.Sprintf("it has format %d, this program reads format %d: use the program that made it, "+
		"or index the passages again under another name", e.Found, e.Reads)
}

// Manifest describes how an index was made, as the manifest of a collection does. It is kept in the index's mapping,
// under _meta.
type Manifest struct {
	Format int `json:"format"`
	// ID is random and tells apart two indexes that follow each other under one name.
	ID      string   `json:"id"`
	Words   Words    `json:"words"`
	Experts []Expert `json:"experts"`
	// Calibration is the record of the collection, as YAML; "": there is none.
	Calibration string `json:"calibration,omitempty"`
	// Settings are the collection's own, as YAML (collections.Format); "": it was made without.
	Settings string `json:"settings,omitempty"`
}

// Words has the parameters of BM25 and of the analysis of an index.
type Words struct {
	K1      float64 `json:"k1"`
	B       float64 `json:"b"`
	Phrases bool    `json:"phrases,omitempty"`
	// Analysis is the name of the analysis of text into terms (forms.Analysis); "" means forms.Lucene.
	Analysis string `json:"analysis,omitempty"`
	Analyser string `json:"analyser"` // the fingerprint of the analysis
}

// Params returns the parameters of BM25. An analysis that this program does not know is the zero one; Check refuses it.
func (w Words) Params() bm25.Params {
	analysis, _ := w.analysis() // check refuses one that is not known
	return bm25.Params{K1: w.K1, B: w.B, Phrases: w.Phrases, Analysis: analysis}
}

// analysis returns the analysis by its name. It fails if this program does not know it.
func (w Words) analysis() (forms.Analysis, error) {
	return forms.ParseAnalysis(cmp.Or(w.Analysis, forms.Lucene.String()))
}

// WordsOf returns the Words of an index that this program makes with the given parameters.
func WordsOf(p bm25.Params) Words {
	w := Words{K1: p.K1, B: p.B, Phrases: p.Phrases, Analyser: store.Analyser(p.Analysis)}
	if p.Analysis != forms.Lucene {
		w.Analysis = p.Analysis.String()
	}
	return w
}

// Expert is an expert by which every passage of the index has vectors.
type Expert struct {
	Name        string `json:"name"`
	Fingerprint string `json:"fingerprint"` // of the passage encoder
	Dimension   int    `json:"dimension"`   // of a vector, or of a token's
	// Late: a passage has a vector for each token, stored as codes.
	Late bool `json:"late,omitempty"`
	// Owner is the expert whose vectors are this one's too; "": it has its own.
	Owner string `json:"owner,omitempty"`
}

// DescribeEncoder returns the entry of a manifest for an encoder. It fails if a store cannot have the encoder's
// vectors: of parts of passages, or of weighted word pieces.
func DescribeEncoder(e store.PassageEncoder) (Expert, error) {
	if e.Parts() != nil {
		return Expert{}, fmt.Errorf(
			"expert %q has a vector for each of several parts of a passage, and a store has one vector of an expert a passage: leave it out, or keep the passages in a folder",
			e.Name(),
		)
	}
	if store.IsSparse(e) {
		return Expert{}, fmt.Errorf(
			"expert %q weighs word pieces, and a store has no index of these: leave it out, or keep the passages in a folder",
			e.Name(),
		)
	}
	return Expert{
		Name:        e.Name(),
		Fingerprint: e.Fingerprint(),
		Dimension:   e.Dimension(),
		Late:        e.Late(),
		Owner:       e.Owner(),
	}, nil
}

// NewManifest returns the manifest of a new index, with a random ID. It fails if a store cannot have the vectors of an
// encoder (DescribeEncoder), or lacks the owner of one.
func NewManifest(words bm25.Params, encoders []store.PassageEncoder) (*Manifest, error) {
	m := &Manifest{Format: Format, ID: rand.Text(), Words: WordsOf(words), Experts: []Expert{}}
	for _, e := range encoders {
		x, err := DescribeEncoder(e)
		if err != nil {
			return nil, err
		}
		m.Experts = append(m.Experts, x)
	}
	return m, m.Check()
}

// Mark returns the text that FieldExperts of a passage contains if the passage has this expert's vectors: name and
// fingerprint of the encoder.
func (x Expert) Mark() string { return x.MarkName() + x.Fingerprint }

// LeftOutMark returns the text that FieldExperts of a passage contains, beside Mark, if the expert leaves it out
// (store.LeavesOut), so that it has no vectors of the expert.
func (x Expert) LeftOutMark() string { return x.MarkName() + "left-out" }

// MarkName returns the prefix that the marks of all experts with this name have, whichever encoder made their vectors.
func (x Expert) MarkName() string { return x.Name + ":" }

// Field returns the field of an index that has the expert's vectors; "" if it uses those of another expert.
func (x Expert) Field() string {
	switch {
	case x.Owner != "":
		return ""
	case x.Late:
		return LateField + x.Name
	}
	return VectorField + x.Name
}

// WindowsField returns the field that has the windows of long passages with their vectors by the expert; "" if it has
// no vectors of its own, or is late, whose codes are of all windows.
func (x Expert) WindowsField() string {
	if x.Owner != "" || x.Late {
		return ""
	}
	return "w_" + x.Name
}

// Sources returns the fields of a document that have the expert's vectors, names or patterns, for requests that read
// them; nil if it uses those of another expert.
func (x Expert) Sources() []string {
	switch field := x.WindowsField(); {
	case x.Owner != "":
		return nil
	case field == "":
		return []string{x.Field()}
	default:
		// Searches of the cluster give a number in the place of each vector of which not the full name matches.
		return []string{x.Field(), field, field + ".*"}
	}
}

// VectorField and LateField are the beginnings of the names of fields of vectors, and of codes.
const (
	// VectorField is the beginning of the names of fields of vectors.
	VectorField = "v_"
	// LateField is the beginning of the names of fields of codes of late interaction.
	LateField = "t_"
)

// Expert returns the expert with a name. ok is false if the store has none.
func (m *Manifest) Expert(name string) (x Expert, ok bool) {
	at := slices.IndexFunc(m.Experts, func(x Expert) bool { return x.Name == name })
	if at < 0 {
		return Expert{}, false
	}
	return m.Experts[at], true
}

// CheckEncoders returns an error if an encoder is not the one that made the vectors of its expert, or the index has no
// such expert.
func (m *Manifest) CheckEncoders(encoders ...store.Encoder) error {
	for _, e := range encoders {
		has, ok := m.Expert(e.Name())
		switch {
		case !ok:
			return fmt.Errorf("the store has no vectors of expert %q (it has: %v)", e.Name(), ExpertNames(m.Experts))
		case has.Fingerprint != e.Fingerprint() || has.Dimension != e.Dimension():
			return fmt.Errorf(
				"the vectors of expert %q were made by the passage encoder %.16s (%d numbers), and the bundle here is %.16s (%d numbers): use the bundle that made them",
				e.Name(), has.Fingerprint, has.Dimension, e.Fingerprint(), e.Dimension(),
			)
		}
	}
	return nil
}

// Keepers returns the experts with vectors of their own.
func (m *Manifest) Keepers() (out []Expert) {
	for _, x := range m.Experts {
		if x.Owner == "" {
			out = append(out, x)
		}
	}
	return out
}

// Marks returns the marks that a passage has with the vectors of all experts that have their own; empty and not nil
// if there are none.
func (m *Manifest) Marks() []string {
	out := []string{}
	for _, x := range m.Keepers() {
		out = append(out, x.Mark())
	}
	return out
}

// Check returns an error if this program cannot read an index with this manifest: another format (a *FormatError),
// another analysis, or experts that are there twice, have no dimension or fingerprint, or an owner without vectors.
func (m *Manifest) Check() error {
	if m.Format != Format {
		return &FormatError{m.Format, Format}
	}
	analysis, err := m.Words.analysis()
	if err != nil {
		return fmt.Errorf(
			"its words were analysed in a way that this program does not know (%w): use the program that made it, or index again",
			err,
		)
	}
	if now := store.Analyser(analysis); now != m.Words.Analyser {
		return fmt.Errorf(
			"its words were analysed in another way (%.16s) than this program does (%.16s): use the program that made it, or index again",
			m.Words.Analyser, now,
		)
	}
	seen := map[string]bool{}
	for _, x := range m.Experts {
		if err := store.CheckExpertName(x.Name); err != nil {
			return err
		}
		owner, owned := m.Expert(x.Owner)
		switch {
		case seen[x.Name]:
			return fmt.Errorf("expert %q is there twice", x.Name)
		case x.Dimension < 1 || x.Fingerprint == "":
			return fmt.Errorf("expert %q has dimension %d and fingerprint %q", x.Name, x.Dimension, x.Fingerprint)
		case x.Owner != "" && (!owned || owner.Owner != "" || owner.Late || x.Late):
			return fmt.Errorf("expert %q searches the vectors of %q, which has none of its own for it", x.Name, x.Owner)
		}
		seen[x.Name] = true
	}
	return nil
}
