package demo

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// turn is a question of a conversation with what was asked before it, or as it is asked alone.
type turn struct {
	ID          string    `json:"id"`
	Question    string    `json:"question,omitempty"`
	Messages    []message `json:"messages,omitempty"`
	PositiveIDs []string  `json:"positive_ids"`
	Domain      string    `json:"domain"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// allTurns returns the files of conversations, by their names.
func allTurns(t *testing.T) map[string][]turn {
	t.Helper()
	out := map[string][]turn{}
	for _, name := range []string{"dev.jsonl", "dev-alone.jsonl", "test.jsonl", "test-alone.jsonl"} {
		out[name] = linesIn[turn](t, os.DirFS("questions/conversations"), name)
	}
	return out
}

// TestConversations: each later turn of a conversation is there once with what was asked before it and
// once written out, and both name the same passages; no conversation is in both splits.
func TestConversations(t *testing.T) {
	passages := map[string]bool{}
	for _, domain := range allPassages(t) {
		for _, p := range domain {
			passages[p.ID] = true
		}
	}
	all := allTurns(t)
	conversations := map[string]string{} // by id: the split
	for _, split := range []string{"dev", "test"} {
		talks := map[string][]message{}
		alone := all[split+"-alone.jsonl"]
		turns := all[split+".jsonl"]
		if len(turns) != len(alone) {
			t.Fatalf("%s: %d turns and %d written out", split, len(turns), len(alone))
		}
		for i, q := range turns {
			id, _, _ := strings.Cut(q.ID, "-")
			if other, there := conversations[id]; there && other != split {
				t.Errorf("%s is in %s and in %s", id, other, split)
			}
			conversations[id] = split
			if q.ID != alone[i].ID || !slices.Equal(q.PositiveIDs, alone[i].PositiveIDs) || q.Domain != alone[i].Domain {
				t.Errorf("%s: %s is written out in its place", q.ID, alone[i].ID)
			}
			if len(q.Messages) < 2 || len(q.Messages) > 5 {
				t.Errorf("%s has %d messages, want 2 to 5", q.ID, len(q.Messages))
			}
			before := q.Messages[:len(q.Messages)-1]
			if said := talks[id]; said != nil && !slices.Equal(said, before) {
				t.Errorf("%s: its conversation was another one before", q.ID)
			}
			talks[id] = q.Messages
			for _, id := range q.PositiveIDs {
				if !passages[id] {
					t.Errorf("%s: there is no passage %s", q.ID, id)
				}
			}
		}
	}
	if len(conversations) < 60 {
		t.Errorf("%d conversations, want 60 or more", len(conversations))
	}
}
