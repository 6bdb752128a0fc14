package models

// A DESIRE-ME expert (Kasela et al. 2024, "DESIRE-ME", section 3.2) is a head on
// the vector that its base gives a question. A gate says how likely the question
// is of each of M domains, and M specialisers make a context of it:
//
//	g  = sigmoid(gate(q))                         [M]
//	q' = unit(q + β·unit(Σ_m g_m·S_m(q)))         [D]
//
// Its passages are the base's, so a collection has no vectors for it. It travels as
// the graph itself, which needs no merging: the import checks that the base is
// the one that it was trained on.

// Head is the graph of a DESIRE-ME expert: input HeadInput [batch, Dimension], a
// question's vector by the base; outputs HeadVector [batch, Dimension] and HeadGate
// [batch, len(Domains)], each a probability. All are float32.
type Head struct {
	File string `yaml:"file"`
	// Domains are what the gate was trained to tell, in its order.
	Domains []string `yaml:"domains"`
}

// The names of a head's input and outputs.
const (
	HeadInput  = "question"
	HeadVector = "vector"
	HeadGate   = "gate"
)

// mostDomains bounds the list of domains that every answer carries.
const mostDomains = 256

func (m *Manifest) validateHead(fail func(key, format string, a ...any), file func(key, name string)) {
	if m.Dimension < 1 || m.Dimension > 1<<16 {
		fail("dimension", "%d is not between 1 and %d", m.Dimension, 1<<16)
	}
	if m.Precision != PrecisionFP32 {
		fail("precision", "%q; that of a %s expert is %s", m.Precision, m.Kind, PrecisionFP32)
	}
	if m.Base == nil {
		fail("base", "a %s expert must say on whose vectors it works", m.Kind)
	}
	if m.Pooling != "" || m.Template != "" || m.Similarity != "" || m.MaxTokens != (MaxTokens{}) || m.LowerCase || m.Tokenizer != "" ||
		m.Question != (Graph{}) || m.Passage != (Graph{}) ||
		m.Ensemble != nil ||
		m.Representatives != "" {
		fail(
			"kind",
			"%q; pooling, template, similarity, max_tokens, lower_case, tokenizer, question and passage are the base's, and it has no ensemble and no representatives",
			m.Kind,
		)
	}
	switch {
	case m.Head == nil:
		fail("head", "it must name the graph and the domains")
		return
	case m.Delta != "" && m.Delta != m.Head.File:
		fail("delta", "%q; that of a %s expert is its head, %q", m.Delta, m.Kind, m.Head.File)
	}
	file("head.file", m.Head.File)
	if n := len(m.Head.Domains); n < 2 || n > mostDomains {
		fail("head.domains", "there are %d; a gate tells from 2 to %d", n, mostDomains)
	}
	seen := map[string]bool{"": true}
	for _, domain := range m.Head.Domains {
		if seen[domain] {
			fail("head.domains", "%q is empty or there twice", domain)
		}
		seen[domain] = true
	}
}
