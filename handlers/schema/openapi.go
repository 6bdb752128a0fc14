// Package schema is the API's description, openapi.yaml, and what is read from it: operations with their scopes,
// schemas of bodies and of query strings, and the table of problems. It reads JSON strictly, checks it against a Schema
// and fills a Go value with it; what is wrong it returns as a Problem.
package schema

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"example.org/conclave/search"

	"go.yaml.in/yaml/v3"
)

//go:embed openapi.yaml
var openapiSource []byte

// Document is the content of openapi.yaml: as it is served, and the operations and schemas that are enforced.
type Document struct {
	JSON       []byte
	YAML       func() ([]byte, error)
	Operations map[string]*Operation  // by their ids
	Schemas    map[string]*Schema     // of bodies, by name
	Conditions map[string]problemCode // by code
}

// Operation is one method of one path, with what a request to it may contain.
type Operation struct {
	ID, Method, Path string
	Scope            Scope
	Produces         []string
	Takes            []string           // types of the body; nil: none is taken
	Body             *Schema            // of the body, or of one line of it
	refusal          string             // the schema of refusals; "": they are problems
	parameters       map[string]*Schema // of the query string
	Strict           bool               // other parameters are refused
	OfCollection     bool               // it is of one collection, which the path may name
	Choosing         bool               // the collection is found by its adapter, or by its body
	Search           bool               // its body may name several
}

// TakesLines reports whether the operation takes a body with one JSON text a line.
func (o *Operation) TakesLines() bool { return slices.Contains(o.Takes, TypeLines) }

// problemCode is one entry of the document's table of problems: a code with its status, its title, and what the caller
// can do about it. docs/errors.md is made from the table.
type problemCode struct {
	Code       string `yaml:"code"`
	Status     int    `yaml:"status"`
	Title      string `yaml:"title"`
	Remedy     string `yaml:"remedy"`
	RetryAfter int    `yaml:"retry_after"` // seconds
}

// Schema is the part of JSON Schema that the document uses to describe requests.
type Schema struct {
	Ref                  string   `json:"$ref"`
	Type                 string   `json:"type"` // "" with OneOf, whose types differ, and for anything
	Enum                 []string `json:"enum"`
	Code                 string   `json:"x-code"` // of a value that is none of Enum
	Minimum, Maximum     *float64
	MinItems             int
	Required             []string
	Properties           map[string]*Schema
	AdditionalProperties json.RawMessage
	Items                *Schema
	OneOf                []*Schema
	Content              *Schema `json:"contentSchema"` // of each line of a text: OpenAPI 3.1 describes wholes alone

	rest *Schema // of properties that are not named; nil: there may be none
}

// SchemaPrefix is what a $ref begins with; the name of a schema follows.
const SchemaPrefix = "#/components/schemas/"

// linkRefs replaces each $ref in a schema by the schema that it names. inside has, by name, the schemas whose
// references are being expanded; nil: none, so that a recursive schema refers to itself. It fails if a reference names
// no schema.
func (s *Schema) linkRefs(all map[string]json.RawMessage, inside map[string]*Schema) error {
	if s.Ref != "" {
		name := strings.TrimPrefix(s.Ref, SchemaPrefix)
		if outer := inside[name]; outer != nil {
			*s = *outer
			return nil
		}
		s.Ref = ""
		if err := json.Unmarshal(all[name], s); err != nil {
			return fmt.Errorf("the schema %s: %w", name, err)
		}
		inside = maps.Clone(inside)
		if inside == nil {
			inside = map[string]*Schema{}
		}
		inside[name] = s
		return s.linkRefs(all, inside)
	}
	children := slices.Clone(s.OneOf)
	for _, property := range s.Properties {
		children = append(children, property)
	}
	for _, child := range []*Schema{s.Items, s.Content} {
		if child != nil {
			children = append(children, child)
		}
	}
	if len(s.AdditionalProperties) > 0 && s.AdditionalProperties[0] == '{' {
		s.rest = &Schema{}
		if err := json.Unmarshal(s.AdditionalProperties, s.rest); err != nil {
			return err
		}
		children = append(children, s.rest)
	}
	for _, child := range children {
		if err := child.linkRefs(all, inside); err != nil {
			return err
		}
	}
	return nil
}

