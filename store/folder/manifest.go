package folder

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"example.org/conclave/bm25"
	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
)

// manifest says what of a folder counts. The zero generation is a collection
// whose first build has not ended.
type manifest struct {
	// ID is random and tells apart two collections that follow each other
	// under one path.
	ID         string `json:"id"`
	Generation uint64 `json:"generation"`
	// NextSegment is the next number for the name of a segment or a file.
	NextSegment uint64            `json:"next_segment"`
	Words       wordsManifest     `json:"words"`
	Experts     []expertManifest  `json:"experts"`
	Segments    []segmentManifest `json:"segments"`
	// Applied is the last entry of the log that the segments hold.
	Applied uint64 `json:"applied,omitempty"`
}

// wordsManifest is how BM25 was built. All segments agree.
type wordsManifest struct {
	K1      float64 `json:"k1"`
	B       float64 `json:"b"`
	Phrases bool    `json:"phrases,omitempty"` // pairs of adjacent terms are indexed too
	// Analysis is the name of the analysis of text into terms (forms.Analysis), "" of
	// forms.Lucene, which alone older programs know.
	Analysis string `json:"analysis,omitempty"`
	// Analyser is the fingerprint of the analysis.
	Analyser string `json:"analyser"`
}

// params returns the constants. An analysis that this program does not know is checkAnalyser's
// to refuse.
func (w wordsManifest) params() bm25.Params {
	analysis, _ := forms.ParseAnalysis(w.analysis())
	return bm25.Params{K1: w.K1, B: w.B, Phrases: w.Phrases, Analysis: analysis}
}

// analysis returns the name of the analysis.
func (w wordsManifest) analysis() string { return cmp.Or(w.Analysis, forms.Lucene.String()) }

// fingerprintNow returns what Analyser would be if this program analysed the words; "" where it
// does not know the analysis.
func (w wordsManifest) fingerprintNow() string {
	analysis, err := forms.ParseAnalysis(w.analysis())
	if err != nil {
		return ""
	}
	return store.Analyser(analysis)
}

// current reports whether this program can search the words.
func (w wordsManifest) current() bool {
	analysis, err := forms.ParseAnalysis(w.analysis())
	return err == nil && store.CheckAnalyser(w.Analyser, analysis)
}

// comparable reports whether scores of both words compare: they have the same constants and an analysis that this
// program searches.
func (w wordsManifest) comparable(other wordsManifest) bool {
	if w.current() && other.current() {
		w.Analyser = other.Analyser
	}
	return w == other
}

// wordsOf describes words that this program makes with the given parameters.
func wordsOf(p bm25.Params) wordsManifest {
	w := wordsManifest{K1: p.K1, B: p.B, Phrases: p.Phrases, Analyser: store.Analyser(p.Analysis)}
	if p.Analysis != forms.Lucene {
		w.Analysis = p.Analysis.String()
	}
	return w
}

// unlike describes words and others beside them, for people: the constants of both, and
// the analysis where it differs.
func (w wordsManifest) unlike(other wordsManifest) (these, those string) {
	describe := func(w wordsManifest) string {
		out := fmt.Sprintf("k1 %v and b %v", w.K1, w.B)
		if w.Phrases {
			out += " and phrases"
		}
		return out
	}
	these, those = describe(w), describe(other)
	if w.analysis() != other.analysis() {
		these, those = these+", analysis "+w.analysis(), those+", analysis "+other.analysis()
	}
	return these, those
}

// expertManifest is an expert whose vectors, or whose owner's, every segment has.
type expertManifest struct {
	Name        string      `json:"name"`
	Fingerprint string      `json:"fingerprint"` // of the passage encoder
	Dimension   int         `json:"dimension"`
	Index       store.Index `json:"index,omitzero"` // none with an owner
	// Parts: a passage has a vector for each of several parts of its text.
	Parts bool `json:"parts,omitempty"`
	// Owner is the expert whose vectors are this one's too: segments have nothing of
	// this one.
	Owner string `json:"owner,omitempty"`
}

// segmentManifest is one segment and its files.
type segmentManifest struct {
	Name     string          `json:"name"` // of its folder
	Passages int             `json:"passages"`
	Store    fileManifest    `json:"store"`
	Words    fileManifest    `json:"words"`
	Experts  []segmentExpert `json:"experts"`
	Tags     fileManifest    `json:"tags"`
	// Spelling is the file of the words as the passages have them.
	Spelling fileManifest `json:"spelling"`
	// Reads says how the encoders read the passages; nil: not known.
	Reads *readsManifest `json:"reads,omitempty"`
	// Copies is the file of the fingerprints of the passages, by which copies are known.
	Copies fileManifest `json:"copies"`
	// Fields is the file of the values of the metadata.
	Fields fileManifest `json:"fields"`
	// Deleted is how many passages of the segment are deleted; Tombstones is
	// the file that says which.
	Deleted    int           `json:"deleted,omitempty"`
	Tombstones *fileManifest `json:"tombstones,omitempty"`
}

// segmentExpert is the files of one expert in a segment.
type segmentExpert struct {
	Name    string        `json:"name"`
	Vectors fileManifest  `json:"vectors"`
	Graph   *fileManifest `json:"graph,omitempty"` // none for flat
	Parts   *fileManifest `json:"parts,omitempty"` // which vectors are a passage's, and of which parts
	Recall  store.Recall  `json:"recall"`
}

