package opensearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"example.org/conclave/bm25/forms"
)

// The fields of a passage, beside one for the vectors of each expert (Expert.field).
const (
	fieldID       = "id"
	fieldTitle    = "title"
	fieldText     = "text"
	fieldTags     = "tags"
	fieldMetadata = "metadata" // JSON in a string, so that no number loses a digit
	fieldVersion  = "version"  // corpus.Passage.Version
	fieldBytes    = "bytes"    // of the passage as corpus.Passage.AppendBinary has it
	fieldExperts  = "experts"  // Expert.mark of each expert whose vectors are there, and readMarks
	fieldWords    = "words"    // forms.Analysis.Words
	fieldForms    = "forms"    // forms.Analysis.FormsLike
	fieldPairs    = "pairs"    // forms.Analysis.Pairs
	fieldPrint    = "print"    // corpus.Passage.Fingerprint, as a signed number
	fieldSpelled  = "spelled"  // spelledWords
	fieldKey      = "key"      // corpus.SampleKey
	fieldValues   = "values"   // valuesOf
)

// similarity is the name of BM25 with our constants.
const similarity = "conclave"

// Shape is how an index is laid out over a cluster.
type Shape struct {
	Shards   int // 1 to 1024; it cannot be changed later
	Replicas int // further copies of each shard

	filling bool // several processes fill it: copies and refreshes come afterwards
}

type object = map[string]any

// settings returns those of a new index.
func settings(w Words, s Shape) object {
	index := object{
		"number_of_shards": s.Shards, "number_of_replicas": s.Replicas,
		"knn": true, "gc_deletes": keepDeleted,
		// Codes of late interaction are base64 in the stored documents, which a code of Huffman takes a quarter off.
		"codec": "best_compression",
		// Settle merges away what is deleted, also where it is little.
		"merge":      object{"policy": object{"expunge_deletes_allowed": 0}},
		"similarity": object{similarity: object{"type": "BM25", "k1": w.K1, "b": w.B}},
		"analysis": object{
			"tokenizer": object{"terms": object{"type": "whitespace", "max_token_length": 1024}},
			"analyzer":  object{"terms": object{"type": "custom", "tokenizer": "terms"}},
		},
	}
	if s.filling {
		index["number_of_replicas"] = 0
		index["refresh_interval"] = "-1"
	}
	return object{"index": index}
}

// properties returns the fields of the passages of an index. Words are analysed here and not
// in the cluster: terms come as they are, with white space between them.
func properties(m *Manifest) object {
	terms := object{"type": "text", "analyzer": "terms", "similarity": similarity, "index_options": "freqs"}
	kept := object{"type": "text", "index": false}
	out := object{
		fieldID: object{"type": "keyword"}, fieldTitle: kept, fieldText: kept, fieldTags: object{"type": "keyword"},
		fieldMetadata: object{"type": "object", "enabled": false}, fieldVersion: object{"type": "keyword", "index": false},
		fieldBytes: object{"type": "integer", "index": false}, fieldExperts: object{"type": "keyword"}, fieldWords: terms,
	}
	if m.Words.Phrases {
		out[fieldPairs] = terms
	}
	if m.Words.Params().Analysis != forms.Lucene {
		out[fieldForms] = terms
	}
	for _, x := range m.keepers() {
		if x.Late {
			out[x.field()] = object{"type": "binary"}
			continue
		}
		vectors := func() object {
			return object{"type": "knn_vector", "dimension": x.Dimension, "method": object{
				"name": "hnsw", "engine": "lucene", "space_type": "innerproduct",
				"parameters": object{"m": 16, "ef_construction": 200},
			}}
		}
		out[x.field()] = vectors()
		if m.HasWindows() {
			place := object{"type": "integer", "index": false, "doc_values": false}
			out[x.windowsField()] = object{"type": "nested", "dynamic": "strict",
				"properties": object{fieldBegin: place, fieldEnd: place, fieldVector: vectors()}}
		}
	}
	return out
}

