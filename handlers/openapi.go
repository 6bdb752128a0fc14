package handlers

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

	"go.yaml.in/yaml/v3"

	"example.org/conclave/search"
)

//go:embed openapi.yaml
var openapiSource []byte

// document is what openapi.yaml says, as it is served and as it is enforced.
type document struct {
	json       []byte
	yaml       func() ([]byte, error)
	operations map[string]*operation // by their ids
	schemas    map[string]*schema    // of bodies, by name
	conditions map[string]condition  // by code
}

// operation is one method of one path.
type operation struct {
	id, method, path string
	scope            Scope
	produces         []string
	takes            []string           // types of the body; nil: none is taken
	body             *schema            // of the body, or of one line of it
	refusal          string             // the schema of refusals; "": they are problems
	parameters       map[string]*schema // of the query string
	strict           bool               // other parameters are refused
	ofCollection     bool               // it is of one collection, which the path may name
	choosing         bool               // the collection is found by its adapter, or by its body
	search           bool               // its body may name several
}

// takesLines reports whether a body is a text a line.
func (o *operation) takesLines() bool { return slices.Contains(o.takes, typeLines) }

// condition is one line of the document's table of problems.
type condition struct {
	Code       string `yaml:"code"`
	Status     int    `yaml:"status"`
	Title      string `yaml:"title"`
	RetryAfter int    `yaml:"retry_after"` // seconds
}

// schema is the part of JSON Schema that requests are described with.
type schema struct {
	Ref                  string   `json:"$ref"`
	Type                 string   `json:"type"` // "" with OneOf, whose types differ, and for anything
	Enum                 []string `json:"enum"`
	Code                 string   `json:"x-code"` // of a value that is none of Enum
	Minimum, Maximum     *float64
	MinItems             int
	Required             []string
	Properties           map[string]*schema
	AdditionalProperties json.RawMessage
	Items                *schema
	OneOf                []*schema
	Content              *schema `json:"contentSchema"` // of each line of a text: OpenAPI 3.1 describes wholes alone

	rest *schema // of properties that are not named; nil: there may be none
}

const schemaPrefix = "#/components/schemas/"

// link puts what a schema refers to in the reference's place; inside are the references that it is
// a part of, which a schema that has itself as a part shares.
func (s *schema) link(all map[string]json.RawMessage, inside map[string]*schema) error {
	if s.Ref != "" {
		name := strings.TrimPrefix(s.Ref, schemaPrefix)
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
			inside = map[string]*schema{}
		}
		inside[name] = s
		return s.link(all, inside)
	}
	children := slices.Clone(s.OneOf)
	for _, property := range s.Properties {
		children = append(children, property)
	}
	for _, child := range []*schema{s.Items, s.Content} {
		if child != nil {
			children = append(children, child)
		}
	}
	if len(s.AdditionalProperties) > 0 && s.AdditionalProperties[0] == '{' {
		s.rest = &schema{}
		if err := json.Unmarshal(s.AdditionalProperties, s.rest); err != nil {
			return err
		}
		children = append(children, s.rest)
	}
	for _, child := range children {
		if err := child.link(all, inside); err != nil {
			return err
		}
	}
	return nil
}

// othersTag is that of the interfaces which others have defined.
const othersTag = "chatbots"

// theDocument is that of the program. A mistake in it is one in the program,
// which every test finds.
var theDocument = sync.OnceValue(func() *document {
	d, err := readDocument(openapiSource)
	if err != nil {
		panic(fmt.Errorf("handlers: openapi.yaml: %w", err))
	}
	return d
})

func readDocument(source []byte) (*document, error) {
	for _, option := range []string{"missing", "weights", "normalisation", "sharpness"} {
		source = bytes.ReplaceAll(
			source,
			[]byte("{methods with "+option+"}"),
			[]byte(strings.Join(search.MethodsWith(option), ", ")),
		)
	}
	var text yaml.Node
	var tree map[string]any
	var table struct {
		Problems []condition `yaml:"x-problems"`
		Paths    yaml.Node
	}
	if err := yaml.Unmarshal(source, &text); err != nil {
		return nil, err
	}
	if err := errors.Join(text.Decode(&tree), text.Decode(&table)); err != nil {
		return nil, err
	}
	d := &document{operations: map[string]*operation{}, schemas: map[string]*schema{}, conditions: map[string]condition{}}
	for _, c := range table.Problems {
		if _, twice := d.conditions[c.Code]; twice {
			return nil, fmt.Errorf("%s is among the problems twice", c.Code)
		}
		d.conditions[c.Code] = c
	}
	complete(tree, table.Problems, table.Paths)
	var pretty bytes.Buffer
	encoder := json.NewEncoder(&pretty)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(tree); err != nil {
		return nil, err
	}
	d.json = pretty.Bytes()
	d.yaml = sync.OnceValues(func() ([]byte, error) { return yaml.Marshal(tree) })
	return d, d.enforce()
}