// fileManifest is a file of a segment: its size, which is compared at every
// open, and a checksum of all of it, which Verify compares.
type fileManifest struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Sum  string `json:"xxh3"` // 128 bits, hexadecimal
}

// files lists a segment's files.
func (s *segmentManifest) files() []fileManifest {
	out := []fileManifest{s.Store, s.Words}
	for i := range s.Experts {
		for _, f := range s.Experts[i].files() {
			out = append(out, *f)
		}
	}
	for _, f := range s.Reads.files() {
		out = append(out, *f)
	}
	out = append(out, s.Tags, s.Spelling, s.Copies, s.Fields)
	if s.Tombstones != nil {
		out = append(out, *s.Tombstones)
	}
	return out
}

// expert finds an expert's files in a segment.
func (s *segmentManifest) expert(name string) *segmentExpert {
	for i := range s.Experts {
		if s.Experts[i].Name == name {
			return &s.Experts[i]
		}
	}
	return nil
}

// segment finds a segment.
func (m *manifest) segment(name string) *segmentManifest {
	for i := range m.Segments {
		if m.Segments[i].Name == name {
			return &m.Segments[i]
		}
	}
	return nil
}

// expert finds an expert of the collection.
func (m *manifest) expert(name string) *expertManifest {
	for i := range m.Experts {
		if m.Experts[i].Name == name {
			return &m.Experts[i]
		}
	}
	return nil
}

// keeper returns the expert whose vectors an expert has: itself, or its owner.
func (m *manifest) keeper(name string) *expertManifest {
	x := m.expert(name)
	if x != nil && x.Owner != "" {
		return m.expert(x.Owner)
	}
	return x
}

// keepers returns the experts that have vectors of their own.
func (m *manifest) keepers() []expertManifest {
	return slices.DeleteFunc(slices.Clone(m.Experts), func(x expertManifest) bool { return x.Owner != "" })
}

// live returns how many passages there are.
func (m *manifest) live() int {
	n := 0
	for _, s := range m.Segments {
		n += s.Passages - s.Deleted
	}
	return n
}

// passages returns how many passages the segments hold, deleted ones too.
func (m *manifest) passages() int {
	n := 0
	for _, s := range m.Segments {
		n += s.Passages
	}
	return n
}

// next returns a copy of m for the next generation. Slices are copied one level
// deep, so that appending to them or replacing an element leaves m alone.
func (m *manifest) next() *manifest {
	n := *m
	n.Generation++
	n.Experts = slices.Clone(m.Experts)
	n.Segments = slices.Clone(m.Segments)
	for i := range n.Segments {
		n.Segments[i].Experts = slices.Clone(m.Segments[i].Experts)
	}
	return &n
}

var (
	segmentName = regexp.MustCompile(`^seg-[0-9]{6,}$`)
	fileName    = regexp.MustCompile(`^[a-z0-9][a-z0-9._@-]{0,159}$`)
)

// check makes sure that a manifest can be followed: whatever its bytes were,
// no name leads out of the folder and no two parts contradict each other.
func (m *manifest) check() error {
	seen := map[string]bool{}
	once := func(kind, name string, pattern *regexp.Regexp) error {
		if !pattern.MatchString(name) {
			return fmt.Errorf("%q is no name of a %s", name, kind)
		}
		if seen[kind+" "+name] {
			return fmt.Errorf("%s %q is there twice", kind, name)
		}
		seen[kind+" "+name] = true
		return nil
	}
	for _, x := range m.Experts {
		if err := once("expert", x.Name, store.ExpertNames); err != nil {
			return err
		}
		if x.Dimension < 1 || x.Dimension > store.MaxDimension {
			return fmt.Errorf("expert %q has dimension %d", x.Name, x.Dimension)
		}
	}
	if err := m.checkOwners(""); err != nil {
		return err
	}
	total := 0
	keepers := m.keepers()
	for i := range m.Segments {
		s := &m.Segments[i]
		if err := once("segment", s.Name, segmentName); err != nil {
			return err
		}
		if s.Passages < 1 || s.Deleted < 0 || s.Deleted > s.Passages || (s.Deleted > 0) != (s.Tombstones != nil) {
			return fmt.Errorf("segment %s has %d passages of which %d are deleted", s.Name, s.Passages, s.Deleted)
		}
		total += s.Passages
		if uint64(total) > uint64(^rank.Ordinal(0)) {
			return fmt.Errorf("the segments have more than %d passages", ^rank.Ordinal(0))
		}
		if len(s.Experts) != len(keepers) {
			return fmt.Errorf("segment %s has %d experts, the collection %d", s.Name, len(s.Experts), len(keepers))
		}
		for _, x := range keepers {
			switch of := s.expert(x.Name); {
			case of == nil:
				return fmt.Errorf("segment %s has nothing of expert %q", s.Name, x.Name)
			case x.Parts && of.Parts == nil:
				return fmt.Errorf("segment %s has no parts of passages for expert %q, or has them for nothing", s.Name, x.Name)
			}
		}
		for _, f := range s.files() {
			if err := once("file of "+s.Name, f.Name, fileName); err != nil {
				return err
			}
			if f.Size < 1 {
				return fmt.Errorf("file %q of segment %s has %d bytes", f.Name, s.Name, f.Size)
			}
		}
	}
	return nil
}
