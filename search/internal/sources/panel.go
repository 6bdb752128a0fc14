package sources

import (
	"example.org/conclave/fusion"
	"example.org/conclave/search/internal/content"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
	"fmt"
	"slices"
	"sync/atomic"
)

// Panel holds the sources of a line-up. It does not change, apart from Users.
type Panel struct {
	Run     run.Runner
	Sources []Source // in the order in which answers name them, the experts first
	Experts []*Dense
	Late    []*lateSource // of which one takes part in an inquiry (otherLate)
	// Reference is the expert by whose vectors familiarity is measured; nil: familiarity is not known.
	Reference *Dense
	// Generalist is the first expert without a domain, whose vocabulary tells how much of a question can be read; nil:
	// there is none.
	Generalist *learned.Expert
	words      *content.Words
	symbols    bool // the word source also reads the passages' share of symbols (SymbolShare)
	Users      *usage
}

// PanelOptions describes the sources of a panel.
type PanelOptions struct {
	Experts       []learned.Expert
	Late          []learned.Expert // of late interaction
	Reference     string           // the name of the expert by whose vectors familiarity is measured; "": there is none
	Granularities []string         // the names of the experts with a granularity that the method cce uses; none: all
	WordsChance   learned.Chance   // of BM25 over words; nil: not calibrated
	Symbols       bool             // the word source also reads the passages' share of symbols (SymbolShare)
	Run           run.Runner
	Words         *content.Words
}

// NewPanel returns a panel with a source for each expert, for words, for phrases, for nearness, and for each
// expert of late interaction. It keeps pointers to the experts. The panel has one user: the line-up.
func NewPanel(o PanelOptions) *Panel {
	p := &Panel{Run: o.Run, Generalist: firstGeneralist(o.Experts), Users: newUsage(), symbols: o.Symbols,
		words: o.Words}
	for i := range o.Experts {
		p.addExpert(&o.Experts[i], o.Reference)
	}
	for _, x := range p.Experts {
		x.Base = p.Reference != nil && x.Model.Head == nil && x.encoder == p.Reference.encoder &&
			(x.Model.Granularity == "" || x == p.Reference)
		x.Granular = x.Model.Granularity != "" &&
			(len(o.Granularities) == 0 || slices.Contains(o.Granularities, x.Model.Name))
	}
	p.Sources = append(p.Sources,
		&wordSource{label: label{reply.WordSource, reply.KindLexical, o.WordsChance}},
		&phraseSource{label{reply.PhraseSource, reply.KindLexical, nil}},
		&nearSource{label{reply.NearSource, reply.KindLexical, nil}})
	for i := range o.Late {
		late := &lateSource{label{o.Late[i].Name, reply.KindLate, nil}, &o.Late[i], o.Words}
		p.Late, p.Sources = append(p.Late, late), append(p.Sources, late)
	}
	return p
}

// addExpert adds the source of an expert. Experts that can share one run of an encoder get the same Dense.encoder. The
// one with the name reference becomes p.Reference.
func (p *Panel) addExpert(x *learned.Expert, reference string) {
	own := &Dense{
		label:   label{x.Name, x.Info.Kind, x.Chance},
		Model:   x,
		number:  len(p.Experts),
		encoder: len(p.Experts),
	}
	same := slices.IndexFunc(p.Experts, func(other *Dense) bool { return learned.SameEncoder(x, other.Model) })
	if same >= 0 {
		own.encoder = p.Experts[same].encoder
	}
	if x.Name == reference {
		p.Reference = own
	}
	p.Experts, p.Sources = append(p.Experts, own), append(p.Sources, own)
}

// usage counts the users of a line-up: its requests, sources that outlive their request, the line-up itself while it is
// current, and the line-up before it while that has users.
type usage struct {
	users   atomic.Int64
	Drained chan struct{} // closed when the last user leaves
	Next    *usage        // of the next line-up, which loses a user when the last one here leaves; nil: there is none
}

// newUsage returns the usage of a line-up with one user.
func newUsage() *usage {
	u := &usage{Drained: make(chan struct{})}
	u.users.Store(1)
	return u
}

// Enter adds a user and returns true; if there are no users any more, it adds none and returns false.
func (u *usage) Enter() bool {
	for n := u.users.Load(); n > 0; n = u.users.Load() {
		if u.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// Hold adds a user. The caller is a user already, so that there is at least one.
func (u *usage) Hold() { u.users.Add(1) }

// Leave removes a user. When the last one leaves, it closes Drained and removes a user of the next line-up.
func (u *usage) Leave() {
	for u != nil && u.users.Add(-1) == 0 {
		close(u.Drained)
		u = u.Next
	}
}

// ExclusionReason returns why a method does not use the source at an index of Sources, as a sentence for users. It
// returns "" if the method uses it, or if the source is not an expert.
func (p *Panel) ExclusionReason(offer fusion.Offer, m *fusion.Method, at int) string {
	if at >= len(p.Experts) {
		return ""
	}
	switch m.Excludes(offer, p.Experts[at].Ability()) {
	case fusion.NotGranular:
		return fmt.Sprintf(
			"%s ranks by granularities, unless others are named, and this is none, or calibration chose others", m.Name,
		)
	case fusion.NotSure:
		return fmt.Sprintf(
			"%s weights experts by how sure they are, and this one cannot say: it has no ensemble, or nobody calibrated it",
			m.Name,
		)
	}
	return ""
}

// Ability returns whether the expert can say how sure it is and whether it is one of the granularities, which decides
// whether a method can use it.
func (x *Dense) Ability() fusion.Ability {
	return fusion.Ability{Sure: x.Model.IsCalibrated(), Granular: x.Granular}
}

// IsUnusual reports whether one of the words is not a whole word of the general encoder's vocabulary. That lacks most
// names of companies, products and people, and has those of countries, peoples and months. It returns false if there is
// no general encoder.
func (p *Findings) IsUnusual(words []string) bool {
	x := p.Generalist()
	if x == nil {
		return false
	}
	return slices.ContainsFunc(words, func(word string) bool {
		all, whole, _ := x.Encoder.KnownWords(word)
		return whole < all
	})
}

// ExpertOf returns the expert of Sources[at], dense or of late interaction; nil for the sources that have no expert:
// words, phrases and nearness. It panics if there is no such index.
func (p *Panel) ExpertOf(at int) *learned.Expert {
	switch x := p.Sources[at].(type) {
	case *Dense:
		return x.Model
	case *lateSource:
		return x.Model
	}
	return nil
}
