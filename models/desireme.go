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

// Head is the section of the kind desire-me, a graph: input HeadInput [batch, Dimension], a
// question's vector by the base; outputs HeadVector [batch, Dimension] and HeadGate
// [batch, len(Domains)], each a probability. All are float32.
type Head struct {
	// Dimension and Normalise say what the question's vectors are, before and after.
	Dimension int    `yaml:"-"`
	Normalise bool   `yaml:"-"`
	File      string `yaml:"file"`
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

// head notes what is wrong with the section of a DESIRE-ME expert, which the manifest must have, and with the keys
// that such an expert must or must not have. If the section names no graph, the graph and the domains are not checked.
func (v *validation) head() {
	m := v.m
	h := m.Head
	v.between("dimension", h.Dimension, 1, 1<<16)
	if m.Precision != PrecisionFP32 {
		v.fail("precision", "%q; that of a %s expert is %s", m.Precision, m.Kind, PrecisionFP32)
	}
	if m.Base == nil {
		v.fail("base", "a %s expert must say on whose vectors it works", m.Kind)
	}
	if m.LowerCase || m.Tokenizer != "" {
		v.fail("tokenizer", "%q, and lower_case %t; both are the base's", m.Tokenizer, m.LowerCase)
	}
	if h.File == "" {
		v.fail("head", "it must name the graph and the domains")
		return
	}
	if m.Delta != "" && m.Delta != h.File {
		v.fail("delta", "%q; that of a %s expert is its head, %q", m.Delta, m.Kind, h.File)
	}
	v.file("head.file", h.File)
	if n := len(h.Domains); n < 2 || n > mostDomains {
		v.fail("head.domains", "there are %d; a gate tells from 2 to %d", n, mostDomains)
	}
	seen := map[string]bool{"": true}
	for _, domain := range h.Domains {
		if seen[domain] {
			v.fail("head.domains", "%q is empty or there twice", domain)
		}
		seen[domain] = true
	}
}
