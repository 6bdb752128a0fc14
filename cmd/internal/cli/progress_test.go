package cli

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestProgressInWords(t *testing.T) {
	for _, c := range []struct {
		stage, unit string
		done, total int64
		took        time.Duration
		want        string
	}{
		{"encoding base", "passages", 256, 1500, 4 * time.Second, "encoding base  256 of 1,500 passages, 64/s, 19s left"},
		{"encoding base", "passages", 3, 1500, time.Minute, "encoding base  3 of 1,500 passages, 0.1/s, 8h19m0s left"},
		{"encoding base", "passages", 0, 1500, time.Minute, "encoding base  0 of 1,500 passages"},
		{"words", "passages", 1500, 1500, 2 * time.Second, "words  1,500 of 1,500 passages, 750/s"},
		// A rate of a few milliseconds would be nonsense.
		{"reading", "bytes", 66 << 10, 661 << 10, time.Millisecond, "reading  66.0 KiB of 661.0 KiB"},
		{"reading", "bytes", 66 << 20, -1, 2 * time.Second, "reading  66.0 MiB, 33.0 MiB/s"},
		{"reading", "bytes", 12, 20, time.Second, "reading  12 bytes of 20 bytes, 12 bytes/s, 1s left"},
	} {
		p := Progress{stage: c.stage, unit: c.unit, done: c.done}
		if got := p.describe(c.total, c.took); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// TestProgressInALog: a log gets a line each half minute, of the form of a terminal's, and one at the end of a stage.
func TestProgressInALog(t *testing.T) {
	var out strings.Builder
	p := NewProgress(&out)
	p.Report("encoding base", 1, 1500, "passages")
	p.Report("encoding base", 100, 1500, "passages")
	if out.Len() > 0 {
		t.Errorf("at once: %q", out.String())
	}
	p.started = p.started.Add(-40 * time.Second)
	p.logged = p.started
	p.Report("encoding base", 200, 1500, "passages")
	p.Report("encoding base", 201, 1500, "passages")
	p.Finish()
	want := regexp.MustCompile(`^encoding base  200 of 1,500 passages, 5.0/s, 4m20s left
encoding base: 201 passages in 40[.0-9]*s \(5.0/s\)
$`)
	if !want.MatchString(out.String()) {
		t.Errorf("%q", out.String())
	}
}
