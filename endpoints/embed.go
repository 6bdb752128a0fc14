package endpoints

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strconv"
)

// MostDimension is the largest number of numbers in a vector.
const MostDimension = 4096

// side is what is asked for vectors of: questions or passages.
type side int

const (
	question side = iota
	passage
)

// Side is how the texts of one side are sent.
type Side struct {
	Model     string // "": Server.Model
	Prefix    string // before each text, with the space that belongs to it
	InputType string // for Cohere input_type, for TEI prompt_name, for OpenAI's interface input_type; "": none is sent
}

// vector is a vector as JSON has it.
type vector []float32

// UnmarshalJSON sets the vector from an array of finite numbers. Other than encoding/json, it takes no null for a
// number. It returns an error of notUnderstood for anything else.
func (v *vector) UnmarshalJSON(data []byte) error {
	inner, opened := bytes.CutPrefix(bytes.TrimSpace(data), []byte("["))
	inner, closed := bytes.CutSuffix(inner, []byte("]"))
	if !opened || !closed {
		return notUnderstood("a vector is no array of numbers")
	}
	*v = make(vector, 0, bytes.Count(inner, []byte(","))+1)
	for number := range bytes.SplitSeq(inner, []byte(",")) {
		if len(bytes.TrimSpace(inner)) == 0 {
			return nil
		}
		x, err := strconv.ParseFloat(string(bytes.TrimSpace(number)), 32)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return notUnderstood("number %d of a vector is not finite", len(*v)+1)
		}
		*v = append(*v, float32(x))
	}
	return nil
}

// numberBytes is the largest number of bytes of a number in an answer, and aroundAnswer of what stands around the
// vectors.
const (
	numberBytes  = 32
	aroundAnswer = 1 << 20
)

// embed asks for the vectors of texts, in one request, and returns them in the order of the texts, unscaled, with the
// number of tokens that the server counted (0: it did not say). It fails unless there is a vector for each text and all
// have the same length, at most MostDimension. harmless is that of post.
func (e *Embedder) embed(
	ctx context.Context, s side, texts []string, harmless bool,
) (out [][]float32, tokens int64, err error) {
	how := e.options.Question
	if s == passage {
		how = e.options.Passage
	}
	model := e.options.Server.Model
	if how.Model != "" {
		model = how.Model
	}
	prefixed := texts
	if how.Prefix != "" {
		prefixed = make([]string, len(texts))
		for i, text := range texts {
			prefixed[i] = how.Prefix + text
		}
	}
	most := int64(len(texts))*MostDimension*numberBytes + aroundAnswer
	switch e.options.Server.Interface {
	case TEI:
		out, err = e.embedTEI(ctx, how, prefixed, most, harmless)
	case Cohere:
		out, tokens, err = e.embedCohere(ctx, model, s, how, prefixed, most, harmless)
	default:
		out, tokens, err = e.embedOpenAI(ctx, model, how, prefixed, most, harmless)
	}
	if err != nil {
		e.failures.Add(1)
		return nil, 0, err
	}
	if len(out) != len(texts) {
		return nil, 0, notUnderstood("it has %d vectors for %d texts", len(out), len(texts))
	}
	for _, v := range out {
		if len(v) == 0 || len(v) > MostDimension || len(v) != len(out[0]) {
			return nil, 0, notUnderstood(
				"a vector has %d numbers and another one %d; allowed are 1 to %d, and as many in each", len(v), len(out[0]),
				MostDimension,
			)
		}
	}
	e.count(texts, tokens)
	return out, tokens, nil
}

