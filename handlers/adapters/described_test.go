package adapters

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// described are the Go types of an operation's body, answer and refusals; nil: none, or what the SDK
// of the protocol reads and writes.
type described struct{ body, answer, refusal reflect.Type }

// shapes returns them by method and path.
func shapes() map[string]described {
	openAI := reflect.TypeFor[openAIRefusal]()
	tei, cohere := reflect.TypeFor[inferenceRefusal](), reflect.TypeFor[cohereRefusal]()
	answering := func(answer reflect.Type) described { return described{nil, answer, openAI} }
	const one = "/v1/vector_stores/{collection}/files/{file}"
	reranking := described{reflect.TypeFor[rerankRequest](), reflect.TypeFor[rerankResponse](), cohere}
	return map[string]described{
		"POST /mcp":                 {},
		"GET /v1/models":            answering(reflect.TypeFor[modelList]()),
		"POST /v1/chat/completions": {reflect.TypeFor[chatRequest](), reflect.TypeFor[chatCompletion](), openAI},
		"GET /v1/models/{model}":    answering(reflect.TypeFor[modelObject]()),
		"POST /v1/responses":        {reflect.TypeFor[responsesRequest](), reflect.TypeFor[response](), openAI},
		"POST /v1/completions":      {reflect.TypeFor[textRequest](), reflect.TypeFor[textCompletion](), openAI},
		"POST /v1/embeddings":       {reflect.TypeFor[embeddingRequest](), reflect.TypeFor[embeddingList](), openAI},
		"POST /v1/vector_stores/{collection}/search": {
			reflect.TypeFor[storeRequest](), reflect.TypeFor[storePage](), openAI,
		},
		"GET /v1/vector_stores":              answering(reflect.TypeFor[filePage]()),
		"GET /v1/vector_stores/{collection}": answering(reflect.TypeFor[vectorStore]()),
		"POST /v1/vector_stores": {
			reflect.TypeFor[newStoreBody](), reflect.TypeFor[vectorStore](), openAI,
		},
		"DELETE /v1/vector_stores/{collection}": answering(reflect.TypeFor[fileDeletion]()),
		"POST /v1/files":                        answering(reflect.TypeFor[fileObject]()),
		"GET /v1/files":                         answering(reflect.TypeFor[filePage]()),
		"GET /v1/files/{file}":                  answering(reflect.TypeFor[fileObject]()),
		"DELETE /v1/files/{file}":               answering(reflect.TypeFor[fileDeletion]()),
		"POST /v1/vector_stores/{collection}/files": {
			reflect.TypeFor[addition](), reflect.TypeFor[storeFile](), openAI,
		},
		"GET /v1/vector_stores/{collection}/files": answering(reflect.TypeFor[filePage]()),
		"GET " + one:              answering(reflect.TypeFor[storeFile]()),
		"POST " + one:             {reflect.TypeFor[amendment](), reflect.TypeFor[storeFile](), openAI},
		"GET " + one + "/content": answering(reflect.TypeFor[fileContent]()),
		"DELETE " + one:           answering(reflect.TypeFor[fileDeletion]()),
		"POST /embed":             {reflect.TypeFor[inferEmbedRequest](), reflect.TypeFor[[][]float32](), tei},
		"POST /rerank":            {reflect.TypeFor[inferRankRequest](), reflect.TypeFor[[]inferRank](), tei},
		"POST /v1/rerank":         reranking,
		"POST /v2/rerank":         reranking,
		"POST /retrieval": {
			reflect.TypeFor[difyRequest](), reflect.TypeFor[difyRecords](), reflect.TypeFor[difyRefusal](),
		},
	}
}

