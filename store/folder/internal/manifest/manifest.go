// Package manifest reads, checks and replaces the manifest of a collection: the file that names its visible segments,
// its experts and how its words were analysed.
package manifest

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"

	"example.org/conclave/ann"
	"example.org/conclave/bm25"
	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
)

// Manifest describes one generation of a collection: its experts, segments and their
// files. Generation 0 is that of a collection whose first build has not ended.
type Manifest struct {
	// ID is random and tells apart two collections that follow each other
	// under one path.
	ID         string `json:"id"`
	Generation uint64 `json:"generation"`
	// NextSegment is the next number for the name of a segment or a file.
	NextSegment uint64    `json:"next_segment"`
	Words       Words     `json:"words"`
	Experts     []Expert  `json:"experts"`
	Segments    []Segment `json:"segments"`
	// Applied is the last entry of the log that the segments hold.
	Applied uint64 `json:"applied,omitempty"`
}

// Words are the parameters and the analysis of the words' index, the same in all segments.
type Words struct {
	K1      float64 `json:"k1"`
	B       float64 `json:"b"`
	Phrases bool    `json:"phrases,omitempty"` // pairs of adjacent terms are indexed too
	// Analysis is the name of the analysis of text into terms (forms.Analysis), "" of
	// forms.Lucene.
	Analysis string `json:"analysis,omitempty"`
	// Analyser is the fingerprint of the analysis.
	Analyser string `json:"analyser"`
}

// Params returns the parameters of BM25. For an analysis that this program does not know, it returns the zero Analysis;
// Current then reports false.
func (w Words) Params() bm25.Params {
	analysis, _ := forms.ParseAnalysis(w.AnalysisName())
	return bm25.Params{K1: w.K1, B: w.B, Phrases: w.Phrases, Analysis: analysis}
}

// AnalysisName returns the name of the analysis of text; that of forms.Lucene if Analysis is "".
func (w Words) AnalysisName() string { return cmp.Or(w.Analysis, forms.Lucene.String()) }

// FingerprintNow returns the fingerprint that Analyser would have if this program analysed the words; "" if it does not
// know the analysis.
func (w Words) FingerprintNow() string {
	analysis, err := forms.ParseAnalysis(w.AnalysisName())
	if err != nil {
		return ""
	}
	return store.Analyser(analysis)
}

// Current reports whether this program analyses texts as the program did that made the words, so that it can search
// them. It is false for an analysis that this program does not know, unless Analyser is "" too.
func (w Words) Current() bool {
	return w.Analyser == w.FingerprintNow()
}

// WordsOf returns the description of words that this program makes with these parameters.
func WordsOf(p bm25.Params) Words {
	w := Words{K1: p.K1, B: p.B, Phrases: p.Phrases, Analyser: store.Analyser(p.Analysis)}
	if p.Analysis != forms.Lucene {
		w.Analysis = p.Analysis.String()
	}
	return w
}

// Unlike returns descriptions of two parameters of words, for an error message. They name the analysis only if it
// differs.
func (w Words) Unlike(other Words) (these, those string) {
	describe := func(w Words) string {
		out := fmt.Sprintf("k1 %v and b %v", w.K1, w.B)
		if w.Phrases {
			out += " and phrases"
		}
		return out
	}
	these, those = describe(w), describe(other)
	if w.AnalysisName() != other.AnalysisName() {
		these, those = these+", analysis "+w.AnalysisName(), those+", analysis "+other.AnalysisName()
	}
	return these, those
}