// OthersTag is that of the interfaces which others have defined.
const OthersTag = "chatbots"

// APIDocument returns the document of the program's openapi.yaml, which it reads in the first call. It panics if the
// file has a mistake, which every test finds.
var APIDocument = sync.OnceValue(func() *Document {
	d, err := readDocument(openapiSource)
	if err != nil {
		panic(fmt.Errorf("handlers: openapi.yaml: %w", err))
	}
	return d
})

// readDocument returns the document from the text of openapi.yaml, completed (completeDocument). It fails if the text
// is malformed, has a code of a problem twice, or refers to a schema that it does not have.
func readDocument(source []byte) (*Document, error) {
	for _, option := range []string{"missing", "weights", "normalisation", "sharpness", "weighting"} {
		source = bytes.ReplaceAll(
			source, []byte("{methods with "+option+"}"), []byte(strings.Join(search.MethodsWith(option), ", ")),
		)
	}
	var text yaml.Node
	var tree map[string]any
	var table struct {
		Problems []problemCode `yaml:"x-problems"`
		Paths    yaml.Node
	}
	if err := yaml.Unmarshal(source, &text); err != nil {
		return nil, err
	}
	if err := errors.Join(text.Decode(&tree), text.Decode(&table)); err != nil {
		return nil, err
	}
	d := &Document{
		Operations: map[string]*Operation{}, Schemas: map[string]*Schema{}, Conditions: map[string]problemCode{},
	}
	for _, c := range table.Problems {
		if _, twice := d.Conditions[c.Code]; twice {
			return nil, fmt.Errorf("%s is among the problems twice", c.Code)
		}
		d.Conditions[c.Code] = c
	}
	completeDocument(tree, table.Problems, table.Paths)
	var pretty bytes.Buffer
	encoder := json.NewEncoder(&pretty)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(tree); err != nil {
		return nil, err
	}
	d.JSON = pretty.Bytes()
	d.YAML = sync.OnceValues(func() ([]byte, error) { return yaml.Marshal(tree) })
	return d, d.readRules()
}

// memberOf returns the object at a path of keys inside a document that was read from YAML or JSON. It returns a nil
// map, to which nothing can be added, if there is none.
func memberOf(tree any, path ...string) map[string]any {
	for _, name := range path {
		object, _ := tree.(map[string]any)
		tree = object[name]
	}
	object, _ := tree.(map[string]any)
	return object
}

