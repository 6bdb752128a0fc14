package opensearch

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/search/storage"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// mostFacetTerms is how many values each shard counts at least: with no more in a shard, counts are exact.
const mostFacetTerms = 10_000

// Facet returns the most frequent values of a field among the passages of the filter, size at most, and how many
// passages have each; Other is how often the remaining ones occur. A passage with words in the field counts by these
// alone, as in a folder. Approximate is set if a shard has no copy that answers, or has too many values to count
// exactly. It fails if the cluster does not answer.
func (r *request) Facet(ctx context.Context, field string, size int) (out storage.Facet, err error) {
	terms := func(kind conditions.Kind) object {
		return object{"terms": object{
			"field": schema.FieldValues, "size": size, "shard_size": max(mostFacetTerms, size),
			"include": literally(schema.ValueTerm(field, kind)) + ".*",
		}}
	}
	unworded := object{"bool": object{"must_not": object{"term": object{
		schema.FieldValues: schema.KindTerm(field, byte(conditions.Words)),
	}}}}
	answers, err := r.store.multiPartly(ctx, []object{{
		"size": 0, "track_total_hits": false, "query": withoutStandIns(r.filter...),
		"aggs": object{"words": terms(conditions.Words), "others": object{"filter": unworded, "aggs": object{
			"numbers": terms(conditions.Numbers), "bools": terms(conditions.Bools),
		}}},
	}})
	if err != nil {
		return out, err
	}
	type counted struct {
		Error   int `json:"doc_count_error_upper_bound"`
		Rest    int `json:"sum_other_doc_count"`
		Buckets []struct {
			Key   string `json:"key"`
			Count int    `json:"doc_count"`
		} `json:"buckets"`
	}
	var found struct {
		Words  *counted `json:"words"`
		Others struct {
			Numbers *counted `json:"numbers"`
			Bools   *counted `json:"bools"`
		} `json:"others"`
	}
	if err := json.Unmarshal(answers[0].aggregations, &found); err != nil {
		return out, fmt.Errorf("%w: counts of values: %w", cluster.ErrAnswer, err)
	}
	out.Selected = []storage.FacetValue{}
	out.Approximate = firstLostError(answers) != nil
	for kind, c := range map[conditions.Kind]*counted{
		conditions.Words:   found.Words,
		conditions.Numbers: found.Others.Numbers,
		conditions.Bools:   found.Others.Bools,
	} {
		if c == nil {
			return out, fmt.Errorf("%w: no counts of values", cluster.ErrAnswer)
		}
		out.Other += c.Rest
		out.Approximate = out.Approximate || c.Error > 0
		for _, b := range c.Buckets {
			v, err := valueIn(kind, strings.TrimPrefix(b.Key, schema.ValueTerm(field, kind)))
			if err != nil {
				return out, err
			}
			out.Selected = append(out.Selected, storage.FacetValue{Value: v, Count: b.Count})
		}
	}
	storage.SortFacet(out.Selected)
	for len(out.Selected) > size {
		last := len(out.Selected) - 1
		out.Other += out.Selected[last].Count
		out.Selected = out.Selected[:last]
	}
	return out, nil
}

// valueIn reads a value of a kind from the end of its term in FieldValues. It returns an ErrAnswer for a number that
// cannot be read.
func valueIn(kind conditions.Kind, text string) (v conditions.Value, err error) {
	if kind == conditions.Words {
		return conditions.Text(text), nil
	}
	key, err := strconv.ParseUint(text, 16, 64)
	if err != nil {
		return v, fmt.Errorf("%w: the value %q: %w", cluster.ErrAnswer, text, err)
	}
	if kind == conditions.Bools {
		return conditions.Bool(key != 0), nil
	}
	return conditions.Number(conditions.KeyNumber(key)), nil
}

// literally returns a regular expression, in the cluster's syntax, that matches this text and no other.
func literally(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < unicode.MaxASCII && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