// Expert is an expert whose vectors, or whose owner's, every segment has.
type Expert struct {
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

// Segment is one segment and its files.
type Segment struct {
	Name     string          `json:"name"` // of its folder
	Passages int             `json:"passages"`
	Store    SegmentFile     `json:"store"`
	Words    SegmentFile     `json:"words"`
	Experts  []SegmentExpert `json:"experts"`
	Tags     SegmentFile     `json:"tags"`
	// Spelling is the file of the words as the passages have them.
	Spelling SegmentFile `json:"spelling"`
	// Reads says how the encoders read the passages; nil: not known.
	Reads *Reads `json:"reads,omitempty"`
	// Copies is the file of the fingerprints of the passages, by which copies are known.
	Copies SegmentFile `json:"copies"`
	// Fields is the file of the values of the metadata.
	Fields SegmentFile `json:"fields"`
	// Deleted is how many passages of the segment are deleted; Tombstones is
	// the file that says which.
	Deleted    int          `json:"deleted,omitempty"`
	Tombstones *SegmentFile `json:"tombstones,omitempty"`
}

// SegmentExpert is the files of one expert in a segment.
type SegmentExpert struct {
	Name    string       `json:"name"`
	Vectors SegmentFile  `json:"vectors"`
	Graph   *SegmentFile `json:"graph,omitempty"` // none for flat
	Parts   *SegmentFile `json:"parts,omitempty"` // which vectors are a passage's, and of which parts
	Recall  store.Recall `json:"recall"`
}

// SegmentFile is a file of a segment: its size, which is compared at every
// open, and a checksum of all of it, which Verify compares.
type SegmentFile struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Sum  string `json:"xxh3"` // 128 bits, hexadecimal
}

// Files returns all files of the segment, with those of its experts, lists and tombstones.
func (s *Segment) Files() []SegmentFile {
	out := []SegmentFile{s.Store, s.Words}
	for i := range s.Experts {
		for _, f := range s.Experts[i].Files() {
			out = append(out, *f)
		}
	}
	for _, f := range s.Reads.Files() {
		out = append(out, *f)
	}
	out = append(out, s.Tags, s.Spelling, s.Copies, s.Fields)
	if s.Tombstones != nil {
		out = append(out, *s.Tombstones)
	}
	return out
}

// Expert returns the segment's files of an expert, in place; nil if it has none.
func (s *Segment) Expert(name string) *SegmentExpert {
	for i := range s.Experts {
		if s.Experts[i].Name == name {
			return &s.Experts[i]
		}
	}
	return nil
}

// Segment returns the segment with this name, in place; nil if there is none.
func (m *Manifest) Segment(name string) *Segment {
	for i := range m.Segments {
		if m.Segments[i].Name == name {
			return &m.Segments[i]
		}
	}
	return nil
}

// Expert returns the expert with this name, in place; nil if there is none.
func (m *Manifest) Expert(name string) *Expert {
	for i := range m.Experts {
		if m.Experts[i].Name == name {
			return &m.Experts[i]
		}
	}
	return nil
}

// Keeper returns the expert whose vectors the named one searches: itself or its owner. It is nil if one of them is
// missing.
func (m *Manifest) Keeper(name string) *Expert {
	x := m.Expert(name)
	if x != nil && x.Owner != "" {
		return m.Expert(x.Owner)
	}
	return x
}

// Keepers returns a new slice of the experts that have vectors of their own.
func (m *Manifest) Keepers() []Expert {
	return slices.DeleteFunc(slices.Clone(m.Experts), func(x Expert) bool { return x.Owner != "" })
}

// Live returns the number of passages that are not deleted.
func (m *Manifest) Live() int {
	n := 0
	for _, s := range m.Segments {
		n += s.Passages - s.Deleted
	}
	return n
}

// Passages returns the number of passages in the segments, with the deleted ones.
func (m *Manifest) Passages() int {
	n := 0
	for _, s := range m.Segments {
		n += s.Passages
	}
	return n
}

// Next returns a copy for the next generation. Elements of its slices may be appended and replaced without changing m,
// but what their pointers point to is shared.
func (m *Manifest) Next() *Manifest {
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
	SegmentName = regexp.MustCompile(`^seg-[0-9]{6,}$`)
	fileName    = regexp.MustCompile(`^[a-z0-9][a-z0-9._@-]{0,159}$`)
)

