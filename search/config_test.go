package search

import (
	"math"
	"strings"
	"testing"
	"time"

	"example.org/conclave/search/reply"
)

func TestBadConfig(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(c *EngineConfig)
		says string
	}{
		{"no corpus", func(c *EngineConfig) { c.Corpus = nil }, "a corpus is needed"},
		{"no limit", func(c *EngineConfig) { c.Limits.EmbedBytes = 0 }, "EmbedBytes:0"},
		{"negative limit", func(c *EngineConfig) { c.Limits.K = -1 }, "K:-1"},
		{"default over limit", func(c *EngineConfig) { c.Limits.K, c.Defaults.K = 5, 6 }, "defaults.k is 6: it has to be from 1 to its limit of 5"},
		{"candidates over limit", func(c *EngineConfig) { c.Limits.Candidates = 5 }, "defaults.candidates is 15: it has to be from 1 to its limit of 5"},
		{"timeout over limit", func(c *EngineConfig) { c.Limits.Timeout, c.Defaults.Timeout = time.Second, time.Minute }, "from 1ms to its limit of 1s"},
		{"short timeout", func(c *EngineConfig) { c.Defaults.Timeout = time.Microsecond }, "has to be from 1ms"},
		{"method", func(c *EngineConfig) { c.Defaults.Fusion = "x" }, `defaults.fusion is "x"`},
		{"auto is auto", func(c *EngineConfig) { c.Defaults.Auto = "auto" }, "other than auto"},
		{"missing", func(c *EngineConfig) { c.Defaults.Missing = "none" }, "exact, min are known"},
		{"alpha", func(c *EngineConfig) { c.Defaults.Alpha = math.NaN() }, "alpha is NaN"},
		{"nameless", func(c *EngineConfig) { c.Experts[0].Name = "" }, "expert 1 has no name"},
		{"called bm25", func(c *EngineConfig) { c.Experts[0].Name = "bm25" }, "the name of another source"},
		{"called near", func(c *EngineConfig) { c.Experts[0].Name = "near" }, "the name of another source"},
		{"twice", func(c *EngineConfig) { c.Experts[0].Name = "B" }, `two experts are called "B"`},
		{"no encoder", func(c *EngineConfig) { c.Experts[0].Encoder = nil }, "no question encoder"},
		{"temperature", func(c *EngineConfig) { c.Experts[0].Info.Calibration.Temperature = 0 }, "temperature 0"},
		{"depth", func(c *EngineConfig) { c.Experts[0].Info.Calibration.Depth = 1 }, "depth 1"},
	} {
		s := newStage("AB", 5)
		c.do(&s.config)
		if _, err := NewEngine(s.config); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want one that says %q", c.name, err, c.says)
		}
	}
}

// TestConfigFillsIn: what only a calibration sets is filled in, and the caller's slice of
// experts is left alone.
func TestConfigFillsIn(t *testing.T) {
	s := newStage("A", 5)
	e := s.engine(t)
	if d := e.Defaults(); d.Auto != "rrf" || d.Sharpness == 0 || d.ChancesBasis != reply.BasisCalibrated {
		t.Errorf("defaults %+v", d)
	}
	if s.config.Experts[0].Info.Name != "" || e.Experts()[0].Name != "A" || e.Experts()[0].EnsembleMembers != 5 {
		t.Errorf("expert %+v", e.Experts()[0])
	}
}
