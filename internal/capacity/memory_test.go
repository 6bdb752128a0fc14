package capacity

import (
	"strings"
	"testing"

	"example.org/conclave/configs"
)

// TestMemoryLimit: the default is a part of the machine's memory and has room for the
// largest answer and body; so has what is configured, or it is refused.
func TestMemoryLimit(t *testing.T) {
	all, err := MachineMemory()
	if err != nil || all < 1<<28 {
		t.Fatalf("%d bytes, %v", all, err)
	}
	l := configs.Defaults().Limits
	derived, err := MemoryLimit(l)
	if err != nil {
		t.Fatal(err)
	}
	answers, body := Rooms(derived)
	if answers+body > derived/2 || answers < 4*int64(l.AnswerBytes) || body < 2*int64(l.BodyBytes) {
		t.Errorf("of %d bytes %d are for answers and %d for bodies", derived, answers, body)
	}
	if derived != all/4 && all > 2<<30 {
		t.Errorf("%d of the machine's %d bytes", derived, all)
	}
	l.Memory = 64 << 20 // less than four times limits.answer_bytes
	if _, err := MemoryLimit(l); err == nil || !strings.Contains(err.Error(), "limits.answer_bytes") {
		t.Errorf("64 MiB: %v", err)
	}
	l.AnswerBytes = 4 << 20
	if got, err := MemoryLimit(l); err != nil || got != 64<<20 {
		t.Errorf("64 MiB for answers of 4 MiB: %d, %v", got, err)
	}
}

// TestMemory compares with sums worked by hand.
func TestMemory(t *testing.T) {
	cfg := configs.Config{
		Encoder: configs.Encoder{BatchTokens: 1000, CacheEntries: 10},
		Ingest:  configs.Ingest{Backlog: 1_000_000},
		Limits: configs.Limits{
			Concurrency: 8, BodyBytes: 20_000, LineBytes: 50_000, Uploads: 3, Memory: 4_000_000_000,
		},
		Documents: configs.Documents{Workers: 3, Memory: 300_000_000},
	}
	// A token of 64 numbers and passages of 100: 16·64 and 2 heads twice by 100,
	// 1,424 numbers of 4 bytes; 10 vectors of 256 bytes and 150, twice. Five sources:
	// 5·(40 + 60) and 232 + 600 bytes for each of a hundred.
	got := MostMemory(cfg, 7_000_000, []ExpertSize{{Width: 64, MaxTokens: 100}, {Width: 64, MaxTokens: 100}})
	want := Memory{
		Requests: 7_000_000,
		Readers:  900_000_000,
		Work:     2 * 8 * 266_400,
		Writing:  300_000_000 + 134_217_728 + 1_073_741_824 + 2*48*2_197_152,
		Encoders: 2 * (5_696_000 + 8_120),
	}
	if got != want || got.Total() != 2_641_556_784 {
		t.Errorf("%+v, together %d, want %+v", got, got.Total(), want)
	}
	cfg.ReadOnly = true
	if got := MostMemory(cfg, 0, nil); got.Writing != 0 || got.Encoders != 0 || got.Total() != 2*8*164_000 {
		t.Errorf("a server that only reads: %+v, together %d", got, got.Total())
	}
}

// TestRooms: what bodies and answers may take, twice, is the memory; the least memory
// has room for the largest body and the largest answer.
func TestRooms(t *testing.T) {
	if answers, body := Rooms(1600); answers != 700 || body != 100 {
		t.Errorf("of 1600: %d and %d", answers, body)
	}
	l := configs.Limits{BodyBytes: 1000, LineBytes: 600}
	for _, answer := range []int64{0, 1, 14_000, 14_001, 999_999} {
		least := leastMemory(l, answer)
		answers, body := Rooms(least)
		if answers < answer || body < 2000 {
			t.Errorf("of %d, for an answer of %d: %d and %d", least, answer, answers, body)
		}
		if answers, body := Rooms(least - 16); answers >= answer && body >= 2000 {
			t.Errorf("for an answer of %d less than %d does", answer, least)
		}
	}
}

// TestReaders: the processes that read files take at most half of limits.memory, the requests the rest;
// each has what PDFium needs, whatever the limit is.
func TestReaders(t *testing.T) {
	for _, c := range []struct {
		limit, memory   configs.ByteSize
		workers         int
		reader, request int64
	}{
		{4 << 30, 512 << 20, 2, 512 << 20, 3 << 30},
		{4 << 30, 4 << 30, 2, 1 << 30, 2 << 30},
		{1 << 30, 512 << 20, 2, 256 << 20, 512 << 20},
		{1 << 30, 512 << 20, 3, 256 << 20, 256 << 20},
		{1 << 30, 1 << 10, 1, 256 << 20, 768 << 20},
	} {
		cfg := configs.Config{
			Limits:    configs.Limits{Memory: c.limit, BodyBytes: 20_000, LineBytes: 50_000},
			Documents: configs.Documents{Workers: c.workers, Memory: c.memory},
		}
		readers, err := Readers(cfg)
		if err != nil || readers != (ReaderProcesses{c.workers, c.reader}) {
			t.Errorf("%+v: %+v, %v", c, readers, err)
		}
		if got, err := RequestMemory(cfg); err != nil || got != c.request {
			t.Errorf("%+v: requests have %d, %v", c, got, err)
		}
		cfg.ReadOnly = true
		if got, err := RequestMemory(cfg); err != nil || got != int64(c.limit) {
			t.Errorf("%+v: requests of a server that only reads have %d, %v", c, got, err)
		}
	}
}