// checkContents returns an error if a manifest, whatever its file had, cannot be used: a name that leads out of the
// folder or is there twice, an impossible number, or experts and segments that do not match.
func (m *Manifest) checkContents() error {
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
	if err := m.CheckOwners(); err != nil {
		return err
	}
	total := 0
	keepers := m.Keepers()
	for i := range m.Segments {
		s := &m.Segments[i]
		if err := once("segment", s.Name, SegmentName); err != nil {
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
			switch expert := s.Expert(x.Name); {
			case expert == nil:
				return fmt.Errorf("segment %s has nothing of expert %q", s.Name, x.Name)
			case x.Parts && expert.Parts == nil:
				return fmt.Errorf("segment %s has no parts of passages for expert %q, or has them for nothing", s.Name, x.Name)
			}
		}
		for _, f := range s.Files() {
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

// Reads names the lists of a segment's passages of which encoders read only the beginning
// (Cut), which they can hardly read (Unread), and of which that is not known (Unknown), since
// they came from a segment without Reads. A list is nil if it would be empty.
type Reads struct {
	Cut     *Marks `json:"cut,omitempty"`
	Unread  *Marks `json:"unread,omitempty"`
	Unknown *Marks `json:"unknown,omitempty"`
}

// Marks is a file that lists passages, in the format of tombstones.
type Marks struct {
	SegmentFile
	Passages int `json:"passages"`
}

// Files returns the files of the lists, in place; nil if r is nil or there are none.
func (r *Reads) Files() (out []*SegmentFile) {
	if r == nil {
		return nil
	}
	for _, marks := range []*Marks{r.Cut, r.Unread, r.Unknown} {
		if marks != nil {
			out = append(out, &marks.SegmentFile)
		}
	}
	return out
}

// Files returns the expert's files, in place, so that their sizes and checksums can be set.
func (x *SegmentExpert) Files() []*SegmentFile {
	out := []*SegmentFile{&x.Vectors}
	for _, f := range []*SegmentFile{x.Graph, x.Parts} {
		if f != nil {
			out = append(out, f)
		}
	}
	return out
}

// CheckOwners returns an *OwnerError if an expert without vectors of its own has no owner that keeps vectors of the
// same encoder.
func (m *Manifest) CheckOwners() error {
	for _, x := range m.Experts {
		if x.Owner == "" {
			continue
		}
		bad := func(format string, args ...any) error {
			return &OwnerError{x.Owner, fmt.Errorf(
				"expert %q has no vectors of its own and searches those of expert %q, "+format,
				append([]any{x.Name, x.Owner}, args...)...)}
		}
		switch owner := m.Expert(x.Owner); {
		case owner == nil:
			return bad("which is not there: add it first")
		case owner.Owner != "":
			return bad("which has none either: name expert %q, whose vectors that one searches", owner.Owner)
		case owner.Index.Kind == ann.Late:
			return bad("which has a list of vectors for each passage: an expert with one vector can be searched")
		case owner.Fingerprint != x.Fingerprint || owner.Dimension != x.Dimension:
			return bad(
				"made by the encoder %s (%d numbers), and its own is %s (%d numbers): questions of one do not fit the vectors of the other",
				Short(owner.Fingerprint), owner.Dimension, Short(x.Fingerprint), x.Dimension,
			)
		case x.Parts || x.Index != (store.Index{}):
			return bad("and has parts of passages or an index all the same")
		}
	}
	return nil
}

// Named returns the paths of all folders and files that the manifest names, relative to the collection's folder.
func (m *Manifest) Named() map[string]bool {
	named := map[string]bool{}
	for i := range m.Segments {
		s := &m.Segments[i]
		named[s.Name] = true
		for _, f := range s.Files() {
			named[filepath.Join(s.Name, f.Name)] = true
		}
	}
	return named
}

// OwnerError is the error of an expert whose owner is not there, or has other vectors.
type OwnerError struct {
	Owner string
	err   error
}

// Error returns the text that says what is wrong with the owner and what to do.
func (e *OwnerError) Error() string { return e.err.Error() }

// Short returns the first 16 characters of a fingerprint, enough to tell two apart in a message.
func Short(fingerprint string) string {
	return fingerprint[:min(len(fingerprint), 16)]
}
