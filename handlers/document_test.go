package handlers

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/collections"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/internal/judgments"
	"example.org/conclave/internal/keeping"
	"example.org/conclave/search"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/lookup"
	"example.org/conclave/search/reply"
	"example.org/conclave/search/storage"
)

// typesOfDocument returns the Go types that the document describes, by its names.
func typesOfDocument() map[string]reflect.Type {
	return map[string]reflect.Type{
		"SearchRequest": reflect.TypeFor[search.Request](), "EmbedRequest": reflect.TypeFor[lookup.EmbedRequest](),
		"PassageRequest": reflect.TypeFor[corpus.Passage](), "SnapshotRequest": reflect.TypeFor[snapshotBody](),
		"SiteRequest": reflect.TypeFor[siteBody](), "SiteJob": reflect.TypeFor[jobs.SiteRequest](), "LeftOut": reflect.TypeFor[jobs.LeftOut](), "ExpertRequest": reflect.TypeFor[expertBody](),
		"DocumentReference": reflect.TypeFor[reply.DocumentReference](),
		"Group":             reflect.TypeFor[reply.Group](),
		"Filter":            reflect.TypeFor[storage.Filter](),
		"FacetRequest":      reflect.TypeFor[ask.FacetRequest](),
		"Facet":             reflect.TypeFor[storage.Facet](),
		"FacetValue":        reflect.TypeFor[storage.FacetValue](),
		"Condition":         reflect.TypeFor[conditions.Condition](),
		"DryRun":            reflect.TypeFor[DryRun](),
		"Misfits":           reflect.TypeFor[lookup.Misfits](),
		"ServedSettings":    reflect.TypeFor[ServedSettings](),
		"SettingsAnswer":    reflect.TypeFor[SettingsAnswer](),
		"FuseRequest":       reflect.TypeFor[search.FuseRequest](), "Highlight": reflect.TypeFor[reply.Highlight](), "Candidate": reflect.TypeFor[search.Candidate](), "CandidateScore": reflect.TypeFor[search.SourceScore](), "FuseResponse": reflect.TypeFor[search.FuseResponse](),
		"SearchResponse": reflect.TypeFor[reply.Response](), "Ranking": reflect.TypeFor[reply.Ranking](),
		"Thresholds":   reflect.TypeFor[reply.Thresholds](),
		"Result":       reflect.TypeFor[reply.Result](),
		"Contribution": reflect.TypeFor[reply.Contribution](), "TermScore": reflect.TypeFor[storage.TermScore](),
		"Source":          reflect.TypeFor[reply.Source](),
		"Answer":          reflect.TypeFor[reply.Extract](),
		"TableRow":        reflect.TypeFor[reply.TableRow](),
		"Generated":       reflect.TypeFor[reply.Generated](),
		"Support":         reflect.TypeFor[reply.Support](),
		"WrittenSentence": reflect.TypeFor[reply.WrittenSentence](), "Citation": reflect.TypeFor[reply.Citation](),
		"Reader": reflect.TypeFor[learned.ReaderInfo](), "Reranker": reflect.TypeFor[learned.RerankerInfo](), "Took": reflect.TypeFor[reply.Took](), "Degradation": reflect.TypeFor[reply.Missing](), "EmbedResponse": reflect.TypeFor[lookup.EmbedResponse](),
		"Passage": reflect.TypeFor[PlacedPassage](), "PassageList": reflect.TypeFor[PassageList](),
		"ExpertList": reflect.TypeFor[ExpertList](),
		"Expert":     reflect.TypeFor[learned.ExpertInfo](), "Calibration": reflect.TypeFor[learned.CalibrationInfo](), "ReliabilityBin": reflect.TypeFor[learned.ReliabilityBin](), "Limits": reflect.TypeFor[Limits](),
		"LimitDefaults": reflect.TypeFor[LimitDefaults](), "Health": reflect.TypeFor[Health](), "Component": reflect.TypeFor[schema.Component](), "Backlog": reflect.TypeFor[Backlog](),
		"Problem": reflect.TypeFor[schema.Problem](), "ProblemField": reflect.TypeFor[schema.ProblemField](),
		"WriteResult":     reflect.TypeFor[WriteResult](),
		"DocumentsResult": reflect.TypeFor[jobs.DocumentsResult](),
		"FusionMethod":    reflect.TypeFor[search.MethodInfo](),
		"MeasuredResult":  reflect.TypeFor[jobs.MeasuredResult](), "Share": reflect.TypeFor[jobs.Share](),
		"JudgmentRequest": reflect.TypeFor[judgmentBody](), "JudgmentCounts": reflect.TypeFor[JudgmentCounts](),
		"UnansweredList": reflect.TypeFor[UnansweredList](), "UnansweredQuestion": reflect.TypeFor[UnansweredQuestion](),
		"AnsweredList": reflect.TypeFor[AnsweredList](), "AnsweredQuestion": reflect.TypeFor[AnsweredQuestion](),
		"RemovedQuestions": reflect.TypeFor[RemovedQuestions](),
		"JudgmentList":     reflect.TypeFor[JudgmentList](), "Judgment": reflect.TypeFor[judgments.Judgment](),
		"JudgedQuestion":     reflect.TypeFor[judgments.Question](),
		"CalibrationRequest": reflect.TypeFor[calibrationBody](), "EvaluationRequest": reflect.TypeFor[evaluationBody](),
		"DocumentFailure": reflect.TypeFor[jobs.DocumentFailure](),
		"Document":        reflect.TypeFor[corpus.Document](), "DocumentAnswer": reflect.TypeFor[DocumentAnswer](),
		"SuggestionList": reflect.TypeFor[SuggestionList](), "Suggestion": reflect.TypeFor[lookup.Suggestion](),
		"DocumentList": reflect.TypeFor[DocumentList](), "DocumentResult": reflect.TypeFor[keeping.ChangeResult](),
		"Message": reflect.TypeFor[search.Message](), "UploadLine": reflect.TypeFor[UploadLine](), "UploadProblem": reflect.TypeFor[uploadProblem](), "Job": reflect.TypeFor[jobs.Job](),
		"JobProgress": reflect.TypeFor[jobs.Progress](), "JobResult": reflect.TypeFor[jobs.Result](),
		"JobList":            reflect.TypeFor[JobList](),
		"CollectionRequest":  reflect.TypeFor[CollectionRequest](),
		"CollectionSettings": reflect.TypeFor[collections.Settings](),
		"CollectionDefaults": reflect.TypeFor[collections.Defaults](),
		"CollectionQuotas":   reflect.TypeFor[collections.Quotas](),
		"CollectionInfo":     reflect.TypeFor[CollectionInfo](), "CollectionField": reflect.TypeFor[FieldInfo](), "CollectionList": reflect.TypeFor[CollectionList](),
		"SnapshotList": reflect.TypeFor[SnapshotList](), "SnapshotInfo": reflect.TypeFor[SnapshotInfo](),
	}
}