// HasWindows reports whether long passages have vectors of their windows (store.WindowReader), beside that of the
// first one, in nested documents.
func (m *Manifest) HasWindows() bool { return m.Format >= 2 }

// The fields of a window: the bytes of the text where it begins and ends, and its vector.
const (
	fieldBegin  = "begin"
	fieldEnd    = "end"
	fieldVector = "vector"
)

// writtenFields returns the fields that tell how passages are written: which are copies, and by which
// letters. An index that an older program made has none until Store.complete gives it some,
// and programs that do not know them can search and write such an index.
func writtenFields() object {
	return object{
		fieldPrint:   object{"type": "long", "index": false},
		fieldSpelled: object{"type": "keyword", "index": false},
	}
}

// keyField returns the field by which a sample is drawn, which indexes may lack as they may
// lack writtenFields.
func keyField() object { return object{fieldKey: object{"type": "long"}} }

// readable returns properties with those of new indexes: the codes of late interaction are doc values beside
// the document, so that a script scores them (lateScript) and a question need not fetch them. Indexes may lack them.
func readable(m *Manifest) object {
	out := properties(m)
	for _, x := range m.keepers() {
		if x.Late {
			out[x.field()] = object{"type": "binary", "doc_values": true}
		}
	}
	return out
}

// scored returns the fields of codes that have doc values.
func (d *described) scored() map[string]bool {
	out := map[string]bool{}
	for name, field := range d.Mappings.Properties {
		out[name] = field["type"] == "binary" && field["doc_values"] == true
	}
	return out
}

// fieldOf returns the field of an expert as it is to be given to a mapping that has these fields: one
// that is there keeps its doc values.
func fieldOf(m *Manifest, x Expert, has map[string]object) object {
	out := object{}
	fields := readable(m)
	for _, name := range x.sources() {
		field, ok := fields[name].(object)
		if !ok {
			continue // windows that indexes of this format do not have
		}
		if there, ok := has[name]; ok && x.Late {
			field = maps.Clone(field)
			delete(field, "doc_values")
			if there["doc_values"] == true {
				field["doc_values"] = true
			}
		}
		out[name] = field
	}
	return out
}

// mapping returns the mapping of an index.
func mapping(m *Manifest, about meta) object {
	fields := readable(m)
	maps.Copy(fields, writtenFields())
	maps.Copy(fields, keyField())
	maps.Copy(fields, valuesField())
	out := object{"dynamic": "strict", "_meta": object{"conclave": about}, "properties": fields}
	if m.codesApart() {
		out["_source"] = object{"excludes": []string{allCodes}}
	}
	return out
}

// described is an index as the cluster describes it.
type described struct {
	Aliases  map[string]json.RawMessage `json:"aliases"`
	Mappings struct {
		Dynamic    json.RawMessage            `json:"dynamic"`
		Meta       map[string]json.RawMessage `json:"_meta"`
		Properties map[string]object          `json:"properties"`
		Source     struct {
			Excludes []string `json:"excludes"`
		} `json:"_source"`
	} `json:"mappings"`
	Settings struct {
		Index struct {
			Shards     string                       `json:"number_of_shards"`
			Replicas   string                       `json:"number_of_replicas"`
			Similarity map[string]map[string]string `json:"similarity"`
			Blocks     blocks                       `json:"blocks"`
		} `json:"index"`
	} `json:"settings"`
}

// ErrNoIndex is the error of an index that is not there.
var ErrNoIndex = errors.New("there is no such index in the cluster")

// errForeign is the error of an index that something else made.
var errForeign = errors.New("was not made by conclave")

// describe reads what the cluster says of the index. An alias is followed where it
// leads to one index.
func (s *Store) describe(ctx context.Context, whom string, patience time.Duration) (*described, *meta, error) {
	answer, err := s.askFor(ctx, patience, "GET", s.path(whom), nil, isJSON)
	if isStatus(err, 404) {
		return nil, nil, ErrNoIndex
	}
	if err != nil {
		return nil, nil, err
	}
	name, d, about, err := parseDescribed(answer)
	if err == nil {
		s.concrete = name
	}
	return d, about, err
}

