package search

import (
	"fmt"
	"slices"
	"strings"

	"conclave/fusion"
)

// The names of the fusion methods.
const (
	MethodAuto      = "auto"
	MethodMUF       = "muf"
	MethodMUFSparse = "muf-sparse"
	MethodHybrid    = "hybrid"
	MethodSum       = "sum"
	MethodRRF       = "rrf"
	MethodGate      = "gate"
)

// MethodNames lists the fusion methods that a request may ask for.
func MethodNames() []string {
	return []string{MethodAuto, MethodMUF, MethodMUFSparse, MethodHybrid, MethodSum, MethodRRF, MethodGate}
}

// method says what a fusion method needs. Experts take part in every one.
type method struct {
	words      bool // BM25 takes part
	needsDense bool // cannot do without an expert
	needsWords bool // cannot do without BM25
	completes  bool // uses scores that a source did not return

	normalises bool // scales scores: takes "normalisation"
	weighs     bool // multiplies by the weights of a request: takes "weights", of BM25 alone unless all are meant
	weighsAll  bool

	// confidence: an expert counts by how sure it is. onlyAmong: that matters
	// only among several experts.
	confidence, onlyAmong bool

	// gated: the calibrated gate decides, which reads confidences where there
	// are any.
	gated bool
}

func methodOf(name string) method {
	switch name {
	case MethodMUF:
		return method{needsDense: true, confidence: true, completes: true, normalises: true}
	case MethodMUFSparse:
		return method{needsDense: true, confidence: true}
	case MethodHybrid:
		return method{words: true, needsDense: true, needsWords: true, confidence: true, onlyAmong: true, completes: true, normalises: true, weighs: true}
	case MethodSum:
		return method{words: true, completes: true, normalises: true, weighs: true, weighsAll: true}
	case MethodGate:
		return method{words: true, completes: true, gated: true}
	}
	return method{words: true, weighs: true, weighsAll: true} // rrf
}

// asksConfidence reports whether the method has to know how sure each of n
// experts is.
func (m method) asksConfidence(n int) bool { return m.confidence && (!m.onlyAmong || n > 1) }

func missingNames() []string { return []string{string(fusion.Exact), string(fusion.Min)} }

func normalisationNames() []string {
	var names []string
	for _, n := range fusion.Normalisations() {
		names = append(names, string(n))
	}
	return names
}

func fieldNames() []string {
	return []string{"title", "text", "tags", "metadata", "contributions", "sources"}
}

func known(names []string, name string) bool { return slices.Contains(names, name) }

// list joins names for a message: a, b, c. A long list is cut.
func list(names []string) string {
	const most = 20
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