// fieldsOf returns the fields of a type as JSON has them, and whether each may be absent.
func fieldsOf(of reflect.Type) map[string]reflect.StructField {
	out := map[string]reflect.StructField{}
	for _, field := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			out[name] = field
		}
	}
	return out
}

// typesOf returns the JSON types of a Go type.
func typesOf(of reflect.Type) []string {
	switch of.Kind() {
	case reflect.Pointer:
		return append(typesOf(of.Elem()), "null")
	case reflect.Bool:
		return []string{"boolean"}
	case reflect.String:
		return []string{"string"}
	case reflect.Float32, reflect.Float64:
		return []string{"number"}
	case reflect.Slice, reflect.Array:
		return []string{"array"}
	case reflect.Map:
		return []string{"object"}
	case reflect.Struct:
		if of == reflect.TypeFor[time.Time]() {
			return []string{"string"}
		}
		return []string{"object"}
	}
	return []string{"integer"}
}

// ofAdapters reports whether a schema is of an interface that others have defined: package adapters
// compares it with its types.
func ofAdapters(name string) bool {
	return slices.ContainsFunc([]string{"MCP", "OpenAI", "Inference", "Cohere", "Dify"},
		func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// TestSchemasAreTheTypes: each schema of the document has the fields of its Go type,
// with their types, and answers without exception those that are never left out; all
// is said in words.
func TestSchemasAreTheTypes(t *testing.T) {
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	schemas := at(c.document, "components", "schemas").(map[string]any)
	types := typesOfDocument()
	named := map[string]bool{}
	for name := range types {
		named[name] = true
	}
	for name, s := range schemas {
		properties, _ := at(s, "properties").(map[string]any)
		of, ok := types[name]
		if !ok && !slices.Contains([]string{"Method", "BatchRequest", "BatchResponse"}, name) && !ofAdapters(name) {
			t.Errorf("%s is of no type", name)
		}
		for field, property := range properties {
			if text, _ := at(property, "description").(string); text == "" {
				t.Errorf("nothing is said of %s.%s", name, field)
			}
		}
		if !ok {
			continue
		}
		fields := fieldsOf(of)
		if !slices.Equal(slices.Sorted(maps.Keys(fields)), slices.Sorted(maps.Keys(properties))) {
			t.Errorf(
				"%s has the fields %v, its type %v",
				name,
				slices.Sorted(maps.Keys(properties)),
				slices.Sorted(maps.Keys(fields)),
			)
			continue
		}
		required := fmt.Sprint(at(s, "required"))
		for field, of := range fields {
			property := properties[field]
			if ref, ok := at(property, "$ref").(string); ok {
				property = schemas[strings.TrimPrefix(ref, schema.SchemaPrefix)]
			}
			optional := strings.Contains(of.Tag.Get("json"), ",omit")
			if must := slices.Contains(strings.Fields(strings.Trim(required, "[]")), field); must == optional &&
				!strings.HasSuffix(name, "Request") {
				t.Errorf("%s.%s: required %v, and omitted when empty %v", name, field, must, optional)
			}
			var given []string
			switch types := at(property, "type").(type) {
			case string:
				given = []string{types}
			case []any:
				for _, one := range types {
					given = append(given, one.(string))
				}
			default:
				continue // one of several
			}
			want := typesOf(of.Type)
			if optional { // it is left out instead
				want = slices.DeleteFunc(want, func(s string) bool { return s == "null" })
			}
			if !slices.Equal(given, want) {
				t.Errorf("%s.%s is %v, its type %v", name, field, given, want)
			}
		}
		delete(named, name)
	}
	if len(named) > 0 {
		t.Errorf("the document has no %v", named)
	}
}

// TestSchemasAreEnforced: what is enforced is what a validator that is not ours makes
// of the document as it is served.
func TestSchemasAreEnforced(t *testing.T) {
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, 0))
	good := map[string]string{
		"SearchRequest":   `{"question":"x","k":3,"offset":0,"fusion":["rrf","sum"],"experts":["a"],"bm25":true,"late":false,"specialists":2,"candidates":5,"exact":false,"missing":"min","weights":{"bm25":0.5},"timeout_ms":100,"explain":true,"fields":["title"],"normalisation":"raw","filter":{"tags_any":["a"],"tags_all":[],"and":[{"field":"f","gte":1,"lt":2.5},{"not":{"field":"g","in":["x",true]}}]},"min_confidence":0.5}`,
		"EmbedRequest":    `{"expert":"a","input":["x"],"kind":"passage"}`,
		"PassageRequest":  `{"id":"a","title":"b","text":"c","tags":["d"],"metadata":{"e":1,"f":"g"}}`,
		"ExpertRequest":   `{"name":"a","index":"flat"}`,
		"SnapshotRequest": `{"name":"a"}`,
		"SiteRequest":     `{"url":"https://docs.example.org/"}`,
		"FuseRequest":     `{"fusion":"rrf","candidates":[{"id":"a","contributions":[{"source":"b","score":0.5,"rank":null}],"rank":1,"score":2}],"k":1,"weights":{"b":2},"confidences":{"b":1},"missing":"min","normalisation":"raw"}`,
	}
	others := []any{
		nil,
		true,
		"x",
		"rrf",
		json.Number("1"),
		json.Number("0"),
		json.Number("-1"),
		json.Number("1.5"),
		json.Number("1e3"),
		json.Number("300"),
		[]any{},
		[]any{"title"},
		[]any{json.Number("7")},
		map[string]any{},
		map[string]any{"tags_any": "x"},
	}
	taken, refused := 0, 0
	for _, name := range slices.Sorted(maps.Keys(good)) {
		library, err := c.schemaAt("/components/schemas/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for range 2000 {
			body, _ := schema.ParseJSON([]byte(good[name]))
			object := body.(map[string]any)
			for range rng.IntN(3) {
				keys := append(slices.Sorted(maps.Keys(object)), "unknown")
				key := keys[rng.IntN(len(keys))]
				if rng.IntN(4) == 0 {
					delete(object, key)
					continue
				}
				object[key] = others[rng.IntN(len(others))]
			}
			text, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			want := library.Validate(object)
			found := schema.Checker{Most: schema.MaxViolations}
			found.Check(schema.APIDocument().Schemas[name], body, "")
			if (want == nil) != (found.Problem() == nil) {
				t.Errorf("seed %d: %s: %s: %v, and the library: %v", seed, name, text, found.Problem(), want)
			}
			if want == nil {
				taken++
			} else {
				refused++
			}
		}
	}
	if taken < 1000 || refused < 1000 {
		t.Errorf("%d were taken, %d refused", taken, refused)
	}
}
