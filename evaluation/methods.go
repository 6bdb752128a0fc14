package evaluation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/search"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// MethodKind is the kind of a method: a source, a fusion or an oracle.
type MethodKind string

// The kinds of methods.
const (
	KindSource     MethodKind = "source"     // one expert, or BM25, alone
	KindFusion     MethodKind = "fusion"     // a fusion of all sources
	KindComparison MethodKind = "comparison" // what was asked for beside these
	KindOracle     MethodKind = "oracle"     // knows what no method can know
)

// Method is one way to rank, under the name that the tables have.
type Method struct {
	Name string     `json:"name"`
	Kind MethodKind `json:"kind"`
	// Source is the source of a KindSource.
	Source string `json:"source,omitempty"`
	// Request is the request by which it ranks, without the question, the depth and what depends on the sources; empty
	// for an oracle.
	Request search.Request `json:"request,omitzero"`
}

// Lineup are the experts of a collection; BM25 is always there, too.
type Lineup []learned.ExpertInfo

// Choose returns the methods to measure: with alone each source by itself, the fusions ("all" that make sense with
// these sources, "none", or names with commas between), and others. A fusion that the engine refuses is left out with a
// note, for instance one that needs a calibration that is missing; if it refuses one of the others, Choose fails. The
// engine is asked question to find out. timeout is for one method.
func (l Lineup) Choose(
	ctx context.Context,
	engine Engine,
	alone bool,
	fusions string,
	others []Method,
	question string,
	timeout time.Duration,
) (kept []Method, notes []string, err error) {
	var all []Method
	if alone {
		all = l.Alone()
	}
	switch fusions {
	case "none":
	case "all":
		all = append(all, l.Fusions()...)
	default:
		for _, name := range strings.Split(fusions, ",") {
			all = append(all, Method{Name: name, Kind: KindFusion, Request: requestFor(name)})
		}
	}
	all = append(all, others...)
	if err := checkDistinct(all); err != nil {
		return nil, nil, err
	}
	return keepPossible(ctx, engine, all, question, timeout)
}

// CheckFusions returns an error unless fusions is "all", "none" or a list of known methods, as Choose takes it.
func CheckFusions(fusions string) error {
	for _, name := range strings.Split(fusions, ",") {
		if fusions != "none" && fusions != "all" && !slices.Contains(search.MethodNames(), name) {
			return fmt.Errorf("there is no fusion method %q: %s are known", name, strings.Join(search.MethodNames(), ", "))
		}
	}
	return nil
}

// checkDistinct returns an error if two methods have one name, or one has that of an oracle.
func checkDistinct(methods []Method) error {
	for i, m := range methods {
		taken := append(slices.Clone(methods[:i]), oracleMethods(methods)...)
		if slices.ContainsFunc(taken, func(other Method) bool { return other.Name == m.Name }) {
			return fmt.Errorf(
				"there are two methods called %q: choose a name that none of %s has", m.Name, methodNames(taken),
			)
		}
	}
	return nil
}

// calibratedNames returns the names of the experts with a calibrated confidence. It is never nil.
func (l Lineup) calibratedNames() []string {
	names := []string{}
	for _, x := range l {
		if x.Calibration != nil && x.EnsembleMembers > 1 {
			names = append(names, x.Name)
		}
	}
	return names
}

// Alone returns a method for each source that ranks by that source alone.
func (l Lineup) Alone() []Method {
	no, yes := false, true
	var out []Method
	for _, x := range l {
		// MUF over one expert is its ranking with its confidence.
		name := fusion.MethodSum
		normalisation := "raw"
		if x.Calibration != nil && x.EnsembleMembers > 1 {
			name = fusion.MethodMUF
			normalisation = ""
		}
		out = append(out, Method{Name: x.Name + " alone", Kind: KindSource, Source: x.Name,
			Request: search.Request{
				Fusion:        search.Methods{Names: []string{name}},
				Experts:       &[]string{x.Name},
				BM25:          &no,
				Normalisation: normalisation,
			}})
	}
	return append(out, Method{Name: reply.WordSource + " alone", Kind: KindSource, Source: reply.WordSource,
		Request: search.Request{
			Fusion:        search.Methods{Names: []string{fusion.MethodSum}},
			Experts:       &[]string{},
			BM25:          &yes,
			Normalisation: "raw",
		}})
}

// requestFor returns the request for a fusion method by its name. That for "auto" is what is served by default: a
// reranker takes part where it pays.
func requestFor(method string) search.Request {
	return search.Request{
		Fusion: search.Methods{Names: []string{method}},
		Rerank: ask.RerankOptions{Asked: true, Auto: method == search.MethodAuto},
	}
}