// completeDocument adds to the document, in place, the names of the fusion methods, the responses for problems (of the
// codes in table) of each operation, the order of the operations as x-order, missing descriptions of parameters, and
// the paths below a collection's name (nameCollections). paths is the part paths of the text, which has that order.
func completeDocument(tree map[string]any, table []problemCode, paths yaml.Node) {
	memberOf(tree, "components", "schemas", "Method")["enum"] = search.MethodNames()
	titles, all, responses := map[int][]string{}, map[string]any{}, map[string]any{}
	for _, c := range table {
		titles[c.Status] = append(titles[c.Status], fmt.Sprintf("%s (`%s`)", c.Title, c.Code))
		all[ProblemName(c.Status)] = map[string]any{
			"description": strings.Join(titles[c.Status], "; ") + ".",
			"headers":     map[string]any{"X-Request-ID": map[string]any{"$ref": "#/components/headers/RequestID"}},
			"content": map[string]any{
				TypeProblem: map[string]any{"schema": map[string]any{"$ref": SchemaPrefix + "Problem"}},
			},
		}
	}
	memberOf(tree, "components")["responses"] = responses
	order := 0
	for at := 1; at < len(paths.Content); at += 2 { // keys and values by turns
		path, methods := paths.Content[at-1].Value, paths.Content[at].Content
		for at := 0; at < len(methods); at += 2 {
			memberOf(tree, "paths", path, methods[at].Value)["x-order"] = order // JSON objects have none
			order++
		}
	}
	for _, item := range memberOf(tree, "paths") {
		for _, operation := range memberOf(item) {
			o := memberOf(operation)
			statuses, _ := o["x-problems"].([]any)
			delete(o, "x-problems")
			refusal, _ := o["x-refusal"].(string)
			for _, status := range statuses {
				n, _ := status.(int)
				if refusal != "" {
					memberOf(o, "responses")[strconv.Itoa(n)] = errorResponse(n, refusal)
					continue
				}
				responses[ProblemName(n)] = all[ProblemName(n)]
				memberOf(o, "responses")[strconv.Itoa(n)] = map[string]any{
					"$ref": "#/components/responses/" + ProblemName(n),
				}
			}
			parameters, _ := o["parameters"].([]any)
			for _, p := range parameters {
				if p := memberOf(p); p["description"] == nil {
					p["description"] = memberOf(p, "schema")["description"]
				}
			}
		}
	}
	nameCollections(tree, order)
}

// isForeign reports whether a path item of the document, an object of operations by method, belongs to an interface
// that others have defined, such as OpenAI's: one of its operations has the tag OthersTag.
func isForeign(item any) bool {
	for _, operation := range memberOf(item) {
		if tags, _ := memberOf(operation)["tags"].([]any); slices.Contains(tags, any(OthersTag)) {
			return true
		}
	}
	return false
}

// nameCollections adds to the document, for each path that is about one collection, a second path below
// /v1/collections/{collection} that does the same. Their operations come after all others, which are `order` in number,
// and in the same order.
func nameCollections(tree map[string]any, order int) {
	paths := memberOf(tree, "paths")
	parameter := map[string]any{
		"name": "collection", "in": "path", "required": true, "description": "The collection's name.",
		"schema": map[string]any{"type": "string"},
	}
	for path, item := range maps.Clone(paths) {
		if !isOfCollection(path) && !isForeign(item) || paths["/v1"+path] != nil || strings.Contains(
			path, "{collection}",
		) {
			continue
		}
		copied := map[string]any{}
		for method, operation := range memberOf(item) {
			o := maps.Clone(memberOf(operation))
			was, _ := o["x-order"].(int)
			o["x-order"] = order + was
			o["operationId"] = fmt.Sprint(o["operationId"], "Of")
			o["summary"] = fmt.Sprint(o["summary"], ", of the collection that the path names")
			o["description"] = fmt.Sprintf("Does what %s does, for the collection that the path names.", path)
			parameters, _ := o["parameters"].([]any)
			o["parameters"] = append([]any{parameter}, parameters...)
			// A key may be for other collections than the default one.
			memberOf(o, "responses")["404"] = map[string]any{
				"$ref": "#/components/responses/" + ProblemName(http.StatusNotFound),
			}
			if shape, _ := o["x-refusal"].(string); shape != "" {
				memberOf(o, "responses")["404"] = errorResponse(http.StatusNotFound, shape)
			}
			copied[method] = o
		}
		paths[PathNamed(path)] = copied
	}
}

// errorResponse returns the document's description of an error response of an interface with error bodies of its own.
func errorResponse(status int, schema string) map[string]any {
	phrase := cmp.Or(http.StatusText(status), "The caller closed the connection")
	return map[string]any{
		"description": phrase + ", in the shape of this interface.",
		"headers":     map[string]any{"X-Request-ID": map[string]any{"$ref": "#/components/headers/RequestID"}},
		"content": map[string]any{
			TypeJSON: map[string]any{"schema": map[string]any{"$ref": SchemaPrefix + schema}},
		},
	}
}

