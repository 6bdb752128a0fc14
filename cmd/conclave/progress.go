package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows long work on the terminal: one bar a stage, with rate and time
// left. Where standard error is not a terminal it prints one line when a stage
// ends, so that a log stays readable.
type progress struct {
	out     io.Writer
	bar     *progressbar.ProgressBar
	stage   string
	unit    string
	done    int64
	started time.Time
}

func newProgress(out io.Writer) *progress { return &progress{out: out} }

// Report moves the bar of a stage; a new stage ends the one before. A total of
// 0 or less means that nobody knows how much there is.
func (p *progress) Report(stage string, done, total int64, unit string) {
	if stage != p.stage {
		p.Finish()
		p.stage, p.unit, p.started = stage, unit, time.Now()
		if isTerminal(p.out) {
			p.bar = newBar(p.out, stage, total, unit)
		}
	}
	p.done = done
	if p.bar == nil {
		return
	}
	if total > 0 && p.bar.GetMax64() != total {
		p.bar.ChangeMax64(total)
	}
	_ = p.bar.Set64(done)
}

// Finish ends the current stage.
func (p *progress) Finish() {
	if p.stage == "" {
		return
	}
	took := time.Since(p.started)
	if p.bar != nil {
		_ = p.bar.Finish()
		p.bar = nil
	}
	rate := float64(p.done) / max(took.Seconds(), 1e-9)
	_, _ = fmt.Fprintf(p.out, "%s: %s %s in %s", p.stage, count(p.done, p.unit), p.unit, took.Round(time.Millisecond))
	if took > 100*time.Millisecond {
		_, _ = fmt.Fprintf(p.out, " (%s %s/s)", count(int64(rate), p.unit), p.unit)
	}
	_, _ = fmt.Fprintln(p.out)
	p.stage = ""
}

func newBar(out io.Writer, stage string, total int64, unit string) *progressbar.ProgressBar {
	options := []progressbar.Option{
		progressbar.OptionSetWriter(out),
		progressbar.OptionSetDescription(stage),
		progressbar.OptionSetWidth(24),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetItsString(unit),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(100 * time.Millisecond),
		progressbar.OptionClearOnFinish(),
	}
	if unit == "bytes" {
		options = append(options, progressbar.OptionShowBytes(true))
	}
	if total <= 0 {
		total = -1
	}
	return progressbar.NewOptions64(total, options...)
}

// count writes a number for people: bytes with a unit, else with separators.
func count(n int64, unit string) string {
	if unit == "bytes" {
		for _, step := range []struct {
			size int64
			name string
		}{{1 << 30, "Gi"}, {1 << 20, "Mi"}, {1 << 10, "Ki"}} {
			if n >= step.size {
				return fmt.Sprintf("%.1f %s", float64(n)/float64(step.size), step.name)
			}
		}
		return fmt.Sprint(n)
	}
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
