package adapters

import (
	"cmp"
	"context"
	"math"
	"net/http"
	"slices"

	"example.org/conclave/handlers"
	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/search"
	"example.org/conclave/search/lookup"
	"example.org/conclave/search/reply"

	"github.com/go-json-experiment/json"
)

// rerankRoutes returns the routes of Text Embeddings Inference, whose model is the first expert, and of Cohere's
// rerank. A reranker scores the texts or, if none is loaded, late interaction (lookup.RerankRequest.Model).
func rerankRoutes() []handlers.Adapter {
	adapters := []handlers.Adapter{
		{
			Method:  http.MethodPost,
			Path:    "/embed",
			Scope:   schema.ScopeEmbed,
			Cost:    front.Answering(0),
			Serve:   serveBody(inferEmbeddings),
			Refusal: inferenceError,
		},
		{
			Method:  http.MethodPost,
			Path:    "/rerank",
			Scope:   schema.ScopeEmbed,
			Cost:    front.Answering(0),
			Serve:   serveBody(inferRanks),
			Refusal: inferenceError,
		},
	}
	for _, path := range []string{"/v1/rerank", "/v2/rerank"} {
		adapters = append(
			adapters,
			handlers.Adapter{
				Method: http.MethodPost,
				Path:   path,
				Scope:  schema.ScopeEmbed,
				Cost:   front.Answering(0),
				Serve:  serveBody(rerankForCohere),
				Refusal: func(p *schema.Problem) (int, any) {
					return p.Status, cohereRefusal{p.Detail}
				},
			},
		)
	}
	return adapters
}

type inferEmbedRequest struct {
	Inputs     texts  `json:"inputs"`
	Normalize  *bool  `json:"normalize"`
	PromptName string `json:"prompt_name"` // "query": the texts are questions; else passages
	truncateOptions
}

// truncateOptions are the options that say whether texts may be cut at their end.
type truncateOptions struct {
	Truncate  bool   `json:"truncate"`
	Direction string `json:"truncation_direction"`
}

// checkDirection returns a problem if the request wants texts truncated at another end than the right one, which is the
// only one supported.
func (t truncateOptions) checkDirection() error {
	if t.Truncate && t.Direction != "" && t.Direction != "Right" && t.Direction != "right" {
		return fieldError(
			"unknown_value", "/truncation_direction",
			"texts are truncated at their end: truncation_direction can be Right alone",
		)
	}
	return nil
}

// inferEmbeddings answers POST /embed: vectors of texts by the first expert, of unit length unless the request says
// otherwise. It returns a problem if no expert gives texts vectors, a text is longer than the expert reads (unless the
// request allows to truncate it), or encoding fails.
func inferEmbeddings(ctx context.Context, e handlers.Engine, in inferEmbedRequest) ([][]float32, error) {
	if err := in.checkDirection(); err != nil {
		return nil, err
	}
	experts := e.Experts()
	if len(experts) == 0 || experts[0].Kind == reply.KindLate {
		return nil, fieldError("needs_experts", "", "this collection has no expert that gives texts vectors")
	}
	embedded, err := embedTexts(ctx, e, experts[0].Name, in.Inputs, in.PromptName == "query", in.Truncate)
	if err != nil {
		return nil, err
	}
	if in.Normalize == nil || *in.Normalize {
		for _, vector := range embedded.Embeddings {
			scaleToUnit(vector)
		}
	}
	return embedded.Embeddings, nil
}

// scaleToUnit scales a vector to unit length, in place. A vector of zeros stays.
func scaleToUnit(vector []float32) {
	sum := 0.0
	for _, x := range vector {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return
	}
	for i := range vector {
		vector[i] = float32(float64(vector[i]) / math.Sqrt(sum))
	}
}

type inferRankRequest struct {
	Query      string   `json:"query"`
	Texts      []string `json:"texts"`
	RawScores  bool     `json:"raw_scores"`
	ReturnText bool     `json:"return_text"`
	truncateOptions
}

type inferRank struct {
	Index int     `json:"index"`
	Score float32 `json:"score"`
	Text  *string `json:"text,omitempty"`
}

// inferRanks answers POST /rerank: the texts' indexes by descending score, equal ones in the order of the texts. It
// returns a problem if a text is longer than the model reads, unless the request allows to truncate it, or if scoring
// fails.
func inferRanks(ctx context.Context, e handlers.Engine, in inferRankRequest) ([]inferRank, error) {
	if err := in.checkDirection(); err != nil {
		return nil, err
	}
	ranked, truncated, err := rankTexts(ctx, e, lookup.RerankRequest{Question: in.Query, Texts: in.Texts}, in.RawScores)
	if err == nil && len(truncated) > 0 && !in.Truncate {
		err = fieldError(
			"too_long", "/texts",
			"text %d has more tokens than the expert reads: send shorter texts, or \"truncate\": true", truncated[0],
		)
	}
	if err != nil {
		return nil, err
	}
	if in.ReturnText {
		for i := range ranked {
			ranked[i].Text = &in.Texts[ranked[i].Index]
		}
	}
	return ranked, nil
}

