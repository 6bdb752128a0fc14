package adapters

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"slices"
	"strings"

	"example.org/conclave/handlers"
	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/collections"
	"example.org/conclave/search"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/lookup"
	"example.org/conclave/search/reply"
)

// openAI returns the routes of OpenAI's embeddings, models and search of a vector store. Those that answer a question
// are in chatRoutes.
func openAI() []handlers.Adapter {
	return []handlers.Adapter{
		{
			Method:  http.MethodPost,
			Path:    "/v1/embeddings",
			Scope:   schema.ScopeEmbed,
			Cost:    front.Answering(0),
			Serve:   serveBody(createEmbeddings),
			Refusal: openAIError("model"),
		},
		{
			Method:  http.MethodGet,
			Path:    "/v1/models",
			Scope:   schema.AnyKey,
			Cost:    front.Answering(0),
			Serve:   listModels,
			Refusal: openAIError(""),
		},
		{
			Method:  http.MethodGet,
			Path:    "/v1/models/{model}",
			Scope:   schema.AnyKey,
			Cost:    front.Answering(0),
			Serve:   showModel,
			Refusal: openAIError("model"),
		},
		{
			Method:  http.MethodPost,
			Path:    "/v1/vector_stores/{collection}/search",
			Scope:   schema.ScopeSearch,
			Cost:    front.Searching(0),
			Serve:   serveBody(findInStore),
			Choose:  collectionInPath,
			Refusal: openAIError("vector_store_id"),
		},
	}
}

// questions is the suffix of the model that encodes questions. An expert's name alone is the model that encodes
// passages.
const questions = ":question"

type embeddingRequest struct {
	Model          string `json:"model"`
	Input          texts  `json:"input"`
	EncodingFormat string `json:"encoding_format"`
	Dimensions     *int   `json:"dimensions"`
	User           string `json:"user"` // for the log of others
}

type embeddingList struct {
	Object string      `json:"object"`
	Data   []embedding `json:"data"`
	Model  string      `json:"model"`
	Usage  tokenUsage  `json:"usage"`
}

type embedding struct {
	Object    string `json:"object"`
	Index     int    `json:"index"`
	Embedding any    `json:"embedding"` // []float32, or in base64 their bytes, little-endian
}

type tokenUsage struct {
	PromptTokens int `json:"prompt_tokens"`
	TotalTokens  int `json:"total_tokens"`
}

// createEmbeddings answers POST /v1/embeddings with the vectors of texts, in their order, by the expert that the model
// names: as passages, or as questions if the name ends with ":question". It returns a problem if an option is not
// supported, a text is longer than the expert reads, or encoding fails.
func createEmbeddings(ctx context.Context, e handlers.Engine, in embeddingRequest) (out embeddingList, err error) {
	format := in.EncodingFormat
	switch {
	case in.Model == "":
		return out, fieldError(
			"missing_field", "/model",
			"model is missing: it has to be the name of an expert, of which /v1/models lists those there are",
		)
	case in.Dimensions != nil:
		return out, fieldError(
			"unknown_value", "/dimensions",
			"dimensions cannot be chosen: the vectors of an expert have the length that it was trained with; leave the parameter out",
		)
	case format != "" && format != "float" && format != "base64":
		return out, fieldError(
			"unknown_value", "/encoding_format", "encoding_format is %.32q: it has to be float or base64", format,
		)
	}
	name, asQuestions := strings.CutSuffix(in.Model, questions)
	embedded, err := embedTexts(ctx, e, name, in.Input, asQuestions, false)
	if err != nil {
		return out, err
	}
	out = embeddingList{Object: "list", Model: in.Model, Usage: tokenUsage{embedded.Tokens, embedded.Tokens}}
	for i, vector := range embedded.Embeddings {
		x := embedding{Object: "embedding", Index: i, Embedding: vector}
		if format == "base64" {
			var b bytes.Buffer
			if err := binary.Write(&b, binary.LittleEndian, vector); err != nil {
				return out, err
			}
			x.Embedding = base64.StdEncoding.EncodeToString(b.Bytes())
		}
		out.Data = append(out.Data, x)
	}
	return out, nil
}

