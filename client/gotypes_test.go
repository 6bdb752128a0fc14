package client_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	client "example.org/conclave/client/go"
	"example.org/conclave/handlers"
	"example.org/conclave/search"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/lookup"
	"example.org/conclave/search/reply"
)

// TestTypes: what the Go client sends and reads is what the server reads and sends. Each
// pair of types has the same JSON when it is empty and when every field is filled, and
// neither has a field that the other does not know.
func TestTypes(t *testing.T) {
	for _, pair := range [][2]any{
		{client.SearchRequest{}, search.Request{}},
		{client.SearchResponse{}, reply.Response{}},
		{client.Expert{}, learned.ExpertInfo{}},
		{client.Passage{}, handlers.PlacedPassage{}},
		{client.Suggestion{}, lookup.Suggestion{}},
		{client.Settings{}, handlers.SettingsAnswer{}},
		{client.UnansweredList{}, handlers.UnansweredList{}},
		{client.AnsweredList{}, handlers.AnsweredList{}},
		{client.SnapshotInfo{}, handlers.SnapshotInfo{}},
	} {
		ours, theirs := reflect.TypeOf(pair[0]), reflect.TypeOf(pair[1])
		for _, fill := range []bool{false, true} {
			for _, way := range [][2]reflect.Type{{ours, theirs}, {theirs, ours}} {
				from := reflect.New(way[0])
				if fill {
					filled(t, from.Elem(), 1, nil)
				}
				text, err := json.Marshal(from.Interface())
				if err != nil {
					t.Fatal(err)
				}
				to := reflect.New(way[1])
				d := json.NewDecoder(bytes.NewReader(text))
				d.DisallowUnknownFields()
				if err := d.Decode(to.Interface()); err != nil {
					t.Errorf("a %v is no %v: %v\n%s", way[0], way[1], err, text)
					continue
				}
				if again, err := json.Marshal(to.Interface()); err != nil || !bytes.Equal(again, text) {
					t.Errorf("a %v is\n%s\nand as a %v\n%s, %v", way[0], text, way[1], again, err)
				}
			}
		}
	}
}

// filled sets every field of v, each to a value of its own; of a type inside itself nothing.
func filled(t *testing.T, v reflect.Value, n int, within []reflect.Type) int {
	t.Helper()
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Unix(int64(n), 0).UTC()))
		return n + 1
	}
	switch v.Kind() {
	case reflect.Struct:
		within = append(slices.Clone(within), v.Type())
		for i := range v.NumField() {
			switch of := v.Type().Field(i); {
			case of.Tag.Get("json") == "-", slices.ContainsFunc(within, func(outer reflect.Type) bool {
				kind := of.Type.Kind()
				return (kind == reflect.Pointer || kind == reflect.Slice) && of.Type.Elem() == outer
			}):
			case !of.IsExported():
				if err := json.Unmarshal(fmt.Appendf(nil, "\"value %d\"", n), v.Addr().Interface()); err != nil {
					t.Fatal(err)
				}
			default:
				n = filled(t, v.Field(i), n, within)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		n = filled(t, v.Elem(), n, within)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			n = filled(t, v.Index(i), n, within)
		}
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		n = filled(t, value, n, within)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf(fmt.Sprint("key ", n)), value)
	case reflect.Interface:
		v.Set(reflect.ValueOf(fmt.Sprint("value ", n)))
	case reflect.String:
		v.SetString(fmt.Sprint("text ", n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(n))
	case reflect.Uint64:
		v.SetUint(uint64(n))
	case reflect.Float64:
		v.SetFloat(float64(n) + .5)
	default:
		t.Fatalf("%v is of a kind that this test does not fill", v.Type())
	}
	return n + 1
}

// TestShortForms: a method and an answer that choose nothing are written as a string and
// as true, and every form that the server takes is read.
func TestShortForms(t *testing.T) {
	for text, want := range map[string]client.SearchRequest{
		`{"question":"q","fusion":"rrf","answer":true}`: {
			Question: "q", Fusion: client.Fusion("rrf"), Answer: client.AnswerOptions{Wanted: true},
		},
		`{"question":"q","rerank":{"model":"m","passages":7}}`: {
			Question: "q", Rerank: client.RerankOptions{Asked: true, Wanted: true, Model: "m", Passages: 7},
		},
		`{"question":"q","rerank":false}`:         {Question: "q", Rerank: client.RerankOptions{Asked: true}},
		`{"question":"q","fusion":["rrf","sum"]}`: {Question: "q", Fusion: client.Fusion("rrf", "sum")},
		`{"question":"q","answer":{"reader":"r","min_chance":0.5}}`: {
			Question: "q", Answer: client.AnswerOptions{Wanted: true, Reader: "r", MinChance: new(.5)},
		},
		`{"question":"q","experts":[],"bm25":false,"filter":{"tags_any":["a"]}}`: {
			Question: "q", Experts: &[]string{}, BM25: new(false), Filter: client.Filter{TagsAny: []string{"a"}},
		},
	} {
		written, err := json.Marshal(want)
		if err != nil || string(written) != text {
			t.Errorf("%s, %v; want %s", written, err, text)
		}
		var read client.SearchRequest
		if err := json.Unmarshal([]byte(text), &read); err != nil || !reflect.DeepEqual(read, want) {
			t.Errorf("%s: %+v, %v", text, read, err)
		}
	}
}
