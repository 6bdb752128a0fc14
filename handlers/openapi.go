package handlers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"conclave/corpus"
	"conclave/jobs"
	"conclave/search"
)

// APIVersion is the version of the interface, not of the program.
const APIVersion = "0.1.0"

// described is what the document says of an operation, beside what follows
// from the operation itself.
type described struct {
	tag, summary, description string
	parameters                []*huma.Param
	request                   *huma.MediaType
	content                   map[string]*huma.MediaType // of 200
	headers                   map[string]*huma.Param     // of 200
	notModified               bool
	created                   bool  // 201 too, with the same content
	accepted                  bool  // 202 instead of 200
	removed                   bool  // 204 instead of 200
	errors                    []int // beside those that follow from the operation
}

// rendered is the document as it is served.
type rendered struct{ json, yaml []byte }

// Document is the OpenAPI document, in JSON and in YAML. It depends on the Go
// types alone and not on any configuration; docs/api holds a copy.
func Document() (inJSON, inYAML []byte, err error) {
	document, err := newDocument((&API{}).operations())
	if err != nil {
		return nil, nil, err
	}
	r, err := render(document)
	return r.json, r.yaml, err
}

func render(document *huma.OpenAPI) (rendered, error) {
	plain, err := json.Marshal(document)
	if err != nil {
		return rendered{}, fmt.Errorf("rendering the OpenAPI document: %w", err)
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, plain, "", "  "); err != nil {
		return rendered{}, fmt.Errorf("rendering the OpenAPI document: %w", err)
	}
	pretty.WriteByte('\n')
	inYAML, err := document.YAML()
	if err != nil {
		return rendered{}, fmt.Errorf("rendering the OpenAPI document: %w", err)
	}
	return rendered{json: pretty.Bytes(), yaml: inYAML}, nil
}

// schemaPrefix begins every reference to a schema.
const schemaPrefix = "#/components/schemas/"

func schemaRef(name string) string { return schemaPrefix + name }

// schemaName is what the document calls a Go type.
func schemaName(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[searchBody]():
		return "SearchRequest"
	case reflect.TypeFor[batchBody]():
		return "BatchRequest"
	case reflect.TypeFor[embedBody]():
		return "EmbedRequest"
	case reflect.TypeFor[passageBody]():
		return "PassageRequest"
	case reflect.TypeFor[snapshotBody]():
		return "SnapshotRequest"
	case reflect.TypeFor[expertBody]():
		return "ExpertRequest"
	case reflect.TypeFor[jobs.Progress]():
		return "JobProgress"
	case reflect.TypeFor[jobs.Result]():
		return "JobResult"
	case reflect.TypeFor[uploadProblem]():
		return "UploadProblem"
	case reflect.TypeFor[search.Response]():
		return "SearchResponse"
	case reflect.TypeFor[search.Missing]():
		return "Degradation"
	case reflect.TypeFor[search.ExpertInfo]():
		return "Expert"
	case reflect.TypeFor[search.CalibrationInfo]():
		return "Calibration"
	}
	return huma.DefaultSchemaNamer(t, hint)
}