// member returns an object inside the document, and an empty one where there is none.
func member(of any, path ...string) map[string]any {
	for _, name := range path {
		object, _ := of.(map[string]any)
		of = object[name]
	}
	object, _ := of.(map[string]any)
	return object
}

// complete adds what other parts of the program say, and what the document does not
// repeat.
func complete(tree map[string]any, table []condition, paths yaml.Node) {
	member(tree, "components", "schemas", "Method")["enum"] = search.MethodNames()
	titles, all, responses := map[int][]string{}, map[string]any{}, map[string]any{}
	for _, c := range table {
		titles[c.Status] = append(titles[c.Status], fmt.Sprintf("%s (`%s`)", c.Title, c.Code))
		all[problemName(c.Status)] = map[string]any{
			"description": strings.Join(titles[c.Status], "; ") + ".",
			"headers":     map[string]any{"X-Request-ID": map[string]any{"$ref": "#/components/headers/RequestID"}},
			"content": map[string]any{
				typeProblem: map[string]any{"schema": map[string]any{"$ref": schemaPrefix + "Problem"}},
			},
		}
	}
	member(tree, "components")["responses"] = responses
	order := 0
	for at := 1; at < len(paths.Content); at += 2 { // keys and values by turns
		path, methods := paths.Content[at-1].Value, paths.Content[at].Content
		for at := 0; at < len(methods); at += 2 {
			member(tree, "paths", path, methods[at].Value)["x-order"] = order // JSON objects have none
			order++
		}
	}
	for _, item := range member(tree, "paths") {
		for _, of := range member(item) {
			o := member(of)
			statuses, _ := o["x-problems"].([]any)
			delete(o, "x-problems")
			refusal, _ := o["x-refusal"].(string)
			for _, status := range statuses {
				n, _ := status.(int)
				if refusal != "" {
					member(o, "responses")[strconv.Itoa(n)] = refused(n, refusal)
					continue
				}
				responses[problemName(n)] = all[problemName(n)]
				member(o, "responses")[strconv.Itoa(n)] = map[string]any{"$ref": "#/components/responses/" + problemName(n)}
			}
			parameters, _ := o["parameters"].([]any)
			for _, p := range parameters {
				if p := member(p); p["description"] == nil {
					p["description"] = member(p, "schema")["description"]
				}
			}
		}
	}
	nameCollections(tree, order)
}

// others reports whether a path is of an interface that others have defined.
func others(item any) bool {
	for _, of := range member(item) {
		if tags, _ := member(of)["tags"].([]any); slices.Contains(tags, any(othersTag)) {
			return true
		}
	}
	return false
}

// nameCollections adds each path of a collection with the collection's name in it, behind the others
// in their order.
func nameCollections(tree map[string]any, order int) {
	paths := member(tree, "paths")
	parameter := map[string]any{
		"name": "collection", "in": "path", "required": true, "description": "The collection's name.",
		"schema": map[string]any{"type": "string"},
	}
	for path, item := range maps.Clone(paths) {
		if !isOfCollection(path) && !others(item) || paths["/v1"+path] != nil || strings.Contains(path, "{collection}") {
			continue
		}
		copied := map[string]any{}
		for method, of := range member(item) {
			o := maps.Clone(member(of))
			was, _ := o["x-order"].(int)
			o["x-order"] = order + was
			o["operationId"] = fmt.Sprint(o["operationId"], "Of")
			o["summary"] = fmt.Sprint(o["summary"], ", of a collection by its name")
			o["description"] = fmt.Sprintf("As %s does of the collection of requests that name none.", path)
			parameters, _ := o["parameters"].([]any)
			o["parameters"] = append([]any{parameter}, parameters...)
			// A key may be for other collections than the default one.
			member(o, "responses")["404"] = map[string]any{"$ref": "#/components/responses/" + problemName(http.StatusNotFound)}
			if shape, _ := o["x-refusal"].(string); shape != "" {
				member(o, "responses")["404"] = refused(http.StatusNotFound, shape)
			}
			copied[method] = o
		}
		paths[pathNamed(path)] = copied
	}
}

