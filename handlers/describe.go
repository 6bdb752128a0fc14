package handlers

import (
	"fmt"
	"maps"
	"slices"

	"github.com/danielgtaylor/huma/v2"
)

// documentText introduces the document.
const documentText = `Passages that answer a question, found by many specialists and fused by how sure each of them is.

Every error is a problem (RFC 9457, application/problem+json) with a stable code, a detail that says what was wrong and what is allowed, and JSON pointers to the parts that are wrong. Requests are read strictly: a name that is not known, a key written twice or a value of another type is an error, never ignored. Answers may get new fields.

Without keys the server is open to its own machine alone. With keys, send one as "Authorization: Bearer KEY" or "X-API-Key: KEY"; the scopes are search, embed, ingest and admin, and admin covers the others.`

func inJSON(name string) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{typeJSON: {Schema: &schema{Ref: schemaRef(name)}}}
}

func searchHeaders() map[string]*huma.Param {
	return map[string]*huma.Param{
		"Server-Timing": {Description: "What each stage of each source took, in milliseconds.", Schema: &schema{Type: huma.TypeString}},
	}
}

func describeSearch(huma.Registry) described {
	return described{
		tag: "search", summary: "Search",
		description: "Asks every expert and BM25, in parallel and under one deadline, and fuses their rankings. A source that fails or is late is left out and named in `degraded`. The same request to the same generation gives the same ids in the same order.",
		request: &huma.MediaType{Schema: &schema{Ref: schemaRef("SearchRequest")},
			Example: map[string]any{"question": "how do bees find their way back to the hive", "k": 3}},
		content: inJSON("SearchResponse"), headers: searchHeaders(),
	}
}

func describeSimpleSearch(registry huma.Registry) described {
	d := described{
		tag: "search", summary: "Search, to type into a browser",
		description: "The same as POST, with the question as `q`, the other scalar fields by their names, and lists between commas. An empty `experts` searches words alone. A tag with a comma in it needs POST.",
		content:     inJSON("SearchResponse"), headers: searchHeaders(),
	}
	properties := queryParameters(registry, searchSchema(registry))
	names := []string{questionParameter}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if name != questionParameter {
			names = append(names, name)
		}
	}
	for _, name := range names {
		property := *properties[name]
		text := property.Description
		if name == "fusion" {
			// A reference page shows one field for it; several methods are a list.
			property = schema{Type: huma.TypeArray, Items: property.OneOf[0]}
			text = "How the sources' rankings become one: a method, or several between commas to get one ranking for each."
		}
		property.Description = ""
		d.parameters = append(d.parameters, describeParameter(name, text, property))
	}
	return d
}

// describeParameter describes a parameter of a query string; a list's items are
// between commas.
func describeParameter(name, text string, property schema) *huma.Param {
	p := &huma.Param{Name: name, In: "query", Description: text, Schema: &property, Required: name == questionParameter}
	if property.Type == huma.TypeArray {
		together := false
		p.Style, p.Explode = "form", &together
	}
	return p
}

func describeBatch(huma.Registry) described {
	return described{
		tag: "search", summary: "Several searches at once",
		description: "Answers come in the order of the searches, each an answer or a problem: a mistake in one leaves the others alone. The searches share the encoders' batches.",
		request: &huma.MediaType{Schema: &schema{Ref: schemaRef("BatchRequest")},
			Example: map[string]any{"searches": []any{map[string]any{"question": "who wrote it", "k": 1}, map[string]any{"question": "when was it built", "k": 1}}}},
		content: inJSON("BatchResponse"),
	}
}

func describeEmbed(huma.Registry) described {
	return described{
		tag: "search", summary: "Vectors of texts",
		description: "An expert's vectors of questions or of passages.",
		request: &huma.MediaType{Schema: &schema{Ref: schemaRef("EmbedRequest")},
			Example: map[string]any{"expert": "base", "input": []any{"how tall is it"}, "kind": "question"}},
		content: inJSON("EmbedResponse"),
	}
}

func describePassage(huma.Registry) described {
	return described{
		tag: "look up", summary: "One passage",
		description: "The ETag is the passage's version. An id with slashes may be written as it is, or with %2F.",
		parameters: []*huma.Param{
			{Name: "id", In: "path", Required: true, Description: "The passage's id.", Schema: &schema{Type: huma.TypeString}},
			{Name: "If-None-Match", In: "header", Description: "A version that the caller has already.", Schema: &schema{Type: huma.TypeString}},
		},
		content: inJSON("Passage"), notModified: true, errors: []int{404, 503},
		headers: map[string]*huma.Param{"ETag": {Description: "The passage's version.", Schema: &schema{Type: huma.TypeString}}},
	}
}

func describePassages(huma.Registry) described {
	return described{
		tag: "look up", summary: "All passages, page by page",
		description: "In the order of their ids' bytes, as searches see them. Where there are more, `next` is the id to ask for as `after`. A page ends early where it would have more than limits.answer_bytes.",
		parameters: []*huma.Param{
			{Name: "after", In: "query", Description: "The id after which to begin. Left out: from the first.", Schema: &schema{Type: huma.TypeString}},
			{Name: "limit", In: "query", Description: "How many passages. At most limits.k.", Schema: &schema{Type: huma.TypeInteger, Default: listLimit}},
		},
		content: inJSON("PassageList"), errors: []int{503},
	}
}

func describeExperts(huma.Registry) described {
	return described{tag: "look up", summary: "The experts that are loaded",
		description: "What each is, how it was calibrated, and how much of the exact search its index finds.",
		content:     inJSON("ExpertList"), errors: []int{503}}
}

func describeExpert(huma.Registry) described {
	return described{tag: "look up", summary: "One expert",
		parameters: []*huma.Param{{Name: "name", In: "path", Required: true, Description: "The expert's name.", Schema: &schema{Type: huma.TypeString}}},
		content:    inJSON("Expert"), errors: []int{404, 503}}
}

func describeLimits(huma.Registry) described {
	return described{tag: "look up", summary: "Every limit in force",
		description: "And what a request gets that does not say otherwise.",
		content:     inJSON("Limits"), errors: []int{503}}
}

func describeLive(huma.Registry) described {
	return described{tag: "health", summary: "The process runs", content: inJSON("Health")}
}

func describeReady(huma.Registry) described {
	return described{tag: "health", summary: "Requests are answered well",
		description: "200 when every component works and the server is not shutting down; 503 with the components otherwise. A warning does not make it 503.",
		content:     inJSON("Health"), errors: []int{503}}
}

func describeStarted(huma.Registry) described {
	return described{tag: "health", summary: "Models and index have been loaded", content: inJSON("Health"), errors: []int{503}}
}

func describeMetrics(huma.Registry) described {
	return described{tag: "health", summary: "Metrics for Prometheus",
		content: map[string]*huma.MediaType{"text/plain": {Schema: &schema{Type: huma.TypeString}}}}
}

func describeDocument(contentType string) func(huma.Registry) described {
	return func(huma.Registry) described {
		return described{tag: "contract", summary: fmt.Sprintf("This document (%s)", contentType),
			parameters:  []*huma.Param{{Name: "If-None-Match", In: "header", Description: "A version that the caller has already.", Schema: &schema{Type: huma.TypeString}}},
			notModified: true, headers: map[string]*huma.Param{"ETag": {Description: "The document's version.", Schema: &schema{Type: huma.TypeString}}},
			content: map[string]*huma.MediaType{contentType: {Schema: &schema{}}}}
	}
}
