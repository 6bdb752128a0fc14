package adapters

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"example.org/conclave/handlers"
	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/collections"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/search"
	"example.org/conclave/search/storage"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// difyRoutes returns the route of Dify's external knowledge base.
func difyRoutes() []handlers.Adapter {
	return []handlers.Adapter{
		{
			Method:  http.MethodPost,
			Path:    "/retrieval",
			Scope:   schema.ScopeSearch,
			Cost:    front.Searching(0),
			Refusal: difyError,
			Choose:  collectionOfDify,
			Serve: serveBody(func(ctx context.Context, e handlers.Engine, in difyRequest) (difyRecords, error) {
				return in.retrieve(ctx, e)
			}),
		},
	}
}

// collectionOfDify returns the collection that a body names; none if the body cannot be read.
func collectionOfDify(_ *http.Request, body []byte) (collections []string, needed bool) {
	var in struct {
		KnowledgeID string `json:"knowledge_id"`
	}
	_ = json.Unmarshal(body, &in) // Serve says what is wrong
	if in.KnowledgeID == "" {
		return nil, true
	}
	return []string{in.KnowledgeID}, true
}

type difyRequest struct {
	KnowledgeID string         `json:"knowledge_id"` // the collection's name
	Query       string         `json:"query"`
	Setting     difySetting    `json:"retrieval_setting"`
	Condition   *difySelection `json:"metadata_condition"`
	// Messages are those before the query, which a caller may add; Dify has no such field.
	Messages []search.Message `json:"messages"`
}

type difySetting struct {
	TopK           *int     `json:"top_k"`
	ScoreThreshold *float64 `json:"score_threshold"`
}

type difySelection struct {
	LogicalOperator string          `json:"logical_operator"`
	Conditions      []difyCondition `json:"conditions"`
}

type difyCondition struct {
	Name       texts          `json:"name"`
	Comparison string         `json:"comparison_operator"`
	Value      jsontext.Value `json:"value"`
}

type difyRecords struct {
	Records []difyRecord `json:"records"`
	Asked   string       `json:"asked,omitempty"`   // how the query was understood
	Verdict string       `json:"verdict,omitempty"` // that of the search
	Notes   []string     `json:"notes,omitempty"`   // what to know about the question
}

type difyRecord struct {
	Content  string         `json:"content"`
	Score    float64        `json:"score"`
	Title    string         `json:"title"`
	Metadata map[string]any `json:"metadata"`
}

// retrieve searches, and returns the results above the score threshold as Dify's records. It returns a problem if a
// setting is invalid or the search fails. Without top_k it returns as many as a search does by default. The notes are
// also in the metadata of the first record.
func (in *difyRequest) retrieve(
	ctx context.Context,
	e handlers.Engine,
) (out difyRecords, err error) {
	most := e.Defaults().K
	if in.Setting.TopK != nil {
		most = *in.Setting.TopK
		if most < 1 || most > e.Limits().K {
			return out, fieldError(
				"out_of_range", "/retrieval_setting/top_k",
				"retrieval_setting/top_k is %d: it has to be from 1 to %d", most, e.Limits().K,
			)
		}
	}
	request := search.Request{K: min(searchDepth(most), e.Limits().K), Fields: passageFields}
	appendQuery(&request, in.Query, in.Messages)
	request.Answer.Wanted = marksByDefault(e)
	if in.Setting.ScoreThreshold != nil {
		request.MinConfidence = *in.Setting.ScoreThreshold
	}
	if err := checkThreshold("/retrieval_setting/score_threshold", request.MinConfidence); err != nil {
		return out, err
	}
	request.Filter, err = in.filter(&request)
	if err != nil {
		return out, err
	}
	response, err := e.Search(ctx, search.Caller{}, request)
	if err != nil {
		return out, err
	}
	out.Notes = append(correctedWords(response), notesOf(response)...)
	out.Verdict = string(response.Verdict)
	out.Asked = response.Asked
	out.Records = []difyRecord{}
	results, scores := resultsAbove(response, most, request.MinConfidence)
	for i, x := range results {
		metadata := map[string]any{"id": x.ID} // never null, which Dify does not bear
		if i == 0 && len(out.Notes) > 0 {
			metadata["notes"] = out.Notes // which Dify hands on with a record alone
		}
		// The likeliest of a passage stays.
		for _, a := range slices.Backward(response.Answers) {
			if a.Passage == x.ID && a.Collection == x.Collection {
				metadata["answer"] = a
			}
		}
		maps.Copy(metadata, attributesOf(x))
		addVerdict(metadata, response)
		out.Records = append(
			out.Records,
			difyRecord{Content: contentOf(x), Score: scores[i], Title: titleOf(x.Title, x.ID), Metadata: metadata},
		)
	}
	return out, nil
}

// textKey is the name of conditions on the words of passages.
const textKey = "text"

// filter returns the request's conditions on tags and metadata. Conditions on words are added to r.Must and r.MustNot.
// It returns a problem if a condition is not supported.
func (in *difyRequest) filter(r *search.Request) (f storage.Filter, err error) {
	if in.Condition == nil {
		return f, nil
	}
	or := in.Condition.LogicalOperator == "or"
	var all []conditions.Condition
	for i := range in.Condition.Conditions {
		c := &in.Condition.Conditions[i]
		var words texts
		if len(c.Name) == 1 && c.Name[0] == textKey && (c.Comparison == "contains" || c.Comparison == "not contains") &&
			!or && words.UnmarshalJSON(c.Value) == nil {
			if c.Comparison == "contains" {
				r.Must = append(r.Must, words...)
			} else {
				r.MustNot = append(r.MustNot, words...)
			}
			continue
		}
		one, ok := c.condition()
		if !ok {
			return f, fieldError(
				"unknown_value", "/metadata_condition",
				"the condition %.32q on %.64q is not supported: is, is not, in, not in, empty, not empty, start with, =, ≠, >, <, ≥, ≤, before and after compare a field with values of its kind; contains and not contains are for %q, and for %q where all conditions hold",
				c.Comparison, strings.Join(c.Name, ", "), tagsKey, textKey,
			)
		}
		all = append(all, one)
	}
	if or && all != nil {
		all = []conditions.Condition{{Or: all}}
	}
	f.And = all
	return f, nil
}

type difyRefusal struct {
	Code    any    `json:"error_code"`
	Message string `json:"error_msg"`
}

// difyError returns the status and body for a problem in Dify's form: code 1001 for a key that is not sent correctly,
// 1002 for a key that does not allow the request, both with status 403, and 2001 for an unknown collection.
func difyError(p *schema.Problem) (int, any) {
	status := p.Status
	code := any(p.Code)
	switch {
	case p.Code == "unauthorized" && !p.UnknownKey():
		status = http.StatusForbidden
		code = 1001
	case p.Code == "unauthorized" || p.Code == "insufficient_scope":
		status = http.StatusForbidden
		code = 1002
	case p.Code == collections.Unknown:
		code = 2001
	}
	return status, difyRefusal{code, p.Detail}
}
