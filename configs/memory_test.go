package configs

import "testing"

// TestMemory compares with sums worked by hand.
func TestMemory(t *testing.T) {
	cfg := Config{
		Encoder: Encoder{BatchTokens: 1000, CacheEntries: 10},
		Ingest:  Ingest{Backlog: 1_000_000},
		Limits:  Limits{Concurrency: 8, AnswerBytes: 1_000_000, BodyBytes: 20_000, LineBytes: 50_000},
	}
	// A token of 64 numbers and passages of 100: 16·64 and 2 heads twice by 100,
	// 1,424 numbers of 4 bytes; 10 vectors of 256 bytes and 150, twice.
	got := cfg.Memory([]ExpertSize{{Width: 64, MaxTokens: 100}, {Width: 64, MaxTokens: 100}})
	want := Memory{
		Answers:  32_000_000,
		Bodies:   1_600_000,
		Writing:  300_000_000 + 134_217_728 + 1_073_741_824,
		Encoders: 2 * (5_696_000 + 8_120),
	}
	if got != want || got.Total() != 1_552_967_792 {
		t.Errorf("%+v, together %d, want %+v", got, got.Total(), want)
	}
	cfg.ReadOnly = true
	if got := cfg.Memory(nil); got.Writing != 0 || got.Encoders != 0 || got.Total() != 33_600_000 {
		t.Errorf("a server that only reads: %+v", got)
	}
}