// embedTexts returns the vectors of texts by an expert, as questions or as passages. Unless truncate is set, it returns
// a problem that names the first text of which the expert would read only the beginning. Other errors are the engine's.
func embedTexts(
	ctx context.Context,
	e handlers.Engine,
	expert string,
	input []string,
	asQuestions, truncate bool,
) (out lookup.EmbedResponse, err error) {
	kind := learned.KindPassage
	if asQuestions {
		kind = learned.KindQuestion
	}
	out, err = e.Embed(ctx, search.Caller{}, lookup.EmbedRequest{Expert: expert, Input: input, Kind: kind})
	if err == nil && len(out.Truncated) > 0 && !truncate {
		info, err := e.Expert(expert)
		if err != nil {
			return out, err
		}
		return out, fieldError(
			"too_long", "/input",
			"text %d has more tokens than the %d that expert %q reads of a %s: send shorter texts", out.Truncated[0],
			info.MaxTokens[kind], expert, kind,
		)
	}
	return out, err
}

type modelObject struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int    `json:"created"` // not known: 0
	OwnedBy string `json:"owned_by"`
}

type modelList struct {
	Object string        `json:"object"`
	Data   []modelObject `json:"data"`
}

// listModels answers GET /v1/models with the list of modelsOf. It never fails.
func listModels(_ *http.Request, e handlers.AdmittedEngine) (handlers.Answer, error) {
	return handlers.Answer{Value: modelList{Object: "list", Data: modelsOf(e)}}, nil
}

// modelsOf returns the models that GET /v1/models lists: chatModel, each generator, and each expert that has one vector
// for a text twice, as an encoder of passages and of questions.
func modelsOf(e handlers.Engine) []modelObject {
	ids := []string{chatModel}
	for _, x := range e.Readers() {
		if x.Generates {
			ids = append(ids, x.Name)
		}
	}
	for _, x := range e.Experts() {
		if x.Kind != reply.KindLate {
			ids = append(ids, x.Name, x.Name+questions)
		}
	}
	all := make([]modelObject, len(ids))
	for i, id := range ids {
		all[i] = modelObject{ID: id, Object: "model", OwnedBy: "conclave"}
	}
	return all
}

// showModel answers GET /v1/models/{model} with one of the models of modelsOf, or a problem if none has this name.
func showModel(r *http.Request, e handlers.AdmittedEngine) (out handlers.Answer, err error) {
	id := r.PathValue("model")
	for _, x := range modelsOf(e) {
		if x.ID == id {
			out.Value = x
			return out, nil
		}
	}
	return out, fieldError("unknown_expert", "/model", "there is no model %.64q: /v1/models lists those there are", id)
}

type openAIRefusal struct {
	Error openAIMistake `json:"error"`
}

type openAIMistake struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    string  `json:"code"`
}

// openAIError returns a function that returns the status and the JSON body with which OpenAI's interface would report a
// problem. named is the request's parameter to which an unknown expert is attributed, and, unless it is "", an unknown
// collection.
func openAIError(named string) func(*schema.Problem) (int, any) {
	return func(p *schema.Problem) (int, any) {
		status := p.Status
		code := p.Code
		kind := "invalid_request_error"
		var param *string
		if len(p.Errors) > 0 {
			path := strings.ReplaceAll(strings.TrimPrefix(p.Errors[0].Pointer, "/"), "/", ".")
			if path == "question" { // of the engine's own request
				path = "query"
			}
			param = &path
		}
		switch {
		case p.Code == "unknown_expert":
			status = http.StatusNotFound
			code = "model_not_found"
			param = &named
		case p.Code == collections.Unknown && named != "":
			param = &named
		case status == http.StatusUnauthorized:
			code = "invalid_api_key"
		case status == http.StatusTooManyRequests:
			kind = "rate_limit_error"
		case status >= http.StatusInternalServerError:
			kind = "server_error"
		case slices.Contains([]int{http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge}, status):
			status = http.StatusBadRequest
		}
		return status, openAIRefusal{openAIMistake{p.Detail, kind, param, code}}
	}
}