// parseDescribed reads the answer to GET /INDEX.
func parseDescribed(answer []byte) (name string, _ *described, _ *meta, _ error) {
	var all map[string]*described
	if err := json.Unmarshal(answer, &all); err != nil {
		return "", nil, nil, fmt.Errorf("the cluster's description of the index: %w", err)
	}
	if len(all) != 1 {
		return "", nil, nil, fmt.Errorf("the name stands for %d indexes, and one is needed", len(all))
	}
	for name, d := range all {
		if d == nil {
			return "", nil, nil, fmt.Errorf("the cluster says nothing of index %s", name)
		}
		raw, ok := d.Mappings.Meta["conclave"]
		if !ok {
			return "", nil, nil, fmt.Errorf("index %s %w: its mapping has no _meta.conclave", name, errForeign)
		}
		var about meta
		if err := decodeStrictly(raw, &about); err != nil {
			return "", nil, nil, fmt.Errorf("_meta.conclave of index %s: %w", name, err)
		}
		if about.Manifest == nil && about.Plan == nil {
			return "", nil, nil, fmt.Errorf("_meta.conclave of index %s has no manifest", name)
		}
		return name, d, &about, nil
	}
	return "", nil, nil, nil
}

// fits returns an error where the index's settings or fields are not those of its
// manifest: somebody changed them, or another program made them.
func (d *described) fits(m *Manifest) error {
	if string(d.Mappings.Dynamic) != `"strict"` {
		return fmt.Errorf("its mapping is dynamic (%s), and has to be strict", d.Mappings.Dynamic)
	}
	has := d.Settings.Index.Similarity[similarity]
	for name, want := range map[string]float64{"k1": m.Words.K1, "b": m.Words.B} {
		if got, err := strconv.ParseFloat(has[name], 64); err != nil || got != want {
			return fmt.Errorf("its setting similarity.%s.%s is %q, and its manifest says %v", similarity, name, has[name], want)
		}
	}
	if m.codesApart() && !slices.Contains(d.Mappings.Source.Excludes, allCodes) {
		return fmt.Errorf("its _source.excludes is %q, and has to have %s", d.Mappings.Source.Excludes, allCodes)
	}
	want := properties(m)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		field, ok := d.Mappings.Properties[name]
		if !ok {
			return fmt.Errorf("its mapping has no field %s, which its manifest needs", name)
		}
		if err := contains(field, want[name].(object)); err != nil {
			return fmt.Errorf("its field %s: %w", name, err)
		}
	}
	return nil
}

// aimedAt reports whether the index has an alias.
func (d *described) aimedAt(alias string) bool {
	_, ok := d.Aliases[alias]
	return ok
}

// written reports whether the index has the writtenFields.
func (d *described) written() bool { return d.has(writtenFields()) }

// keyed reports whether the index has the keyField.
func (d *described) keyed() bool { return d.has(keyField()) }

// valued reports whether the index has the valuesField.
func (d *described) valued() bool { return d.has(valuesField()) }

func (d *described) has(fields object) bool {
	for name, want := range fields {
		if contains(d.Mappings.Properties[name], want.(object)) != nil {
			return false
		}
	}
	return true
}

// contains returns an error where a field lacks a property, or has another value of
// it. The cluster leaves out what is the default, and nothing that properties names is
// one; it adds others.
func contains(has, want object) error {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		inner, nested := want[name].(object)
		got, ok := has[name].(object)
		switch {
		case nested && !ok:
			return fmt.Errorf("has no %s", name)
		case nested:
			if err := contains(got, inner); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		case !same(has[name], want[name]):
			return fmt.Errorf("%s is %v, and has to be %v", name, has[name], want[name])
		}
	}
	return nil
}

// same compares what was decoded from JSON with what we would write.
func same(got, want any) bool {
	if n, ok := want.(int); ok {
		want = float64(n)
	}
	return reflect.DeepEqual(got, want)
}
