package opensearch

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/bm25"
	"example.org/conclave/bm25/forms"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// FuzzAnswers: whatever a cluster, or what stands in its place, answers is read or
// refused. What is read is what was asked for.
func FuzzAnswers(f *testing.F) {
	m := &schema.Manifest{
		Format: schema.Format,
		Words:  schema.Words{K1: 0.9, B: 0.4, Phrases: true, Analyser: store.Analyser(forms.Lucene)},
		Experts: []schema.Expert{
			{Name: "one", Fingerprint: "x", Dimension: 2},
			{Name: "two", Fingerprint: "y", Dimension: 4, Late: true},
		},
	}
	p := corpus.Passage{
		ID:       "a",
		Title:    "The lake",
		Text:     "is deep",
		Tags:     []string{"t"},
		Metadata: map[string]any{"n": json.Number("1.50")},
	}
	document, err := schema.AppendPassage(nil, m, &p, schema.Vectors{
		"one": {Vectors: []float32{1, -0.5, 0, 2}, Windows: []rank.Span{{End: 3}, {Begin: 3, End: 7}}},
		"two": {Vectors: []float32{1, 0, 0, 0}}})
	if err != nil {
		f.Fatal(err)
	}
	whole := `"_shards":{"total":3,"successful":3,"failed":0}`
	f.Add(
		`{"docs":[{"_id":"a","found":true,"_seq_no":3,"_primary_term":1,"_source":` + string(
			document,
		) + `},{"_id":"b","found":false}]}`,
	)
	f.Add(
		`{"took":1,"timed_out":false,` + whole + `,"hits":{"total":{"value":1},"hits":[{"_id":"a","_source":` + string(
			document,
		) + `,"sort":["a"]}]}}`,
	)
	f.Add(
		`{"took":3,"errors":true,"items":[{"index":{"_id":"a","status":201}},{"delete":{"_id":"b","status":409,"error":{"type":"version_conflict_engine_exception","reason":"x"}}}]}`,
	)
	f.Add(`{"error":{"type":"a","reason":"b","caused_by":{"reason":"c"}},"status":400}`)
	f.Add(`{"a":null}`)
	index, err := json.Marshal(
		object{
			"x": object{
				"mappings": schema.Mapping(m, schema.Meta{Manifest: m}),
				"settings": object{
					"index": object{"number_of_shards": "3", "similarity": object{"conclave": object{"k1": "0.9", "b": "0.4"}}},
				},
			},
		},
	)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(index))
	f.Fuzz(func(t *testing.T, answer string) {
		if got, err := parseGot([]byte(answer), []string{"a", "b"}); err == nil {
			for i, s := range got {
				if !s.Found {
					continue
				}
				if p, err := s.Source.Passage([]string{"a", "b"}[i]); err == nil && (p.Version() != s.Version || p.Check() != nil) {
					t.Errorf("%+v was read", p)
				}
				for _, x := range m.Experts {
					if made, err := s.Source.Encoded(x); err == nil {
						v := made.Vectors
						if len(v) == 0 || len(v)%x.Dimension != 0 || slices.ContainsFunc(v,
							func(n float32) bool { return math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) }) {
							t.Errorf("%s: %v was read", x.Name, v)
						}
					}
				}
			}
		}
		if page, err := parsePage([]byte(answer)); err == nil {
			for i := range page.passages {
				if page.passages[i].Check() != nil || i > 0 && page.passages[i-1].ID >= page.passages[i].ID {
					t.Errorf("%+v was read", page.passages)
				}
			}
		}
		if out, err := parseBulk([]byte(answer), []*operation{{verb: replacing, id: "a"},
			{verb: removing, id: "b"}}); err == nil &&
			len(out) != 2 {
			t.Errorf("%+v", out)
		}
		if _, d, about, err := schema.ParseDescription([]byte(answer)); err == nil {
			for _, m := range []*schema.Manifest{about.Manifest, about.Plan} {
				if m != nil && m.Check() == nil {
					_ = d.CheckFits(m)
				}
			}
		}
		_ = cluster.Reason([]byte(answer))
	})
}

