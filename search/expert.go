package search

// Expert is a way from a question to a ranking, as loaded.
type Expert struct {
	// Name is unique among the experts, and neither "bm25" nor "phrases".
	Name string
	// Encoder may be shared: experts with the same Encoder, or with the same
	// Info.Fingerprints["run"] or, without that, ["question"], encode a question once.
	Encoder QuestionEncoder
	// Head changes what Encoder gives a question; nil: the expert searches by that.
	Head Head
	// Passages encodes passages for Embed and Rerank. Nil: they are refused.
	Passages PassageEncoder
	// Similarity scores the token vectors of a passage for those of a question, as the
	// index of late interaction does; nil: Rerank is refused.
	Similarity func(question, passage []float32) (float32, error)
	// Ensemble gives the expert a confidence when Info.Calibration says with
	// which temperature and depth. Nil: it has none.
	Ensemble Ensemble
	// Representatives are questions of the expert's domain, [R, D], as the
	// engine's Reference encodes questions; nil for a generalist. How near a
	// question is to them is the expert's familiarity with it.
	Representatives []float32
	// Chance is the calibrated chance that the expert's own first hit answers;
	// nil where nobody calibrated it.
	Chance Chance
	// Granularity says how large the parts of passages are that the expert's vectors
	// are of, where it is one of several granularities of an encoder; "" for others.
	Granularity string
	// Info is what Engine.Expert answers, but for its Name and EnsembleMembers, and
	// for what depends on the generation: that comes from the View.
	Info ExpertInfo
}
