package handlers

import (
	"slices"
	"testing"

	"example.org/conclave/search/learned"
)

// TestUnreadLanguages: a language is unread if no expert reads it; one that names no languages may read all.
func TestUnreadLanguages(t *testing.T) {
	english := learned.ExpertInfo{Languages: []string{"en"}}
	french := learned.ExpertInfo{Languages: []string{"fr"}}
	for _, c := range []struct {
		codes   []string
		experts []learned.ExpertInfo
		want    []string
	}{
		{[]string{"de", "en", "fr"}, []learned.ExpertInfo{english, french}, []string{"de"}},
		{[]string{"de", "en"}, []learned.ExpertInfo{english, {}}, nil},
		{[]string{"de"}, nil, nil},
		{nil, []learned.ExpertInfo{english}, nil},
	} {
		if got := unreadLanguages(c.codes, c.experts); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.codes, got, c.want)
		}
	}
}