// TestAnswersThatSayTooLittle: what HTTP 200 can carry is not taken for an answer.
func TestAnswersThatSayTooLittle(t *testing.T) {
	for _, answer := range []string{
		``, `{}`, `[]`, `{"timed_out":false,"hits":{"hits":[]}}`,
		`{"timed_out":true,"_shards":{"total":3,"successful":3,"failed":0},"hits":{"hits":[]}}`,
		`{"timed_out":false,"_shards":{"total":3,"successful":2,"failed":1},"hits":{"hits":[]}}`,
		`{"timed_out":false,"_shards":{"total":3,"successful":3,"failed":0}}`,
		`{"timed_out":false,"_shards":{"total":3,"successful":2,"failed":0},"hits":{"hits":[]}}`,
	} {
		if page, err := parsePage([]byte(answer)); !errors.Is(err, cluster.ErrAnswer) {
			t.Errorf("%s is %+v, %v", answer, page, err)
		}
	}
	for _, answer := range []string{
		`{"docs":[]}`, `{"docs":[{"_id":"b","found":false}]}`, `{"docs":[{"_id":"a"}]}`,
		`{"docs":[{"_id":"a","error":{"type":"no_shard_available_action_exception"}}]}`,
		`{"docs":[{"_id":"a","found":true,"_source":{"version":"x"}}]}`,
	} {
		if got, err := parseGot([]byte(answer), []string{"a"}); !errors.Is(err, cluster.ErrAnswer) {
			t.Errorf("%s is %+v, %v", answer, got, err)
		}
	}
	for _, answer := range []string{
		`{"items":[]}`, `{"items":[{"index":{"_id":"b","status":201}}]}`, `{"items":[{"create":{"_id":"a","status":201}}]}`,
		`{"items":[{"index":{"_id":"a"}}]}`, `{"items":[{"index":{"_id":"a","status":201,"error":{"type":"x"}}}]}`,
		`{"items":[{"index":{"_id":"a","status":409,"error":{"type":"x","reason":"a conflict"}}}]}`,
	} {
		got, err := parseBulk([]byte(answer), []*operation{{verb: replacing, id: "a"}})
		if !errors.Is(err, cluster.ErrAnswer) {
			t.Errorf("%s is %+v, %v", answer, got, err)
		}
	}
}

// TestIndexedOtherwise: passages are not added by other encoders than those of the index,
// and another passage of the same id is a clash.
func TestIndexedOtherwise(t *testing.T) {
	t.Parallel()
	client := testClient(t)
	index := testIndex(t, client, "write-refused")
	one := hashed{name: "one"}
	options := store.BuildOptions{Words: bm25.Params{K1: 0.9, B: 0.4}, Experts: []store.PassageEncoder{one}}
	if _, err := Build(t.Context(), client, index, schema.Shape{Shards: 1}, &list{passages: passages(1, 3)}, options,
		""); err != nil {
		t.Fatal(err)
	}
	for want, encoders := range map[string][]store.PassageEncoder{
		"is needed":                    {},
		"no vectors of expert \"two\"": {one, hashed{name: "two"}},
		"were made by":                 {hashed{name: "one", owner: "another"}},
	} {
		o := options
		o.Experts = encoders
		if _, err := Build(t.Context(), client, index, schema.Shape{Shards: 1}, &list{passages: passages(1, 3)}, o,
			""); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	var clash *store.ClashError
	changed := passages(1, 3)
	changed[1].Text += " more"
	_, err := Build(t.Context(), client, index, schema.Shape{}, &list{passages: changed}, options, "")
	if !errors.As(err, &clash) ||
		clash.ID != changed[1].ID {
		t.Errorf("another passage of the same id: %v", err)
	}
	options.Replace = true
	report, err := Build(t.Context(), client, index, schema.Shape{}, &list{passages: changed}, options, "")
	if err != nil || report.Replaced != 1 || report.There != 2 {
		t.Errorf("%+v, %v", report, err)
	}
}

// parted is an expert with a vector for each part of a passage.
type parted struct{ hashed }

func (parted) Parts() func(string) []rank.Span { return func(string) []rank.Span { return nil } }

// TestPartsAreRefused before the cluster is asked for anything.
func TestPartsAreRefused(t *testing.T) {
	e := parted{hashed{name: "granular"}}
	_, err := Build(
		t.Context(),
		nil,
		"x",
		schema.Shape{Shards: 1},
		&list{},
		store.BuildOptions{Experts: []store.PassageEncoder{e}},
		"",
	)
	_, again := AddExpert(t.Context(), nil, "x", e, store.BuildOptions{})
	for _, err := range []error{err, again} {
		if err == nil || !strings.Contains(err.Error(), `expert "granular" has a vector for each of several parts`) {
			t.Error(err)
		}
	}
}

// weighing is an encoder that weighs word pieces.
type weighing struct{ hashed }

func (weighing) Sparse() bool { return true }

// TestSparseExpertsAreRefused before anything is read or sent.
func TestSparseExpertsAreRefused(t *testing.T) {
	e := weighing{hashed{name: "splade"}}
	_, err := Build(t.Context(), nil, "x", schema.Shape{Shards: 1}, &list{},
		store.BuildOptions{Experts: []store.PassageEncoder{e}}, "")
	_, again := AddExpert(t.Context(), nil, "x", e, store.BuildOptions{})
	for _, err := range []error{err, again} {
		if err == nil || !strings.Contains(err.Error(), `expert "splade" weighs word pieces`) {
			t.Error(err)
		}
	}
}
