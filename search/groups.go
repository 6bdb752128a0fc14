package search

import (
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/plan"
)

// The number of passages of a group: the default and the greatest.
const (
	usuallyGrouped = 3
	mostGrouped    = 20
)

// planGroups checks group_by and group_size of a request and sets them in the plan. It adds problems to wrong.
func planGroups(p *plan.Plan, r *Request, wrong *fault.Problems) {
	p.GroupBy = r.GroupBy
	if r.GroupBy != "" {
		checkField(wrong, "/group_by", r.GroupBy)
	}
	p.GroupSize = wrong.Count("/group_size", r.GroupSize, usuallyGrouped, mostGrouped)
	switch {
	case p.GroupBy == "" && r.GroupSize != 0:
		wrong.Add("unused_option", "/group_size", "group_size is for groups of results: leave it out, or say group_by")
	case p.GroupBy != "" && r.Fusion.Listed:
		wrong.Add(
			"not_one_ranking", "/group_by",
			"results are grouped in one ranking, and fusion is a list of methods: name one method, or leave out group_by",
		)
	}
}
