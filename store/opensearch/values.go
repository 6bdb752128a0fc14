package opensearch

import (
	"context"
	"slices"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/store/opensearch/schema"
)

// meetingQuery returns the query of the passages that meet a condition, by the terms of FieldValues and FieldTags. The
// condition has to fit the fields (conditionQuery).
func meetingQuery(n *conditions.Node) any {
	switch n.Op {
	case conditions.And:
		all := []any{}
		for i := range n.Nodes {
			all = append(all, meetingQuery(&n.Nodes[i]))
		}
		return object{"bool": object{"filter": all}}
	case conditions.Or:
		return anyOfQuery(n.Nodes)
	case conditions.Not:
		return object{"bool": object{"must_not": []any{meetingQuery(&n.Nodes[0])}}}
	case conditions.HasTag:
		return object{"term": object{schema.FieldTags: n.Tag}}
	case conditions.HasField:
		var any []string
		for _, kind := range conditions.Kinds() {
			any = append(any, schema.KindTerm(n.Field, byte(kind)))
		}
		return object{"terms": object{schema.FieldValues: any}}
	}
	if term, one := singleTerm(n); one {
		return object{"term": object{schema.FieldValues: term}}
	}
	in := n.Test
	within := object{}
	if in.Kind == conditions.Words {
		head := schema.ValueTerm(n.Field, in.Kind)
		within["gte"] = head + in.From
		within["lt"] = schema.ValueTerm(n.Field, in.Kind+1)
		if in.To != "" {
			within["lt"] = head + in.To
		}
	} else {
		within["gte"] = schema.KeyTerm(n.Field, in.Kind, in.Low)
		within["lte"] = schema.KeyTerm(n.Field, in.Kind, in.High)
	}
	if isEmpty(in) {
		return object{"match_none": object{}}
	}
	return object{"range": object{schema.FieldValues: within}}
}

// anyOfQuery returns the query of the passages that meet at least one of the conditions. Comparisons with a single
// value are one clause together.
func anyOfQuery(nodes []conditions.Node) any {
	var terms []string
	ways := []any{}
	for i := range nodes {
		if term, one := singleTerm(&nodes[i]); one {
			terms = append(terms, term)
		} else {
			ways = append(ways, meetingQuery(&nodes[i]))
		}
	}
	if terms != nil {
		ways = append(ways, object{"terms": object{schema.FieldValues: terms}})
	}
	if len(ways) == 0 {
		return object{"match_none": object{}}
	}
	return object{"bool": object{"should": ways}}
}

// singleTerm returns the term of FieldValues that a comparison asks for if one value alone meets it; one is false
// otherwise. term means nothing then.
func singleTerm(n *conditions.Node) (term string, one bool) {
	if n.Op != conditions.Within {
		return "", false
	}
	if word, one := n.Test.One(); one {
		return schema.ValueTerm(n.Field, n.Test.Kind) + word, true
	}
	return schema.KeyTerm(n.Field, n.Test.Kind, n.Test.Low), n.Test.Kind != conditions.Words && n.Test.Low == n.Test.High
}

// isEmpty reports whether no value lies in the interval.
func isEmpty(in conditions.Interval) bool {
	return in.Low > in.High || in.To != "" && in.From >= in.To
}

// conditionQuery returns the query of a condition. It asks the cluster which kinds of values the fields have, unless
// that is known, of the first mostFit comparisons. It returns a *conditions.MisfitError if a field has values of
// other kinds alone than the condition compares it with.
func (c *Corpus) conditionQuery(ctx context.Context, n *conditions.Node) (any, error) {
	var wrong []conditions.Problem
	var leaves []*conditions.Node
	n.Leaves(func(leaf *conditions.Node) {
		if _, known := c.fit.Load(kindKey(leaf)); !known && len(leaves) < mostFit {
			leaves = append(leaves, leaf)
		}
	})
	kinds := append(conditions.Kinds(), schema.PlainWord)
	var searches []object
	for _, leaf := range leaves {
		for _, kind := range kinds {
			searches = append(searches, object{"size": 0, "terminate_after": 1, "track_total_hits": true,
				"query": object{"term": object{schema.FieldValues: schema.KindTerm(leaf.Field, byte(kind))}}})
		}
	}
	answers, err := c.Store().multiPartly(ctx, searches)
	if err != nil {
		return nil, err
	}
	for i, leaf := range leaves {
		var has []conditions.Kind
		for j, kind := range kinds {
			if kind == schema.PlainWord {
				kind = conditions.Words
			} else if kind == conditions.Words {
				continue // dates may be all of them
			}
			if answers[i*len(kinds)+j].total > 0 {
				has = append(has, kind)
			}
		}
		if slices.Contains(has, leaf.Test.Kind) {
			c.fit.Store(kindKey(leaf), true)
		}
		wrong = append(wrong, leaf.Misfit(has)...)
	}
	if wrong != nil {
		return nil, &conditions.MisfitError{Problems: wrong}
	}
	return meetingQuery(n), nil
}

// mostFit is of how many comparisons of a request it is asked whether the field has such values.
const mostFit = 32

// kindKey returns the key under which it is remembered that a field has values of the kind that a comparison asks for:
// it keeps them.
func kindKey(leaf *conditions.Node) string { return schema.ValueTerm(leaf.Field, leaf.Test.Kind) }
