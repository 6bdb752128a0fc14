package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"example.org/conclave/bm25/forms"
	"example.org/conclave/store/opensearch/cluster"
)

// The fields of a passage, beside one for the vectors of each expert (Expert.field).
const (
	FieldID       = "id"
	FieldTitle    = "title"
	FieldText     = "text"
	FieldTags     = "tags"
	FieldMetadata = "metadata" // JSON in a string, so that no number loses a digit
	FieldVersion  = "version"  // corpus.Passage.Version
	FieldBytes    = "bytes"    // of the passage as corpus.Passage.AppendBinary has it
	FieldExperts  = "experts"  // Expert.Mark of each expert whose vectors are there, and ReadMarks
	FieldWords    = "words"    // forms.Analysis.Words
	FieldForms    = "forms"    // forms.Analysis.FormsLike
	FieldPairs    = "pairs"    // forms.Analysis.Pairs
	FieldPrint    = "print"    // corpus.Passage.Fingerprint, as a signed number
	FieldSpelled  = "spelled"  // SpelledWords
	FieldKey      = "key"      // corpus.SampleKey
	FieldValues   = "values"   // ValueTerms
)

// PassageFields returns the fields that Source.Passage reads, without FieldVersion.
func PassageFields() []string {
	return []string{FieldID, FieldTitle, FieldText, FieldTags, FieldMetadata}
}

// similarity is the name under which an index has BM25 with the parameters of its Words.
const similarity = "conclave"

// Shape is how an index is laid out over a cluster.
type Shape struct {
	Shards   int // 1 to 1024; it cannot be changed later
	Replicas int // further copies of each shard

	Filling bool // several processes fill it: copies and refreshes come afterwards
}

type object = map[string]any

// keepDeleted is for how long the cluster remembers the versions of deleted passages.
const keepDeleted = "10m"

// allCodes matches the fields of codes of late interaction (Expert.Field). An index leaves them out of its stored
// documents (_source): their doc values are the only copy. So a request for a document by its id has no codes, a
// partial update or a _reindex of the cluster's own loses them, and whoever writes a document again has to send them.
const allCodes = LateField + "*"

// Settings returns the settings of a new index, as JSON. An index that several processes fill (Shape.Filling) has no
// copies and is not refreshed.
func Settings(w Words, s Shape) object {
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
	if s.Filling {
		index["number_of_replicas"] = 0
		index["refresh_interval"] = "-1"
	}
	return object{"index": index}
}

// Properties returns the fields of the passages of an index, as the properties of a mapping in JSON. Words are analysed
// here and not in the cluster: terms come as they are, with white space between them.
func Properties(m *Manifest) object {
	terms := object{"type": "text", "analyzer": "terms", "similarity": similarity, "index_options": "freqs"}
	kept := object{"type": "text", "index": false}
	out := object{
		FieldID: object{"type": "keyword"}, FieldTitle: kept, FieldText: kept, FieldTags: object{"type": "keyword"},
		FieldMetadata: object{"type": "object", "enabled": false}, FieldVersion: object{"type": "keyword", "index": false},
		FieldBytes: object{"type": "integer", "index": false}, FieldExperts: object{"type": "keyword"}, FieldWords: terms,
		FieldPrint: object{"type": "long", "index": false}, FieldSpelled: object{"type": "keyword", "index": false},
		FieldKey: object{"type": "long"}, FieldValues: object{"type": "keyword"},
	}
	if m.Words.Phrases {
		out[FieldPairs] = terms
	}
	if m.Words.Params().Analysis != forms.Lucene {
		out[FieldForms] = terms
	}
	for _, x := range m.Keepers() {
		if x.Late { // a script scores them by their doc values (lateScript)
			out[x.Field()] = object{"type": "binary", "doc_values": true}
			continue
		}
		vectors := func() object {
			return object{"type": "knn_vector", "dimension": x.Dimension, "method": object{
				"name": "hnsw", "engine": "lucene", "space_type": "innerproduct",
				"parameters": object{"m": 16, "ef_construction": 200},
			}}
		}
		out[x.Field()] = vectors()
		place := object{"type": "integer", "index": false, "doc_values": false}
		out[x.WindowsField()] = object{"type": "nested", "dynamic": "strict",
			"properties": object{FieldBegin: place, FieldEnd: place, FieldVector: vectors()}}
	}
	return out
}

