package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows long work on the terminal: one bar a stage, with rate and time
// left. Where standard error is not a terminal it prints one line when a stage
// ends, so that a log stays readable.
type progress struct {
	mu      sync.Mutex // work may report from several goroutines
	out     io.Writer
	bar     *progressbar.ProgressBar
	stage   string
	unit    string
	done    int64
	started time.Time
	drawn   time.Time
}

func newProgress(out io.Writer) *progress { return &progress{out: out} }

// Report moves the bar of a stage; a new stage ends the one before. A total of
// 0 or less means that nobody knows how much there is.
func (p *progress) Report(stage string, done, total int64, unit string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if stage != p.stage {
		p.finish()
		p.stage, p.unit, p.started, p.drawn = stage, unit, time.Now(), time.Time{}
		if isTerminal(p.out) {
			p.bar = newBar(p.out, stage, total)
		}
	}
	p.done = done
	if p.bar == nil {
		return
	}
	if total > 0 && p.bar.GetMax64() != total {
		p.bar.ChangeMax64(total)
	}
	if now := time.Now(); done == total || now.Sub(p.drawn) >= drawEvery {
		p.drawn = now
		_ = p.bar.Set64(done)
		p.bar.Describe(p.describe(total, now.Sub(p.started)))
	}
}

// Say prints a line beside the bar.
func (p *progress) Say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	_, _ = fmt.Fprintf(p.out, format+"\n", args...)
}

// drawEvery is how often the bar is drawn at most.
const drawEvery = 100 * time.Millisecond

// settled is how long a stage has to last before its rate means something.
const settled = 500 * time.Millisecond

// describe says how far the stage is: "encoding base  256 of 1,500 passages,
// 77/s, 16s left".
func (p *progress) describe(total int64, took time.Duration) string {
	text := p.stage + "  " + count(p.done, p.unit)
	if total > 0 {
		text += " of " + count(total, p.unit)
	}
	if p.unit != "bytes" {
		text += " " + p.unit
	}
	if took < settled || p.done == 0 {
		return text
	}
	rate := float64(p.done) / took.Seconds()
	text += ", " + perSecond(rate, p.unit)
	if total > p.done {
		left := time.Duration(float64(total-p.done) / rate * float64(time.Second))
		text += ", " + left.Round(time.Second).String() + " left"
	}
	return text
}

// Finish ends the current stage.
func (p *progress) Finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finish()
}

func (p *progress) finish() {
	if p.stage == "" {
		return
	}
	took := time.Since(p.started)
	if p.bar != nil {
		_ = p.bar.Finish()
		p.bar = nil
	}
	done := count(p.done, p.unit)
	if p.unit != "bytes" {
		done += " " + p.unit
	}
	_, _ = fmt.Fprintf(p.out, "%s: %s in %s", p.stage, done, took.Round(time.Millisecond))
	if took > settled {
		_, _ = fmt.Fprintf(p.out, " (%s)", perSecond(float64(p.done)/took.Seconds(), p.unit))
	}
	_, _ = fmt.Fprintln(p.out)
	p.stage = ""
}

// newBar draws the bar and the percentage; what stands beside them is
// describe's, since the library mixes kB with KiB and counts slow things by
// the hour.
func newBar(out io.Writer, stage string, total int64) *progressbar.ProgressBar {
	width := 24
	if file, ok := out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns < 100 {
			width = 10
		}
	}
	if total <= 0 {
		total = -1
	}
	return progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(out),
		progressbar.OptionSetDescription(stage),
		progressbar.OptionSetWidth(width),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionClearOnFinish(),
	)
}

// count writes a number for people: bytes with their unit, else with
// separators.
func count(n int64, unit string) string {
	if unit == "bytes" {
		for _, step := range []struct {
			size int64
			name string
		}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
			if n >= step.size {
				return fmt.Sprintf("%.1f %s", float64(n)/float64(step.size), step.name)
			}
		}
		return fmt.Sprintf("%d bytes", n)
	}
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// perSecond writes a rate; slow ones keep a decimal.
func perSecond(rate float64, unit string) string {
	if unit != "bytes" && rate < 10 {
		return fmt.Sprintf("%.1f/s", rate)
	}
	return count(int64(rate), unit) + "/s"
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