// ProblemName returns the name of the document's response for problems of a status, such as Problem404.
func ProblemName(status int) string { return fmt.Sprintf("Problem%d", status) }

// readRules sets d.Operations and d.Schemas from d.JSON, the document as it is served, with all references replaced. It
// fails if the document cannot be read or a reference names no schema.
func (d *Document) readRules() error {
	var read struct {
		Paths map[string]map[string]struct {
			OperationID string
			Security    []map[string][]Scope
			Parameters  []struct {
				Name, In string
				Schema   *Schema
			}
			RequestBody struct {
				Content map[string]struct {
					Schema *Schema
				}
			}
			Responses map[string]struct{ Content map[string]json.RawMessage }
			Tags      []string
			Refusal   string `json:"x-refusal"`
		}
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal(d.JSON, &read); err != nil {
		return err
	}
	for path, item := range read.Paths {
		if strings.HasPrefix(path, CollectionsPath+"{collection}/") {
			continue // as the same without the name
		}
		for method, from := range item {
			o := &Operation{
				ID: from.OperationID, Method: strings.ToUpper(method), Path: path, Scope: AnyKey,
				parameters: map[string]*Schema{}, Strict: strings.HasPrefix(path, "/v1/"), refusal: from.Refusal,
			}
			o.OfCollection = isOfCollection(path) || slices.Contains(from.Tags, OthersTag)
			if scopes, ok := from.Security[0]["bearer"]; !ok {
				o.Scope = Public
			} else if len(scopes) > 0 {
				o.Scope = scopes[0]
			}
			for _, p := range from.Parameters {
				if p.In == "query" {
					o.parameters[p.Name] = p.Schema
				}
			}
			for contentType, media := range from.RequestBody.Content {
				o.Takes = append(o.Takes, contentType)
				switch {
				case slices.Contains(from.Tags, OthersTag): // whose adapter reads it
				case contentType == TypeLines:
					o.Body = media.Schema.Content
				case contentType == TypeJSON, o.Body == nil:
					o.Body = media.Schema
				}
			}
			for status, response := range from.Responses {
				for contentType := range response.Content {
					if status < "300" {
						o.Produces = append(o.Produces, contentType)
					}
				}
			}
			if slices.Sort(o.Produces); len(o.Produces) == 0 {
				o.Produces = []string{TypeJSON}
			}
			o.Produces = slices.Compact(o.Produces)
			d.Operations[o.ID] = o
		}
	}
	for name := range read.Components.Schemas {
		if strings.HasSuffix(name, "Request") || name == "Filter" {
			d.Schemas[name] = &Schema{Ref: SchemaPrefix + name}
		}
	}
	for _, s := range d.Schemas {
		if err := s.linkRefs(read.Components.Schemas, nil); err != nil {
			return err
		}
	}
	// The reference page shows a list of methods; one alone is more than that: it is
	// answered with results and not with rankings.
	d.Operations[SimpleSearch].parameters["fusion"] = d.Schemas["SearchRequest"].Properties["fusion"]
	for _, o := range d.Operations {
		for name, s := range o.parameters {
			if err := s.linkRefs(read.Components.Schemas, nil); err != nil {
				return fmt.Errorf("the parameter %s of %s: %w", name, o.ID, err)
			}
		}
		if o.Body == nil {
			continue
		}
		if err := o.Body.linkRefs(read.Components.Schemas, nil); err != nil {
			return fmt.Errorf("the body of %s: %w", o.ID, err)
		}
	}
	// Each search of a batch is checked by itself, so that a mistake in one leaves the
	// others alone.
	d.Operations["searchBatch"].Body.Properties["searches"].Items = &Schema{}
	return nil
}

// TakesFiles reports whether an operation takes files of any type.
func (o *Operation) TakesFiles() bool { return slices.Contains(o.Takes, anyType) }

// anyType is that of a body whose type is found out.
const anyType = "*/*"
