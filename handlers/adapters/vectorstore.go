package adapters

import (
	"context"
	"maps"
	"strings"

	"example.org/conclave/handlers"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/search"
	"example.org/conclave/search/reply"

	"github.com/go-json-experiment/json/jsontext"
)

// storeRequest is OpenAI's search of a vector store; here the store is the collection.
type storeRequest struct {
	Query          texts        `json:"query"`
	MaxNumResults  *int         `json:"max_num_results"`
	Filters        *storeFilter `json:"filters"`
	RankingOptions storeRanking `json:"ranking_options"`
	RewriteQuery   bool         `json:"rewrite_query"`
	// Messages are those before the query; OpenAI has no such field.
	Messages []search.Message `json:"messages"`
}

type storeRanking struct {
	Ranker         string  `json:"ranker"` // there is one
	ScoreThreshold float64 `json:"score_threshold"`
}

// storeFilter is a comparison of one attribute, or several joined.
type storeFilter struct {
	Type    string         `json:"type"`
	Key     string         `json:"key"`
	Value   jsontext.Value `json:"value"`
	Filters []storeFilter  `json:"filters"`
}

type storePage struct {
	Object      string     `json:"object"`
	SearchQuery []string   `json:"search_query"`
	Data        []storeHit `json:"data"`
	HasMore     bool       `json:"has_more"`
	NextPage    *string    `json:"next_page"`
	Verdict     string     `json:"verdict,omitempty"` // that of the search
	Notes       []string   `json:"notes,omitempty"`   // what to know about the question
}

type storeHit struct {
	FileID     string         `json:"file_id"`  // the passage's id
	Filename   string         `json:"filename"` // that of its document, or else its title, or id
	Score      float64        `json:"score"`
	Attributes map[string]any `json:"attributes"` // its metadata, and where it stands
	Content    []storeText    `json:"content"`
}

type storeText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Results of a search, as OpenAI has them.
const (
	defaultStoreResults = 10
	mostStoreResults    = 50
)

// passageFields are what an answer to others carries of a passage.
var passageFields = []string{"title", "text", "metadata", "document"}

// findInStore answers POST /v1/vector_stores/{id}/search: the results above the score threshold. It returns a problem
// if an option is not supported or the search fails. Without max_num_results it returns defaultStoreResults at most.
func findInStore(ctx context.Context, e handlers.Engine, in storeRequest) (out storePage, err error) {
	most := defaultStoreResults
	switch {
	case len(in.Query) != 1:
		return out, fieldError(
			"out_of_range", "/query", "there are %d questions in query: one is answered at a time", len(in.Query),
		)
	case in.RewriteQuery:
		return out, fieldError(
			"unknown_value", "/rewrite_query", "questions are not rewritten here: leave rewrite_query out",
		)
	case in.MaxNumResults != nil:
		most = *in.MaxNumResults
		if most < 1 || most > mostStoreResults {
			return out, fieldError(
				"out_of_range", "/max_num_results", "max_num_results is %d: it has to be from 1 to %d", most,
				mostStoreResults,
			)
		}
	}
	request := search.Request{
		K:             min(searchDepth(most), e.Limits().K),
		Fields:        passageFields,
		MinConfidence: in.RankingOptions.ScoreThreshold,
	}
	request.Answer.Wanted = marksByDefault(e) // by which the verdict is told, as in every interface
	appendQuery(&request, in.Query[0], in.Messages)
	if err := checkThreshold("/ranking_options/score_threshold", request.MinConfidence); err != nil {
		return out, err
	}
	if in.Filters != nil {
		c, err := in.Filters.condition()
		if err != nil {
			return out, err
		}
		request.Filter.And = []conditions.Condition{c}
	}
	response, err := e.Search(ctx, search.Caller{}, request)
	if err != nil {
		return out, err
	}
	out = storePage{
		Object:      "vector_store.search_results.page",
		SearchQuery: in.Query,
		Data:        []storeHit{},
		Verdict:     string(response.Verdict),
		Notes:       append(correctedWords(response), notesOf(response)...),
	}
	if response.Asked != "" {
		out.SearchQuery = []string{response.Asked} // how it was understood
	}
	results, scores := resultsAbove(response, most, in.RankingOptions.ScoreThreshold)
	for i, x := range results {
		hit := storeHit{
			FileID:     x.ID,
			Filename:   filenameOf(x),
			Score:      scores[i],
			Attributes: attributesOf(x),
			Content:    []storeText{{"text", contentOf(x)}},
		}
		addVerdict(hit.Attributes, response)
		out.Data = append(out.Data, hit)
	}
	return out, nil
}

// filenameOf returns the file name of a passage: the last part of its document's source, or the document's id if it has
// no source. A passage without a document has its title, or else its id.
func filenameOf(x reply.Result) string {
	if x.Document == nil {
		return titleOf(x.Title, x.ID)
	}
	from := strings.TrimRight(x.Document.Source, "/")
	if name := from[strings.LastIndexByte(from, '/')+1:]; name != "" {
		return name
	}
	return x.Document.ID
}

// attributesOf returns a copy of a passage's metadata with "document", "source" and "document_name" of its document
// added, if it is of one.
func attributesOf(x reply.Result) map[string]any {
	all := map[string]any{}
	maps.Copy(all, x.Metadata)
	if x.Document != nil {
		all["document"], all["source"] = x.Document.ID, x.Document.Source
		all["document_name"] = titleOf(x.Document.Title, x.Document.ID)
	}
	return all
}

// contentOf returns a passage's text, or its title if it has no text.
func contentOf(x reply.Result) string {
	if strings.TrimSpace(x.Text) == "" {
		return x.Title
	}
	return x.Text
}

// titleOf returns a title, or id if it is "".
func titleOf(title, id string) string {
	if title == "" {
		return id
	}
	return title
}
