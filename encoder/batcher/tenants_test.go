package batcher

import (
	"context"
	"sync/atomic"
	"testing"

	"example.org/conclave/internal/tenant"
)

// TestTenants: a question is computed once for each tenant that asks it. Names that continue the tokens, or one
// another, are different tenants.
func TestTenants(t *testing.T) {
	var rows atomic.Int64
	c := Config{
		Infer: func(_ context.Context, _ Lane, all [][]int32) ([][]float32, error) {
			rows.Add(int64(len(all)))
			vectors := make([][]float32, len(all))
			for i, row := range all {
				vectors[i] = []float32{float32(row[0])}
			}
			return vectors, nil
		},
		Machine: NewMachine(1), Threads: 1, Runs: 1, Queue: 8, BatchTokens: 64, PassageTokens: 64, BusyTokens: 64, Cache: 8,
	}
	b := New(c)
	defer b.Close()
	tokens := []int32{7, 0x61616161}
	for i, step := range []struct {
		name   string
		tokens []int32
		rows   int64 // that were computed by then
	}{
		{"", tokens, 1}, {"", tokens, 1}, {"a", tokens, 2}, {"aaaa", tokens[:1], 3}, {"aa", tokens, 4}, {"a", tokens, 4},
		{"aaaaaaaa", tokens[:1], 5}, {"aaaa", tokens, 6}, {"", tokens, 6},
	} {
		vector, err := b.Question(tenant.With(t.Context(), step.name), step.tokens)
		if err != nil || len(vector) != 1 || vector[0] != 7 || rows.Load() != step.rows {
			t.Errorf("%d: %v %v after %d rows", i, vector, err, rows.Load())
		}
	}
	if s := b.Stats(); s.Hits != 3 || s.Cached != 6 {
		t.Errorf("%+v", s)
	}
}