// TestAdaptersAreDescribed: the document has each adapter, and of bodies, answers and refusals the
// fields of the types that are read and written, with their types.
func TestAdaptersAreDescribed(t *testing.T) {
	source, err := os.ReadFile("../schema/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d := comparison{T: t}
	if err := yaml.Unmarshal(source, &d.document); err != nil {
		t.Fatal(err)
	}
	known := shapes()
	for _, x := range All() {
		name := x.Method + " " + x.Path
		types, ok := known[name]
		o, described := at(d.document, "paths", x.Path, strings.ToLower(x.Method)).(map[string]any)
		if !ok || !described {
			t.Errorf("%s: in the document %v, among the types here %v", name, described, ok)
			continue
		}
		delete(known, name)
		if types.body != nil {
			d.reading = true
			d.compare(name, at(o, "requestBody", "content", "application/json", "schema"), types.body)
		}
		d.reading = false
		if types.answer != nil {
			d.compare(name, at(o, "responses", "200", "content", "application/json", "schema"), types.answer)
		}
		refusal, _ := o["x-refusal"].(string)
		if (types.refusal == nil) != (refusal == "") || (x.Refusal == nil) != (refusal == "") {
			t.Errorf("%s has refusals of the shape %q", name, refusal)
		}
		if types.refusal != nil {
			d.compare(name, at(d.document, "components", "schemas", refusal), types.refusal)
		}
	}
	if len(known) > 0 {
		t.Errorf("nothing serves %v", slices.Sorted(maps.Keys(known)))
	}
}

// comparison compares schemas of the document with Go types.
type comparison struct {
	*testing.T
	document map[string]any
	reading  bool // a request, where null stands for what is left out
}

func at(v any, path ...string) any {
	for _, step := range path {
		m, _ := v.(map[string]any)
		v = m[step]
	}
	return v
}

// refusedFields returns the names of fields that are read to say why they are not taken.
func refusedFields() []string { return []string{"dimensions", "max_tokens_per_doc"} }

// compare reports where a schema is not that of a type.
func (d *comparison) compare(where string, schema any, of reflect.Type) {
	if ref, ok := at(schema, "$ref").(string); ok {
		schema = at(d.document, strings.Split(ref, "/")[1:]...)
	}
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	types := typesIn(schema)
	want := "object"
	switch of.Kind() {
	case reflect.Interface:
		return
	case reflect.Bool:
		want = "boolean"
	case reflect.String:
		want = "string"
	case reflect.Int, reflect.Int64:
		want = "integer"
	case reflect.Float32, reflect.Float64:
		want = "number"
	case reflect.Slice:
		want = "array"
	case reflect.Map:
		return // of anything
	}
	switch {
	case of == reflect.TypeFor[jsontext.Value]():
		return // read by hand
	case of == reflect.TypeFor[chatTexts](), of == reflect.TypeFor[stopTexts](),
		of == reflect.TypeFor[responsesInput]():
		if !slices.Contains(types, "string") || !slices.Contains(types, "array") {
			d.Errorf("%s is one of %v", where, types)
		}
		return
	case of == reflect.TypeFor[texts](), of == reflect.TypeFor[rerankDocument]() && d.reading:
		if !slices.Contains(types, "string") || len(types) != 2 {
			d.Errorf("%s is one of %v", where, types)
		}
		return
	case !slices.Contains(types, want) || len(slices.DeleteFunc(types, func(s string) bool { return s == "null" })) != 1:
		d.Errorf("%s is %v, its type a %s", where, types, want)
		return
	case of.Kind() == reflect.Slice:
		for i, items := range []any{at(schema, "items")} {
			if of.Elem().Kind() != reflect.Interface && of.Elem() != reflect.TypeFor[storeFilter]() {
				d.compare(fmt.Sprint(where, "/", i), items, of.Elem())
			}
		}
	case of.Kind() == reflect.Struct:
		d.fields(where, schema, of)
	}
}

// typesIn returns the types that a schema allows.
func typesIn(schema any) (all []string) {
	switch given := at(schema, "type").(type) {
	case string:
		return []string{given}
	case []any:
		for _, one := range given {
			all = append(all, fmt.Sprint(one))
		}
	}
	some, _ := at(schema, "oneOf").([]any)
	for _, one := range some {
		if ref, ok := at(one, "$ref").(string); ok && ref != "" {
			all = append(all, "object")
		}
		all = append(all, typesIn(one)...)
	}
	return all
}

// fields compares the properties of a schema with the fields of a type.
func (d *comparison) fields(where string, schema any, of reflect.Type) {
	if some, ok := at(schema, "oneOf").([]any); ok {
		d.compare(where, some[0], of)
		return
	}
	properties, ok := at(schema, "properties").(map[string]any)
	if !ok {
		if at(schema, "additionalProperties") != true {
			d.Errorf("%s has no properties", where)
		}
		return
	}
	_, takes := of.FieldByName("Others")
	takes = takes || of == reflect.TypeFor[chatMessage]()
	if d.reading && takes != (at(schema, "additionalProperties") == true) {
		d.Errorf("%s may have other fields: in the document %v, here %v", where, !takes, takes)
	}
	known := map[string]bool{}
	for _, f := range reflect.VisibleFields(of) {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || slices.Contains(refusedFields(), name) {
			continue
		}
		known[name] = true
		property, ok := properties[name]
		if !ok {
			d.Errorf("%s/%s is not in the document", where, name)
			continue
		}
		if text, _ := at(property, "description").(string); text == "" {
			d.Errorf("nothing is said of %s/%s", where, name)
		}
		required, _ := at(schema, "required").([]any)
		must := slices.Contains(required, any(name))
		types := typesIn(property)
		switch {
		case !d.reading && must != (option == ""):
			d.Errorf("%s/%s: required %v, and left out %q", where, name, must, option)
		case d.reading && !must && len(types) > 0 && !slices.Contains(types, "null"):
			d.Errorf("%s/%s may be left out and not be null", where, name)
		case !d.reading && f.Type.Kind() == reflect.Pointer && option == "" && !slices.Contains(types, "null"):
			d.Errorf("%s/%s may be null", where, name)
		}
		d.compare(where+"/"+name, property, f.Type)
	}
	for name := range properties {
		if !known[name] {
			d.Errorf("%s/%s is in the document alone", where, name)
		}
	}
}
