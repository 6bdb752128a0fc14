package configs

import "testing"

// TestMemory compares with sums worked by hand.
func TestMemory(t *testing.T) {
	cfg := Config{
		Encoder: Encoder{BatchTokens: 1000, CacheEntries: 10},
		Ingest:  Ingest{Backlog: 1_000_000},
		Limits:  Limits{Concurrency: 8, BodyBytes: 20_000, LineBytes: 50_000, Uploads: 3},
	}
	// A token of 64 numbers and passages of 100: 16·64 and 2 heads twice by 100,
	// 1,424 numbers of 4 bytes; 10 vectors of 256 bytes and 150, twice. Four sources:
	// 4·(40 + 48) and 232 + 480 bytes for each of a hundred.
	got := cfg.Memory(7_000_000, []ExpertSize{{Width: 64, MaxTokens: 100}, {Width: 64, MaxTokens: 100}})
	want := Memory{
		Requests: 7_000_000,
		Work:     2 * 8 * 212_800,
		Writing:  300_000_000 + 134_217_728 + 1_073_741_824 + 2*48*2_197_152,
		Encoders: 2 * (5_696_000 + 8_120),
	}
	if got != want || got.Total() != 1_740_699_184 {
		t.Errorf("%+v, together %d, want %+v", got, got.Total(), want)
	}
	cfg.ReadOnly = true
	if got := cfg.Memory(0, nil); got.Writing != 0 || got.Encoders != 0 || got.Total() != 2*8*120_000 {
		t.Errorf("a server that only reads: %+v, together %d", got, got.Total())
	}
}

// TestRooms: what bodies and answers may take, twice, is the memory; the least memory
// has room for the largest body and the largest answer.
func TestRooms(t *testing.T) {
	if answers, body := Rooms(1600); answers != 700 || body != 100 {
		t.Errorf("of 1600: %d and %d", answers, body)
	}
	l := Limits{BodyBytes: 1000, LineBytes: 600}
	for _, answer := range []int64{0, 1, 14_000, 14_001, 999_999} {
		least := l.LeastMemory(answer)
		answers, body := Rooms(least)
		if answers < answer || body < 2000 {
			t.Errorf("of %d, for an answer of %d: %d and %d", least, answer, answers, body)
		}
		if answers, body := Rooms(least - 16); answers >= answer && body >= 2000 {
			t.Errorf("for an answer of %d less than %d does", answer, least)
		}
	}
}