// rankTexts returns the texts' indexes and scores by descending score, and the indexes of the texts that were cut.
// Scores are from 0 to 1, or the model's own if raw is set. Errors are the engine's.
func rankTexts(
	ctx context.Context,
	e handlers.Engine,
	r lookup.RerankRequest,
	raw bool,
) (out []inferRank, truncated []int, err error) {
	scored, err := e.Rerank(ctx, search.Caller{}, r)
	if err != nil {
		return nil, nil, err
	}
	for i, score := range scored.Scores {
		switch {
		case raw:
		case scored.Logits:
			score = float32(1 / (1 + math.Exp(-float64(score))))
		default:
			score = clampToUnit(score)
		}
		out = append(out, inferRank{Index: i, Score: score})
	}
	slices.SortStableFunc(out, func(a, b inferRank) int { return cmp.Compare(b.Score, a.Score) })
	return out, scored.Truncated, nil
}

// clampToUnit returns a score of late interaction, of which nearly all are from 0 to 1, cut to that range.
func clampToUnit(score float32) float32 { return min(max(score, 0), 1) }

type inferenceRefusal struct {
	Error string `json:"error"`
	Type  string `json:"error_type"`
}

// inferenceError returns the status and body for a problem in the form of Text Embeddings Inference.
func inferenceError(p *schema.Problem) (int, any) {
	kind := "Validation"
	switch {
	case p.Status == http.StatusTooManyRequests:
		kind = "Overloaded"
	case p.Status >= http.StatusInternalServerError:
		kind = "Backend"
	}
	return p.Status, inferenceRefusal{p.Detail, kind}
}

type rerankRequest struct {
	Model           string           `json:"model"` // see lookup.RerankRequest
	Query           string           `json:"query"`
	Documents       []rerankDocument `json:"documents"`
	TopN            *int             `json:"top_n"`
	ReturnDocuments bool             `json:"return_documents"`
	MaxTokensPerDoc *int             `json:"max_tokens_per_doc"`
}

// rerankDocument is a text, or an object with one.
type rerankDocument struct {
	Text string `json:"text"`
}

// UnmarshalJSON reads a string or {"text": …}. It fails for anything else.
func (d *rerankDocument) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &d.Text) == nil {
		return nil
	}
	return json.Unmarshal(data, (*struct {
		Text string `json:"text"`
	})(d), json.RejectUnknownMembers(true))
}

type cohereRefusal struct {
	Message string `json:"message"`
}

type rerankResponse struct {
	Results []rerankResult `json:"results"`
	Meta    struct {
		APIVersion struct {
			Version string `json:"version"`
		} `json:"api_version"`
	} `json:"meta"`
}

type rerankResult struct {
	Index          int             `json:"index"`
	RelevanceScore float32         `json:"relevance_score"`
	Document       *rerankDocument `json:"document,omitempty"`
}

// rerankForCohere answers POST /v1/rerank and /v2/rerank: the first top_n texts by descending score, or all without
// top_n. Longer texts are truncated. It returns a problem if an option is not supported or scoring fails.
func rerankForCohere(ctx context.Context, e handlers.Engine, in rerankRequest) (out rerankResponse, err error) {
	switch {
	case in.MaxTokensPerDoc != nil:
		return out, fieldError(
			"unknown_value", "/max_tokens_per_doc",
			"max_tokens_per_doc cannot be chosen: of a longer text the beginning is read",
		)
	case in.TopN != nil && *in.TopN < 1:
		return out, fieldError("out_of_range", "/top_n", "top_n is %d: it has to be at least 1", *in.TopN)
	}
	given := make([]string, len(in.Documents))
	for i, d := range in.Documents {
		given[i] = d.Text
	}
	ranked, _, err := rankTexts(ctx, e, lookup.RerankRequest{Model: in.Model, Question: in.Query, Texts: given}, false)
	if err != nil {
		return out, err
	}
	if in.TopN != nil {
		ranked = ranked[:min(*in.TopN, len(ranked))]
	}
	out.Meta.APIVersion.Version = "2"
	for _, x := range ranked {
		result := rerankResult{Index: x.Index, RelevanceScore: x.Score}
		if in.ReturnDocuments {
			result.Document = &in.Documents[x.Index]
		}
		out.Results = append(out.Results, result)
	}
	return out, nil
}