// Fusions returns "auto", as it is served by default, and every variant of every fusion method that makes sense with
// these experts (fusion.Methods); nil without experts. The engine may refuse some of them (keepPossible).
func (l Lineup) Fusions() []Method {
	if len(l) == 0 {
		return nil // one source: there is nothing to fuse
	}
	calibrated := l.calibratedNames()
	several := len(l) > 1
	out := []Method{
		{
			Name:    search.MethodAuto,
			Kind:    KindFusion,
			Request: requestFor(search.MethodAuto),
		},
	}
	for _, m := range fusion.Methods() {
		if m.Basis() == fusion.FromEnsembles && len(calibrated) < 2 ||
			m.RanksGranularities() && !slices.ContainsFunc(l, func(x learned.ExpertInfo) bool { return x.Parts }) {
			continue
		}
		for _, v := range m.Variants {
			some := len(calibrated) > 0 && len(calibrated) < len(l)
			if v.ExpertsAlone && !several || v.CalibratedAlone && !(some && len(calibrated) > 1) {
				continue
			}
			r := search.Request{
				Fusion:        search.Methods{Names: []string{m.Name}},
				Missing:       string(v.Missing),
				Normalisation: string(v.Normalisation),
				Sharpness:     v.Sharpness,
			}
			if (m.WeighsByConfidence(len(l)) || v.CalibratedAlone) && some {
				r.Experts = &calibrated
			}
			if no := false; v.ExpertsAlone {
				r.BM25 = &no
			}
			out = append(out, Method{Name: v.Name, Kind: KindFusion, Request: r})
		}
	}
	return out
}

// keepPossible asks the engine one question by each method and keeps those that it does not
// refuse. The refusal of a method that is no fusion is an error, since the user asked for
// it. timeout is for one method.
func keepPossible(
	ctx context.Context,
	engine Engine,
	methods []Method,
	question string,
	timeout time.Duration,
) (kept []Method, notes []string, err error) {
	for _, m := range methods {
		r := m.Request
		r.TimeoutMS = int(timeout.Milliseconds())
		r.Question = question
		_, err := engine.Compare(ctx, []search.Request{r})
		var refused *fault.Error
		switch {
		case err == nil:
			kept = append(kept, m)
		case !errors.As(err, &refused) || refused.Kind != fault.Invalid || m.Kind != KindFusion:
			return nil, nil, fmt.Errorf("the method %q: %w", m.Name, err)
		default:
			notes = append(notes, fmt.Sprintf("%s is left out: %s", m.Name, strings.TrimPrefix(refused.Detail, "request 1: ")))
		}
	}
	return kept, notes, nil
}

// ParseMethod returns the method that a user describes as
//
//	NAME: FUSION [experts=a,b|none] [bm25=yes|no] [alpha=0.05] [weights=a:2,bm25:0.1]
//	      [missing=exact|min] [normalisation=raw|minmax|zscore|centre-range] [sharpness=1] [weighting=familiar]
//	      [rerank=RERANKER]
//
// for instance "base and BM25: hybrid experts=base alpha=0.05". It fails if the text has another form; the engine
// checks the values.
func ParseMethod(text string) (Method, error) {
	wrong := func(format string, args ...any) (Method, error) {
		return Method{}, fmt.Errorf("the method %q: %w", text, fmt.Errorf(format, args...))
	}
	name, rest, found := strings.Cut(text, ":")
	words := strings.Fields(rest)
	name = strings.TrimSpace(name)
	if !found || name == "" || len(words) == 0 {
		return wrong(
			"NAME: FUSION is expected, and after it what is special about it, such as \"base and BM25: hybrid experts=base alpha=0.05\"",
		)
	}
	if !slices.Contains(search.MethodNames(), words[0]) {
		return wrong("there is no fusion method %q: %s are known", words[0], strings.Join(search.MethodNames(), ", "))
	}
	r := search.Request{Fusion: search.Methods{Names: words[:1:1]}}
	weigh := func(source, number string) error {
		w, err := strconv.ParseFloat(number, 64)
		if err != nil || !(w >= 0) {
			return fmt.Errorf("the weight %q of %s is not a number from 0 up", number, source)
		}
		if r.Weights == nil {
			r.Weights = map[string]float64{}
		}
		r.Weights[source] = w
		return nil
	}
	for _, word := range words[1:] {
		key, value, found := strings.Cut(word, "=")
		if !found || value == "" {
			return wrong("%q is not of the form key=value", word)
		}
		var err error
		switch key {
		case "experts":
			names := []string{}
			if value != "none" {
				names = strings.Split(value, ",")
			}
			r.Experts = &names
		case "rerank":
			r.Rerank = ask.RerankOptions{Asked: true, Wanted: true, Model: value}
			if value == ask.RerankAuto {
				r.Rerank = ask.RerankOptions{Asked: true, Auto: true}
			}
		case "bm25":
			use := value == "yes"
			if !use && value != "no" {
				return wrong("bm25 is %q: yes or no is meant", value)
			}
			r.BM25 = &use
		case "alpha":
			err = weigh(reply.WordSource, value)
		case "weights":
			for pair := range strings.SplitSeq(value, ",") {
				source, number, _ := strings.Cut(pair, ":")
				err = weigh(source, number)
				if err != nil {
					break
				}
			}
		case "missing":
			r.Missing = value
		case "normalisation":
			r.Normalisation = value
		case "sharpness":
			r.Sharpness, err = strconv.ParseFloat(value, 64)
		case "weighting":
			r.Weighting = value
		default:
			return wrong(
				"there is no %q: experts, bm25, alpha, weights, missing, normalisation, sharpness, weighting and rerank are known",
				key,
			)
		}
		if err != nil {
			return wrong("%w", err)
		}
	}
	return Method{Name: name, Kind: KindComparison, Request: r}, nil
}