// refused returns what the document says of a status of an interface with errors of its own shape.
func refused(status int, schema string) map[string]any {
	phrase := cmp.Or(http.StatusText(status), "The caller closed the connection")
	return map[string]any{
		"description": phrase + ", in the shape of this interface.",
		"headers":     map[string]any{"X-Request-ID": map[string]any{"$ref": "#/components/headers/RequestID"}},
		"content": map[string]any{
			typeJSON: map[string]any{"schema": map[string]any{"$ref": schemaPrefix + schema}},
		},
	}
}

func problemName(status int) string { return fmt.Sprintf("Problem%d", status) }

// enforce reads, from the document as it is served, what is enforced.
func (d *document) enforce() error {
	var read struct {
		Paths map[string]map[string]struct {
			OperationID string
			Security    []map[string][]Scope
			Parameters  []struct {
				Name, In string
				Schema   *schema
			}
			RequestBody struct {
				Content map[string]struct {
					Schema *schema
				}
			}
			Responses map[string]struct{ Content map[string]json.RawMessage }
			Tags      []string
			Refusal   string `json:"x-refusal"`
		}
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal(d.json, &read); err != nil {
		return err
	}
	for path, item := range read.Paths {
		if strings.HasPrefix(path, collectionsPath+"{collection}/") {
			continue // as the same without the name
		}
		for method, from := range item {
			o := &operation{
				id: from.OperationID, method: strings.ToUpper(method), path: path, scope: AnyKey,
				parameters: map[string]*schema{}, strict: strings.HasPrefix(path, "/v1/"), refusal: from.Refusal,
			}
			o.ofCollection = isOfCollection(path) || slices.Contains(from.Tags, othersTag)
			if scopes, ok := from.Security[0]["bearer"]; !ok {
				o.scope = public
			} else if len(scopes) > 0 {
				o.scope = scopes[0]
			}
			for _, p := range from.Parameters {
				if p.In == "query" {
					o.parameters[p.Name] = p.Schema
				}
			}
			for contentType, media := range from.RequestBody.Content {
				o.takes = append(o.takes, contentType)
				switch {
				case slices.Contains(from.Tags, othersTag): // whose adapter reads it
				case contentType == typeLines:
					o.body = media.Schema.Content
				case o.body == nil:
					o.body = media.Schema
				}
			}
			for status, response := range from.Responses {
				for contentType := range response.Content {
					if status < "300" {
						o.produces = append(o.produces, contentType)
					}
				}
			}
			if slices.Sort(o.produces); len(o.produces) == 0 {
				o.produces = []string{typeJSON}
			}
			o.produces = slices.Compact(o.produces)
			d.operations[o.id] = o
		}
	}
	for name := range read.Components.Schemas {
		if strings.HasSuffix(name, "Request") || name == "Filter" {
			d.schemas[name] = &schema{Ref: schemaPrefix + name}
		}
	}
	for _, s := range d.schemas {
		if err := s.link(read.Components.Schemas, nil); err != nil {
			return err
		}
	}
	// The reference page shows a list of methods; one alone is more than that: it is
	// answered with results and not with rankings.
	d.operations[simpleSearch].parameters["fusion"] = d.schemas["SearchRequest"].Properties["fusion"]
	for _, o := range d.operations {
		for name, s := range o.parameters {
			if err := s.link(read.Components.Schemas, nil); err != nil {
				return fmt.Errorf("the parameter %s of %s: %w", name, o.id, err)
			}
		}
		if o.body == nil {
			continue
		}
		if err := o.body.link(read.Components.Schemas, nil); err != nil {
			return fmt.Errorf("the body of %s: %w", o.id, err)
		}
	}
	// Each search of a batch is checked by itself, so that a mistake in one leaves the
	// others alone.
	d.operations["searchBatch"].body.Properties["searches"].Items = &schema{}
	return nil
}

// getOpenAPI returns the handler that serves openapi.yaml as JSON or, for typeYAML, as YAML.
func getOpenAPI(contentType string) func(*API, *call) error {
	return func(_ *API, c *call) error {
		text := theDocument().json
		err := c.compute(func() (err error) {
			if contentType == typeYAML {
				text, err = theDocument().yaml()
			}
			if err == nil {
				text, err = describedAt(text, BasePath(c.r.Context()))
			}
			return err
		})
		if err != nil {
			return err
		}
		return c.sendOnce(contentType, text)
	}
}