// embedOpenAI is embed by OpenAI's interface.
func (e *Embedder) embedOpenAI(
	ctx context.Context, model string, how Side, texts []string, most int64, harmless bool,
) (out [][]float32, tokens int64, err error) {
	in := map[string]any{"model": model, "input": texts, "encoding_format": "float"}
	if e.options.Dimension > 0 {
		in["dimensions"] = e.options.Dimension
	}
	if how.InputType != "" {
		in["input_type"] = how.InputType
	}
	var answer struct {
		Data []struct {
			Index     *int   `json:"index"`
			Embedding vector `json:"embedding"`
		} `json:"data"`
		Usage struct {
			Total  int64 `json:"total_tokens"`
			Prompt int64 `json:"prompt_tokens"`
		} `json:"usage"`
	}
	if err := e.client.post(ctx, "/embeddings", in, &answer, most, harmless); err != nil {
		return nil, 0, err
	}
	if len(answer.Data) != len(texts) {
		return nil, 0, notUnderstood("it has %d vectors for %d texts", len(answer.Data), len(texts))
	}
	out = make([][]float32, len(texts))
	for i, x := range answer.Data {
		at := i
		if x.Index != nil {
			at = *x.Index
		}
		if at < 0 || at >= len(out) || out[at] != nil {
			return nil, 0, notUnderstood("its vectors are numbered with %d twice, or beyond the %d texts", at, len(texts))
		}
		out[at] = x.Embedding
	}
	return out, max(answer.Usage.Total, answer.Usage.Prompt), nil
}

// embedTEI is embed by the interface of Text Embeddings Inference.
func (e *Embedder) embedTEI(
	ctx context.Context, how Side, texts []string, most int64, harmless bool,
) (out [][]float32, err error) {
	in := map[string]any{"inputs": texts, "normalize": e.options.Normalise}
	if how.InputType != "" {
		in["prompt_name"] = how.InputType
	}
	if e.options.Dimension > 0 {
		in["dimensions"] = e.options.Dimension
	}
	var answer []vector
	if err := e.client.post(ctx, "/embed", in, &answer, most, harmless); err != nil {
		return nil, err
	}
	for _, v := range answer {
		out = append(out, v)
	}
	return out, nil
}

// The types of texts that Cohere's models of version 3 and later want to be told.
const (
	cohereQuestion = "search_query"
	coherePassage  = "search_document"
)

// embedCohere is embed by Cohere's interface.
func (e *Embedder) embedCohere(
	ctx context.Context, model string, s side, how Side, texts []string, most int64, harmless bool,
) (out [][]float32, tokens int64, err error) {
	kind := how.InputType
	if kind == "" {
		kind = cohereQuestion
		if s == passage {
			kind = coherePassage
		}
	}
	in := map[string]any{
		"model": model, "texts": texts, "input_type": kind, "embedding_types": []string{"float"}, "truncate": "NONE",
	}
	if e.options.Dimension > 0 {
		in["output_dimension"] = e.options.Dimension
	}
	var answer struct {
		Embeddings struct {
			Float []vector `json:"float"`
		} `json:"embeddings"`
		Meta struct {
			Billed struct {
				Tokens float64 `json:"input_tokens"`
			} `json:"billed_units"`
		} `json:"meta"`
	}
	if err := e.client.post(ctx, "/embed", in, &answer, most, harmless); err != nil {
		return nil, 0, err
	}
	for _, v := range answer.Embeddings.Float {
		out = append(out, v)
	}
	return out, int64(answer.Meta.Billed.Tokens), nil
}

// finish cuts vectors to the length that is configured (CutTo) and scales them to unit length, where that is configured
// or they were cut, in place. It fails if a vector has another length than the expert's, as far as that is known.
func (e *Embedder) finish(vectors [][]float32) error {
	cut := e.options.CutTo
	expected := e.Dimension()
	for i, v := range vectors {
		if cut > 0 && len(v) > cut {
			v = v[:cut:cut]
		}
		if expected > 0 && len(v) != expected {
			return &Error{Reason: fmt.Sprintf("its server gives vectors of %d numbers in the place of %d", len(v), expected)}
		}
		if e.options.Normalise || cut > 0 {
			scaleToUnit(v)
		}
		vectors[i] = v
	}
	return nil
}

// scaleToUnit scales a vector to length 1, in place; one of zeros stays.
func scaleToUnit(v []float32) {
	length := lengthOf(v)
	if length == 0 {
		return
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / length)
	}
}

// lengthOf returns the Euclidean length of a vector.
func lengthOf(v []float32) float64 {
	squares := 0.0
	for _, x := range v {
		squares += float64(x) * float64(x)
	}
	return math.Sqrt(squares)
}