// newDocument makes the OpenAPI document of the operations.
func newDocument(operations []operation) (*huma.OpenAPI, error) {
	registry := huma.NewMapRegistry(schemaPrefix, schemaName)
	registry.RegisterTypeAlias(reflect.TypeFor[search.Methods](), reflect.TypeFor[methodsSchema]())
	requests := []reflect.Type{
		reflect.TypeFor[searchBody](), reflect.TypeFor[search.Filter](), reflect.TypeFor[batchBody](), reflect.TypeFor[embedBody](),
		reflect.TypeFor[passageBody](), reflect.TypeFor[snapshotBody](), reflect.TypeFor[expertBody](),
	}
	answers := []reflect.Type{
		reflect.TypeFor[search.Response](), reflect.TypeFor[search.EmbedResponse](), reflect.TypeFor[corpus.Passage](),
		reflect.TypeFor[ExpertList](), reflect.TypeFor[Limits](), reflect.TypeFor[Health](), reflect.TypeFor[Problem](),
		reflect.TypeFor[WriteResult](), reflect.TypeFor[UploadLine](), reflect.TypeFor[uploadProblem](), reflect.TypeFor[jobs.Job](), reflect.TypeFor[JobList](),
		reflect.TypeFor[PassageList](), reflect.TypeFor[SnapshotList](),
	}
	for _, t := range slices.Concat(requests, answers) {
		registry.Schema(t, true, "")
	}
	registry.Map()["BatchResponse"] = batchResponseSchema()
	strict := map[string]bool{}
	for _, t := range requests {
		strict[schemaName(t, "")] = true
	}
	for name, s := range registry.Map() {
		settle(registry, s, strict[name])
	}
	if err := describeFields(registry.Map()); err != nil {
		return nil, err
	}

	document := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "conclave", Version: APIVersion, Description: documentText,
			License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
		},
		Servers: []*huma.Server{{URL: "/", Description: "this server"}},
		Components: &huma.Components{
			Schemas: registry, Responses: problemResponses(),
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"bearer": {Type: "http", Scheme: "bearer", Description: "A key, as \"Authorization: Bearer KEY\"."},
				"apiKey": {Type: "apiKey", In: "header", Name: "X-API-Key", Description: "A key, as \"X-API-Key: KEY\"."},
			},
		},
		Tags: []*huma.Tag{
			{Name: "search", Description: "Passages that answer a question."},
			{Name: "write", Description: "Passages that come and go while the collection is served."},
			{Name: "look up", Description: "What is stored and loaded, and what is allowed."},
			{Name: "administer", Description: "Snapshots, experts that come and go, and the jobs that this takes."},
			{Name: "health", Description: "For balancers, containers and monitoring. Health checks need no key."},
			{Name: "contract", Description: "This document."},
		},
		Extensions: map[string]any{"x-problems": problemTable()},
	}
	for place, o := range operations {
		if o.describe == nil {
			continue // a page, for people
		}
		op := describeOperation(o, o.describe(registry))
		op.Extensions = map[string]any{"x-order": place} // JSON objects have none
		document.AddOperation(op)
	}
	return document, nil
}

// settle turns huma's way of writing schemas into ours. Lists are never null;
// a field is null only where it is always there; a pointer to an object is
// null or the object; requests take known fields alone, while answers may get
// new ones.
func settle(registry huma.Registry, s *schema, strict bool) {
	if s.Type == huma.TypeObject && len(s.Properties) > 0 {
		s.AdditionalProperties = nil
		if strict {
			s.AdditionalProperties = false
		}
	}
	for name, p := range s.Properties {
		required := slices.Contains(s.Required, name)
		if p.Type == huma.TypeArray || !required || strict {
			p.Nullable = false
		}
		if p.Ref == schemaRef("Calibration") {
			s.Properties[name] = &schema{AnyOf: []*schema{{Ref: p.Ref}, {Type: "null"}}}
		}
		for items := p.Items; items != nil; items = items.Items {
			if items.Type == huma.TypeArray {
				items.Nullable = false
			}
		}
	}
	if len(s.Required) > 0 {
		slices.Sort(s.Required)
	}
}

func batchResponseSchema() *schema {
	return &schema{
		Type: huma.TypeObject, Required: []string{"answers"},
		Properties: map[string]*schema{
			"answers": {Type: huma.TypeArray, Items: &schema{OneOf: []*schema{{Ref: schemaRef("SearchResponse")}, {Ref: schemaRef("Problem")}}}},
		},
	}
}

func searchSchema(registry huma.Registry) *schema {
	return registry.SchemaFromRef(schemaRef("SearchRequest"))
}

