package opensearch

import (
	"context"
	"fmt"
	"slices"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/corpus"
)

// A passage's values of metadata are the terms of one field, so that a mapping does not grow with the
// keys that people use, and a key may have numbers in one passage and words in another. A term is the
// key, a zero byte, the kind, and the value: a word as it is, of the other kinds the key by which they
// are ordered in hexadecimal, so that a range of values is a range of terms. For each value there
// is a term with its kind alone, too, behind markKind, and every passage has markValues.
const (
	markKind   = "?"
	markValues = "\x00"
	// plainWord marks, behind markKind, fields with a word that is no date.
	plainWord = 'p'
)

// valuesField returns the field of values, which an index that an older program made lacks.
func valuesField() object { return object{fieldValues: object{"type": "keyword"}} }

// valuesOf returns the terms of a passage.
func valuesOf(p *corpus.Passage) []string {
	terms := []string{markValues}
	dates := map[string]bool{}
	conditions.Each(p.Metadata, func(d conditions.Datum) { dates[d.Field] = dates[d.Field] || d.Kind == conditions.Dates })
	conditions.Each(p.Metadata, func(d conditions.Datum) {
		terms = append(terms, kindTerm(d.Field, byte(d.Kind)))
		switch {
		case d.Kind == conditions.Words:
			terms = append(terms, valueTerm(d.Field, d.Kind)+d.Text)
			if !dates[d.Field] {
				terms = append(terms, kindTerm(d.Field, plainWord))
			}
		case d.Kind != conditions.Long:
			terms = append(terms, keyTerm(d.Field, d.Kind, d.Key))
		}
	})
	slices.Sort(terms)
	return slices.Compact(terms)
}

// appendValues appends the field of values.
func appendValues(b []byte, p *corpus.Passage) []byte {
	return appendField(b, fieldValues, valuesOf(p))
}

func kindTerm(field string, kind byte) string { return field + "\x00" + markKind + string(rune(kind)) }

func valueTerm(field string, kind conditions.Kind) string { return field + "\x00" + string(rune(kind)) }

func keyTerm(field string, kind conditions.Kind, key uint64) string {
	return valueTerm(field, kind) + fmt.Sprintf("%016x", key)
}

// meeting returns the query of the passages that meet a condition.
func meeting(n *conditions.Node) any {
	switch n.Op {
	case conditions.And:
		all := []any{}
		for i := range n.Nodes {
			all = append(all, meeting(&n.Nodes[i]))
		}
		return object{"bool": object{"filter": all}}
	case conditions.Or:
		return some(n.Nodes)
	case conditions.Not:
		return object{"bool": object{"must_not": []any{meeting(&n.Nodes[0])}}}
	case conditions.HasTag:
		return object{"term": object{fieldTags: n.Tag}}
	case conditions.HasField:
		var any []string
		for _, kind := range conditions.Kinds() {
			any = append(any, kindTerm(n.Field, byte(kind)))
		}
		return object{"terms": object{fieldValues: any}}
	}
	if term, one := oneTerm(n); one {
		return object{"term": object{fieldValues: term}}
	}
	in := n.Test
	within := object{}
	if in.Kind == conditions.Words {
		head := valueTerm(n.Field, in.Kind)
		within["gte"] = head + in.From
		within["lt"] = valueTerm(n.Field, in.Kind+1)
		if in.To != "" {
			within["lt"] = head + in.To
		}
	} else {
		within["gte"] = keyTerm(n.Field, in.Kind, in.Low)
		within["lte"] = keyTerm(n.Field, in.Kind, in.High)
	}
	if empty(in) {
		return object{"match_none": object{}}
	}
	return object{"range": object{fieldValues: within}}
}

// some returns the query of the passages that meet at least one condition; single values are asked for
// together.
func some(nodes []conditions.Node) any {
	var terms []string
	ways := []any{}
	for i := range nodes {
		if term, one := oneTerm(&nodes[i]); one {
			terms = append(terms, term)
		} else {
			ways = append(ways, meeting(&nodes[i]))
		}
	}
	if terms != nil {
		ways = append(ways, object{"terms": object{fieldValues: terms}})
	}
	if len(ways) == 0 {
		return object{"match_none": object{}}
	}
	return object{"bool": object{"should": ways}}
}

// oneTerm returns the term of a comparison that one value alone meets.
func oneTerm(n *conditions.Node) (term string, one bool) {
	if n.Op != conditions.Within {
		return "", false
	}
	if word, one := n.Test.One(); one {
		return valueTerm(n.Field, n.Test.Kind) + word, true
	}
	return keyTerm(n.Field, n.Test.Kind, n.Test.Low), n.Test.Kind != conditions.Words && n.Test.Low == n.Test.High
}

func empty(in conditions.Interval) bool {
	return in.Low > in.High || in.To != "" && in.From >= in.To
}

// notValued returns why conditions on fields cannot be asked of the index; "" where they can.
func (c *Corpus) notValued() string {
	n := c.counts.Load().Unvalued
	switch {
	case !c.Store().valued.Load():
		return "an older version made the index, without the values of fields: index again, which encodes nothing"
	case n > 0:
		return fmt.Sprintf(
			"%d passages were written by an older version, without the values of their fields: index again, which encodes nothing", n)
	}
	return ""
}

// asked returns the query of a condition, or a *conditions.MisfitError where its values do not fit.
func (c *Corpus) asked(ctx context.Context, n *conditions.Node) (any, error) {
	if why := c.notValued(); why != "" {
		return nil, &conditions.MisfitError{Problems: []conditions.Problem{{Code: "out_of_range", Detail: why}}}
	}
	var wrong []conditions.Problem
	var leaves []*conditions.Node
	n.Leaves(func(leaf *conditions.Node) {
		if _, known := c.fit.Load(kindOf(leaf)); !known && len(leaves) < mostFit {
			leaves = append(leaves, leaf)
		}
	})
	kinds := append(conditions.Kinds(), plainWord)
	var searches []object
	for _, leaf := range leaves {
		for _, kind := range kinds {
			searches = append(searches, object{"size": 0, "terminate_after": 1, "track_total_hits": true,
				"query": object{"term": object{fieldValues: kindTerm(leaf.Field, byte(kind))}}})
		}
	}
	answers, err := c.Store().multiPartly(ctx, searches)
	if err != nil {
		return nil, err
	}
	for i, leaf := range leaves {
		var has []conditions.Kind
		for j, kind := range kinds {
			if kind == plainWord {
				kind = conditions.Words
			} else if kind == conditions.Words {
				continue // dates may be all of them
			}
			if answers[i*len(kinds)+j].total > 0 {
				has = append(has, kind)
			}
		}
		if slices.Contains(has, leaf.Test.Kind) {
			c.fit.Store(kindOf(leaf), true)
		}
		wrong = append(wrong, leaf.Misfit(has)...)
	}
	if wrong != nil {
		return nil, &conditions.MisfitError{Problems: wrong}
	}
	return meeting(n), nil
}

// mostFit is of how many comparisons of a request it is asked whether the field has such values.
const mostFit = 32

// kindOf returns what is remembered of a comparison: a field that had values of a kind keeps them.
func kindOf(leaf *conditions.Node) string { return valueTerm(leaf.Field, leaf.Test.Kind) }
