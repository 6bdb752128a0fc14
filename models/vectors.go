package models

import (
	"regexp"
	"unicode/utf8"
)

// Vectors is the section of the kinds that make vectors of texts: dense, one a text, and late,
// one a token.
type Vectors struct {
	// Dimension is the length of the vectors; in a late expert, of a token's vector.
	Dimension int
	// Pooling and Normalise describe what the graphs do.
	Pooling   string
	Normalise bool
	// MaxTokens bounds the input, special tokens included.
	MaxTokens MaxTokens
	Template  string
	// Prefix is what comes before the texts, as in the model's training.
	Prefix     Prefix
	Similarity string
	// Languages are those that the encoder reads, by ISO 639-1 code, or ManyLanguages alone; nil: that is not known.
	Languages []string
	// Question and Passage may name the same file.
	Question, Passage Graph
	// Ensemble is nil for an expert without one.
	Ensemble *Ensemble
	// Representatives is the file of questions that stand for what the expert
	// was trained on, as Base encodes them; empty for an expert without.
	Representatives string
	// QuestionWeights is the file of a sparse expert's weights of questions' word pieces; empty where questions are
	// read by the graph.
	QuestionWeights string
}

// ManyLanguages stands, in Vectors.Languages, for the hundred languages that multilingual encoders read.
const ManyLanguages = "many"

// languageCode matches a language of Vectors.Languages.
var languageCode = regexp.MustCompile(`^(many|[a-z]{2,3})$`)

// MaxTokens is the longest input of each side, in tokens.
type MaxTokens struct{ Question, Passage int }

// Prefix is what comes before questions and before passages (in front of the title), with the
// space that belongs to it: "query: ". Its tokens count in MaxTokens.
type Prefix struct {
	Question string `yaml:"question,omitempty"`
	Passage  string `yaml:"passage,omitempty"`
}

// mostPrefix bounds a prefix, in bytes.
const mostPrefix = 2000

// Graph is an ONNX encoder and the names of its inputs and output. The inputs
// are int64 [batch, sequence]. A dense expert's output is float32
// [batch, Dimension], pooled and, with Normalise, of unit length.
//
// A late expert's is float32 [batch, sequence, Dimension+1]: for every token,
// the special ones included, first its vector, of unit length, and last its
// importance, a number above 0 that only questions use. The values at padded
// positions have no meaning. Such a graph may also give, pooled from the same last
// layer, the text's vector: that of the dense expert whose layers these are,
// so that one run serves both.
type Graph struct {
	File          string `yaml:"file"`
	InputIDs      string `yaml:"input_ids"`
	AttentionMask string `yaml:"attention_mask"`
	// TokenTypeIDs is empty where the graph takes none.
	TokenTypeIDs string `yaml:"token_type_ids,omitempty"`
	Embedding    string `yaml:"embedding"`
	// Pooled is the output with the text's vector, float32
	// [batch, PooledDimension]; empty where there is none.
	Pooled          string `yaml:"pooled,omitempty"`
	PooledDimension int    `yaml:"pooled_dimension,omitempty"`
	// OneByOne says that the graph must be given one text a call, unpadded:
	// its quantisation has one scale for a whole batch, so that a text's
	// vector would depend on its neighbours. Graphs made by Import never need
	// it.
	OneByOne bool `yaml:"one_by_one,omitempty"`
}

// Ensemble is a graph of Members heads that each map a question's vector to
// another: input EnsembleInput [batch, Dimension], output EnsembleOutput
// [batch, Members, Dimension]. MUF (dpr-muf, section 3) reads the expert's
// uncertainty from how far they disagree.
type Ensemble struct {
	File    string `yaml:"file"`
	Members int    `yaml:"members"`
}

// The names of an ensemble's input and output, float32.
const (
	EnsembleInput  = "vector"
	EnsembleOutput = "members"
)

// vectors notes what is wrong with the section of a dense, late or sparse expert. That of a delta must have no
// graphs.
func (v *validation) vectors() {
	m := v.m
	x := m.Vectors
	longest := 1 << 16
	if m.Kind == KindSparse { // a vocabulary
		longest = 1 << 21
	}
	v.between("dimension", x.Dimension, 1, longest)
	switch m.Kind {
	case KindLate:
		v.late()
	case KindSparse:
		v.sparse()
	default:
		v.oneOf("pooling", x.Pooling, PoolingCLS, PoolingMean, PoolingPooler, PoolingGraph)
	}
	v.between("max_tokens.question", x.MaxTokens.Question, 3, 1<<16)
	v.between("max_tokens.passage", x.MaxTokens.Passage, 3, 1<<16)
	v.oneOf("template", x.Template, TemplateText, TemplateTitleDotText, TemplatePair)
	v.oneOf("similarity", x.Similarity, SimilarityInnerProduct)
	for _, code := range x.Languages {
		if !languageCode.MatchString(code) || code == ManyLanguages && len(x.Languages) > 1 {
			v.fail("languages", "%.100q: codes of languages are needed, such as en and de, or many alone", code)
		}
	}
	for key, text := range map[string]string{"prefix.question": x.Prefix.Question, "prefix.passage": x.Prefix.Passage} {
		if len(text) > mostPrefix || !utf8.ValidString(text) {
			v.fail(key, "%.100q is not a text of at most %d bytes of UTF-8", text, mostPrefix)
		}
	}
	if x.Representatives != "" {
		v.file("representatives", x.Representatives)
		if m.Base == nil {
			v.fail("representatives", "base must say whose vectors they are")
		}
	}
	if x.Ensemble != nil {
		v.file("ensemble.file", x.Ensemble.File)
		v.between("ensemble.members", x.Ensemble.Members, 1, mostMembers)
	}
	if m.Delta != "" {
		v.delta(x.Question != (Graph{}) || x.Passage != (Graph{}))
		return
	}
	v.file("tokenizer", m.Tokenizer)
	v.graph("question", x.Question)
	v.graph("passage", x.Passage)
}

// graph notes what is wrong with the description of one side's graph; key is that of the side in expert.yaml.
func (v *validation) graph(key string, g Graph) {
	v.file(key+".file", g.File)
	if g.InputIDs == "" || g.AttentionMask == "" || g.Embedding == "" {
		v.fail(key, "input_ids, attention_mask and embedding must each name an input or output of the graph")
	}
	if g.Pooled != "" {
		v.between(key+".pooled_dimension", g.PooledDimension, 1, 1<<16)
	}
	switch {
	case g.Pooled != "" && v.m.Kind != KindLate:
		v.fail(key+".pooled", "%q; a %s expert's graph gives embedding alone", g.Pooled, v.m.Kind)
	case g.Pooled != "" && g.Pooled == g.Embedding:
		v.fail(key+".pooled", "%q is the output of the tokens", g.Pooled)
	case g.Pooled == "" && g.PooledDimension != 0:
		v.fail(key+".pooled_dimension", "%d, and pooled names no output", g.PooledDimension)
	}
}