func describeOperation(o operation, d described) *huma.Operation {
	op := &huma.Operation{
		OperationID: o.id, Method: o.method, Path: o.path,
		Tags: []string{d.tag}, Summary: d.summary, Description: d.description, Parameters: d.parameters,
		Responses: map[string]*huma.Response{
			"200": {Description: "The answer.", Content: d.content, Headers: headers(d.headers)},
		},
		Security: security(o.scope),
	}
	if d.request != nil {
		op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{}}
		for _, t := range o.takes() {
			op.RequestBody.Content[t] = d.request
			if o.takesLines && t == typeJSON {
				op.RequestBody.Content[t] = &huma.MediaType{Schema: &schema{Type: huma.TypeArray, Items: d.request.Schema}}
			}
		}
	}
	if d.created {
		created := headers(d.headers)
		created["Location"] = &huma.Param{Description: "Where it is.", Schema: &schema{Type: huma.TypeString}}
		op.Responses["201"] = &huma.Response{Description: "It was not there, and is now.", Content: d.content, Headers: created}
	}
	if d.accepted {
		op.Responses["202"] = op.Responses["200"]
		op.Responses["202"].Description = "The job was accepted, and survives a restart from now on."
		delete(op.Responses, "200")
	}
	if d.removed {
		op.Responses["204"] = &huma.Response{Description: "It is gone.", Headers: headers(nil)}
		delete(op.Responses, "200")
	}
	if d.notModified {
		op.Responses["304"] = &huma.Response{Description: "The version that If-None-Match names is the stored one.", Headers: headers(d.headers)}
	}
	for _, status := range statusesOf(o, d) {
		op.Responses[strconv.Itoa(status)] = &huma.Response{Ref: "#/components/responses/" + problemName(status)}
	}
	if o.takesLines {
		refused := *problemResponses()["Problem422"]
		refused.Description = "Every line was rejected: the same lines as with 200. " + refused.Description
		refused.Content = maps.Clone(refused.Content)
		refused.Content[typeLines] = d.content[typeLines]
		op.Responses["422"] = &refused
	}
	return op
}

func problemName(status int) string { return fmt.Sprintf("Problem%d", status) }

// problemResponses are the error answers by status, for operations to refer
// to.
func problemResponses() map[string]*huma.Response {
	out := map[string]*huma.Response{}
	for _, c := range everyCondition() {
		out[problemName(c.status)] = &huma.Response{
			Description: statusText(c.status),
			Headers:     headers(nil),
			Content:     map[string]*huma.MediaType{typeProblem: {Schema: &schema{Ref: schemaRef("Problem")}}},
		}
	}
	return out
}

// statusesOf are the errors that an operation may answer with.
func statusesOf(o operation, d described) []int {
	statuses := []int{400, 403, 406, 500}
	if o.scope != public {
		statuses = append(statuses, 401)
	}
	if !quiet(o.path) {
		statuses = append(statuses, 429)
	}
	if o.takes() != nil {
		statuses = append(statuses, 408, 413, 415, 422)
	}
	if o.works {
		statuses = append(statuses, 413, 422, statusClientGone, 503, 504)
	}
	if o.writes {
		statuses = append(statuses, 422, statusClientGone, 503, 504, 507)
	}
	statuses = append(statuses, d.errors...)
	slices.Sort(statuses)
	return slices.Compact(statuses)
}

func security(scope Scope) []map[string][]string {
	switch scope {
	case public:
		return []map[string][]string{{}}
	case anyKey:
		return []map[string][]string{{"bearer": {}}, {"apiKey": {}}, {}}
	}
	roles := []string{string(scope)}
	return []map[string][]string{{"bearer": roles}, {"apiKey": roles}, {}}
}

// headers are those of every answer, and more.
func headers(more map[string]*huma.Param) map[string]*huma.Param {
	out := map[string]*huma.Param{
		"X-Request-ID": {Description: "The request's id in the log: the caller's, where it is at most 64 of A-Z a-z 0-9 - _, or one made here.", Schema: &schema{Type: huma.TypeString}},
	}
	maps.Copy(out, more)
	return out
}

// problemTable is the table of conditions, for the reference page.
func problemTable() []map[string]any {
	var out []map[string]any
	for _, c := range everyCondition() {
		out = append(out, map[string]any{"code": c.code, "status": c.status, "title": c.title})
	}
	return out
}

// everyCondition is the table of conditions by their statuses.
func everyCondition() []condition {
	all := conditions()
	slices.SortStableFunc(all, func(a, b condition) int { return a.status - b.status })
	return all
}

func statusText(status int) string {
	var titles []string
	for _, c := range everyCondition() {
		if c.status == status {
			titles = append(titles, fmt.Sprintf("%s (`%s`)", c.title, c.code))
		}
	}
	if len(titles) == 0 {
		return http.StatusText(status)
	}
	return strings.Join(titles, "; ") + "."
}