// The fields of a window: the bytes of the text where it begins and ends, and its vector.
const (
	FieldBegin  = "begin"
	FieldEnd    = "end"
	FieldVector = "vector"
)

// FieldsOf returns the properties of a mapping that an expert's vectors need; empty for an expert with an owner. The
// expert must be one of the manifest.
func (m *Manifest) FieldsOf(x Expert) object {
	out := object{}
	all := Properties(m)
	for _, name := range x.Sources() {
		if field, ok := all[name]; ok { // not a pattern of sources
			out[name] = field
		}
	}
	return out
}

// Mapping returns the mapping of a new index, as JSON, with about under _meta.
func Mapping(m *Manifest, about Meta) object {
	return object{"dynamic": "strict", "_meta": object{"conclave": about}, "properties": Properties(m),
		"_source": object{"excludes": []string{allCodes}}}
}

// Description is an index as the cluster describes it, in its answer to GET /INDEX.
type Description struct {
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
			Blocks     cluster.Blocks               `json:"blocks"`
		} `json:"index"`
	} `json:"settings"`
}

// ErrForeign is the error of an index that another program made.
var ErrForeign = errors.New("was not made by conclave")

// ParseDescription reads the answer to GET /INDEX, which has to be of one index, and returns the index's name. The
// error is ErrForeign if conclave did not make the index, and a *FormatError if it has another format.
func ParseDescription(answer []byte) (name string, _ *Description, _ *Meta, _ error) {
	var all map[string]*Description
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
			return "", nil, nil, fmt.Errorf("index %s %w: its mapping has no _meta.conclave", name, ErrForeign)
		}
		about, err := ParseMeta(raw)
		if err != nil {
			return "", nil, nil, fmt.Errorf("_meta.conclave of index %s: %w", name, err)
		}
		return name, d, about, nil
	}
	return "", nil, nil, nil
}

// CheckFits returns an error if the index's settings or fields are not those that a manifest needs: somebody changed
// them, or another program made them. Further fields are no error.
func (d *Description) CheckFits(m *Manifest) error {
	if string(d.Mappings.Dynamic) != `"strict"` {
		return fmt.Errorf("its mapping is dynamic (%s), and has to be strict", d.Mappings.Dynamic)
	}
	has := d.Settings.Index.Similarity[similarity]
	for name, want := range map[string]float64{"k1": m.Words.K1, "b": m.Words.B} {
		if got, err := strconv.ParseFloat(has[name], 64); err != nil || got != want {
			return fmt.Errorf("its setting similarity.%s.%s is %q, and its manifest says %v", similarity, name, has[name], want)
		}
	}
	if !slices.Contains(d.Mappings.Source.Excludes, allCodes) {
		return fmt.Errorf("its _source.excludes is %q, and has to have %s", d.Mappings.Source.Excludes, allCodes)
	}
	want := Properties(m)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		field, ok := d.Mappings.Properties[name]
		if !ok {
			return fmt.Errorf("its mapping has no field %s, which its manifest needs", name)
		}
		if err := checkContains(field, want[name].(object)); err != nil {
			return fmt.Errorf("its field %s: %w", name, err)
		}
	}
	return nil
}

// HasAlias reports whether the index has an alias.
func (d *Description) HasAlias(alias string) bool {
	_, ok := d.Aliases[alias]
	return ok
}

// checkContains returns an error if a field lacks a property of want, or has another value of it; it may have others.
// The cluster leaves defaults out, and want has none of these.
func checkContains(has, want object) error {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		inner, nested := want[name].(object)
		got, ok := has[name].(object)
		switch {
		case nested && !ok:
			return fmt.Errorf("has no %s", name)
		case nested:
			if err := checkContains(got, inner); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		case !same(has[name], want[name]):
			return fmt.Errorf("%s is %v, and has to be %v", name, has[name], want[name])
		}
	}
	return nil
}

// same reports whether got, a value decoded from JSON, equals want. An int in want equals the same number in JSON; ints
// deeper inside want do not.
func same(got, want any) bool {
	if n, ok := want.(int); ok {
		want = float64(n)
	}
	return reflect.DeepEqual(got, want)
}
