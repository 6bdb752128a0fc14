package handlers

import (
	"encoding/json"
	"maps"
	"strings"
	"unicode"

	"github.com/danielgtaylor/huma/v2"

	"conclave/search"
)

// searchBody is search.Request with what the OpenAPI document says of it. The
// conversion between the two compiles only while they have the same fields.
type searchBody struct {
	Question      string             `json:"question" doc:"What is asked, in plain words. Its length is limited (limits.question_bytes); an expert reads its first max_tokens.question tokens." example:"how do bees find their way back to the hive" minLength:"1"`
	K             int                `json:"k,omitempty" doc:"How many results. At most limits.k; the default is defaults.k of /v1/limits." minimum:"1"`
	Offset        int                `json:"offset,omitempty" doc:"How many results to leave out before the first: with k the next page of the same ranking. Pages end with the candidates that were fused (candidates of each source), and offset and k together are at most limits.k." minimum:"0" default:"0"`
	Fusion        search.Methods     `json:"fusion,omitempty" doc:"How the sources' rankings become one: a method, or a list of methods to get one ranking for each from one pass."`
	Experts       *[]string          `json:"experts,omitempty" doc:"Which experts to ask, by name. Left out: all. Empty, with bm25: words alone, without late interaction too."`
	BM25          *bool              `json:"bm25,omitempty" doc:"Whether BM25 takes part, in whichever method." default:"true"`
	Late          *bool              `json:"late,omitempty" doc:"Whether late interaction scores what the others found, where the method weighs it (gate, and auto where it means that) and the collection has an expert of that kind. Written true with other methods alone it is an error." default:"true"`
	Specialists   int                `json:"specialists,omitempty" doc:"How many of the experts that have a domain are asked: those that are the most familiar with the question, which costs an encoder pass of the base first. The others are skipped. Left out: for gate (and auto where it stands for that) as many as it was calibrated for, when experts is left out too; else all." minimum:"1" maximum:"255"`
	Candidates    int                `json:"candidates,omitempty" doc:"How many hits to take from each source. At most limits.candidates." minimum:"1"`
	Exact         bool               `json:"exact,omitempty" doc:"Compare with every vector instead of walking the graph: slower, and no neighbour is missed." default:"false"`
	Missing       string             `json:"missing,omitempty" doc:"The score of a passage that a source did not return: its true one (exact), or the source's lowest (min, as MUF's paper has it). For muf, hybrid, sum and gate; with other methods an error." enum:"exact,min"`
	Weights       map[string]float64 `json:"weights,omitempty" doc:"Weights of sources by name, for sum, rrf and hybrid (there of bm25 alone); with other methods an error. Default: the calibrated ones, or 1." example:"{\"bm25\": 0.8}"`
	TimeoutMS     int                `json:"timeout_ms,omitempty" doc:"How long sources may take, in milliseconds. Those that are late are left out and named. At most limits.timeout_ms." minimum:"1"`
	Explain       bool               `json:"explain,omitempty" doc:"Add the terms of BM25's sum to each result." default:"false"`
	Fields        []string           `json:"fields,omitempty" doc:"What each answer carries beside ids and scores. Default: title, text, contributions and sources; with [\"text\"] an answer is ids, scores and texts." enum:"title,text,tags,metadata,contributions,sources"`
	Normalisation string             `json:"normalisation,omitempty" doc:"How each source's scores are scaled before they are added up, where the method adds scores: muf, hybrid and sum; with others an error. Default: the method's own way." enum:"raw,minmax,centre-range,zscore"`
	Filter        search.Filter      `json:"filter,omitempty" doc:"Which passages may be found, by their tags. Left out: all. The scores stay what they are without it, BM25's too, whose statistics are those of all passages."`
	MinConfidence float64            `json:"min_confidence,omitempty" doc:"When the confidence is below this, or not known, there are no results, and abstained is true. Needs a method with one." minimum:"0" maximum:"1" default:"0"`
}

func (b searchBody) request() search.Request { return search.Request(b) }

// batchBody is a list of searches. Each is decoded by itself, so that a
// mistake in one leaves the others alone.
type batchBody struct {
	Searches []searchBody `json:"searches" doc:"The searches. At most limits.batch." minItems:"1"`
}

// embedBody is search.EmbedRequest with what the document says of it.
type embedBody struct {
	Expert string   `json:"expert" doc:"The expert whose encoder to use." example:"base"`
	Input  []string `json:"input" doc:"The texts. At most limits.embed_inputs." minItems:"1"`
	Kind   string   `json:"kind,omitempty" doc:"What the texts are; experts may encode the two differently." enum:"question,passage" default:"question"`
}

// methodsSchema is the schema of search.Methods: a method or a list of them.
type methodsSchema struct{}

// Schema implements huma.SchemaProvider.
func (methodsSchema) Schema(huma.Registry) *huma.Schema {
	method := func() *huma.Schema {
		s := &huma.Schema{Type: huma.TypeString, Extensions: map[string]any{"x-code": "unknown_method"}}
		for _, name := range search.MethodNames() {
			s.Enum = append(s.Enum, name)
		}
		return s
	}
	atLeastOne := 1
	one := method()
	return &huma.Schema{OneOf: []*huma.Schema{one, {Type: huma.TypeArray, Items: method(), MinItems: &atLeastOne}}}
}

// within is the schema of a search with the limits in force, which the
// document leaves to /v1/limits, so that an error can say what is allowed.
func within(limits search.Limits, s *huma.Schema) *huma.Schema {
	limited := *s
	limited.Properties = maps.Clone(s.Properties)
	for name, most := range map[string]int{"k": limits.K, "candidates": limits.Candidates, "timeout_ms": int(limits.Timeout.Milliseconds())} {
		property, high := *limited.Properties[name], float64(most)
		property.Maximum = &high
		limited.Properties[name] = &property
	}
	return &limited
}

// decode checks a parsed body against a schema and makes a T of it, or tells at
// most so many mistakes.
func decode[T any](registry huma.Registry, schema *huma.Schema, body any, mistakes int) (T, *Problem) {
	var out T
	c := conform{registry: registry, most: min(mistakes, maxViolations)}
	body = c.check(schema, body, "")
	if p := c.problem(); p != nil {
		return out, p
	}
	// Names are exact and types are right by now, so that encoding/json has
	// nothing left to be lenient about.
	plain, err := json.Marshal(body)
	if err == nil {
		err = json.Unmarshal(plain, &out)
	}
	if err != nil {
		return out, newProblem("wrong_type", "The body does not fit its schema.").because(err)
	}
	return out, nil
}

// emptyQuestion is the problem of a question in which there is nothing to
// search for: no text, or spaces and invisible characters alone.
func emptyQuestion(question, pointer string) *Problem {
	if strings.ContainsFunc(question, func(r rune) bool {
		return !unicode.IsSpace(r) && !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r)
	}) {
		return nil
	}
	return newProblem("empty_question", "The question has nothing in it to search for.", ProblemField{Pointer: pointer, Detail: "is empty"})
}
