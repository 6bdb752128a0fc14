package fusion

// Method is a way to make one ranking of several. Each is defined in a file of its own and named
// in Methods. What it needs of the sources, which options it takes and what is calibrated for it
// are what its methods answer (needs.go): serving, fitting, measuring and the documentation ask
// those.
type Method struct {
	Name string
	// Variants are the settings besides the usual ones that an evaluation compares.
	Variants []Variant
	// Fuse ranks the best k candidates of the sources that take part.
	Fuse func(in Input, s Settings, k int) (Ranking, error)

	words      bool // BM25 takes part, beside the experts, which always do
	needsDense bool // it cannot do without an expert
	needsWords bool // nor without BM25
	completes  bool // it uses scores that a source did not return: takes Settings.Missing
	normalises bool // it scales scores: takes Settings.Normalisation
	sharpens   bool // it weighs by a power of confidences: takes Settings.Sharpness
	familiar   bool // it can weigh by familiarity, too: takes Settings.Weighting
	weighs     weighs
	// confidence: an expert is weighted by its confidence. onlyAmong: that matters only among
	// several experts.
	confidence, onlyAmong bool
	// granular: it ranks by the granularities of one expert, or by the experts that a request
	// names.
	granular bool
	// gated: a gate decides, which reads confidences where there are any, how familiar the
	// question is, and what phrases and late interaction say.
	gated bool
}

// weighs says whose weights a method multiplies by.
type weighs int

// The sources whose Settings.Weights a method looks at.
const (
	nobody weighs = iota
	wordsAlone
	everybody
)

// Variant is a method with other settings than the usual ones.
type Variant struct {
	Name          string
	Missing       Missing
	Normalisation Normalisation
	Sharpness     float64
	// ExpertsAlone: without BM25. CalibratedAlone: of the experts that can say how sure
	// they are, where there are others.
	ExpertsAlone, CalibratedAlone bool
}

// Input is what is fused: the sources that take part, and what is known of them.
type Input struct {
	Table   *Candidates
	Sources []ObservedSource
	Wording Wording
}

// Settings are what a request and a calibration decide.
type Settings struct {
	Missing       Missing         // "": Exact
	Normalisation Normalisation   // "": the method's own
	Weights       map[int]float64 // by column; 1 where there is none
	Alpha         float64         // BM25's weight beside the experts' score, without one among Weights
	Sharpness     float64         // 0: DefaultSharpness
	Weighting     Weighting       // "": ByCertainty

	CCE CCEOptions

	// Gate weighs by question, GateWithoutLate where late interaction is not among the
	// sources (nil: Gate does). Specialists is how many of the most familiar count; 0: all.
	Gate, GateWithoutLate *Gate
	Specialists           int
	// Chances turn what is known of Gate's answer into confidences; nil: nobody fitted
	// them. CloseOnly: they are of use where the sources have Closeness, and for a
	// first passage that all of these read.
	Chances   Chances
	CloseOnly bool
	// Answerable turns what is known of Gate's answer into the chance that the passages
	// searched answer the question at all, where the sources have Closeness; nil: nobody
	// fitted it.
	Answerable Chance
	// Foreign says that the two are of an encoder of its own without late interaction (ForeignCloseness).
	Foreign bool
}

// Chance is fitted to Signals.
type Chance interface {
	Of(signals []float64) (float64, error)
}

// Chances are the calibrated chances that any of the first k passages of an answer
// with such Signals answers the question.
type Chances interface {
	Of(signals []float64, k int) (float64, error)
}

// The names of the methods.
const (
	MethodMUF       = "muf"
	MethodMUFSparse = "muf-sparse"
	MethodHybrid    = "hybrid"
	MethodSum       = "sum"
	MethodRRF       = "rrf"
	MethodGate      = "gate"
	MethodCCE       = "cce"
)

// Methods returns all methods, in the order in which they are listed to people.
func Methods() []Method {
	return []Method{
		mufMethod(),
		mufSparse(),
		hybridMethod(),
		sumMethod(),
		rrfMethod(),
		gateMethod(),
		cceMethod(),
	}
}

// MethodNamed returns the method with this name; false if there is none.
func MethodNamed(name string) (Method, bool) {
	for _, m := range Methods() {
		if m.Name == name {
			return m, true
		}
	}
	return Method{}, false
}

// MethodNames returns the names of the methods that filter accepts, in the order of Methods; of all if filter is nil.
func MethodNames(filter func(Method) bool) []string {
	var names []string
	for _, m := range Methods() {
		if filter == nil || filter(m) {
			names = append(names, m.Name)
		}
	}
	return names
}

// weightedSources returns the dense experts and BM25 with their weights from the settings; a source without one gets 1.
// words is true if BM25 is among them.
func (in *Input) weightedSources(s Settings) (sources []Source, words bool) {
	sources = make([]Source, 0, len(in.Sources))
	for _, o := range in.Sources {
		if !o.Kind.Dense() && o.Kind != Lexical {
			continue
		}
		words = words || o.Kind == Lexical
		w, ok := s.Weights[o.Column]
		if !ok {
			w = 1
		}
		sources = append(sources, Source{Column: o.Column, Weight: w})
	}
	return sources, words
}

// weightByConfidence returns the dense experts with their confidences as weights. If one of them has no confidence (a
// negative one), all get the weight 1 and known is false.
func (in *Input) weightByConfidence() (experts []Source, known bool) {
	known = true
	for _, o := range in.Sources {
		if o.Kind.Dense() {
			experts = append(experts, Source{Column: o.Column, Weight: o.Confidence})
			known = known && o.Confidence >= 0
		}
	}
	if !known {
		for i := range experts {
			experts[i].Weight = 1
		}
	}
	return experts, known
}

// lexicalColumn returns the column of BM25; -1 if it takes no part.
func (in *Input) lexicalColumn() int {
	for _, o := range in.Sources {
		if o.Kind == Lexical {
			return o.Column
		}
	}
	return -1
}
