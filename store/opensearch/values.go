package opensearch

import (
	"context"
	"slices"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/store/opensearch/schema"
)

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
		return object{"term": object{schema.FieldTags: n.Tag}}
	case conditions.HasField:
		var any []string
		for _, kind := range conditions.Kinds() {
			any = append(any, schema.KindTerm(n.Field, byte(kind)))
		}
		return object{"terms": object{schema.FieldValues: any}}
	}
	if term, one := oneTerm(n); one {
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
	if empty(in) {
		return object{"match_none": object{}}
	}
	return object{"range": object{schema.FieldValues: within}}
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
		ways = append(ways, object{"terms": object{schema.FieldValues: terms}})
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
		return schema.ValueTerm(n.Field, n.Test.Kind) + word, true
	}
	return schema.KeyTerm(n.Field, n.Test.Kind, n.Test.Low), n.Test.Kind != conditions.Words && n.Test.Low == n.Test.High
}

func empty(in conditions.Interval) bool {
	return in.Low > in.High || in.To != "" && in.From >= in.To
}

// asked returns the query of a condition, or a *conditions.MisfitError where its values do not fit.
func (c *Corpus) asked(ctx context.Context, n *conditions.Node) (any, error) {
	var wrong []conditions.Problem
	var leaves []*conditions.Node
	n.Leaves(func(leaf *conditions.Node) {
		if _, known := c.fit.Load(kindOf(leaf)); !known && len(leaves) < mostFit {
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
func kindOf(leaf *conditions.Node) string { return schema.ValueTerm(leaf.Field, leaf.Test.Kind) }
