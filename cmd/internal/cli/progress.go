package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// Progress shows on the terminal how far long work is, with rate and time left. If out is not a terminal, it prints
// such a line now and then, and one when a stage ends, so that a log stays readable. conclave-train prints the same
// lines. Its methods may be called by several goroutines at once. Errors of writing are ignored.
type Progress struct {
	mu       sync.Mutex // work may report from several goroutines
	out      io.Writer
	terminal bool
	stage    string
	unit     string
	done     int64
	started  time.Time
	drawn    time.Time // zero: there is no line to clear
	logged   time.Time // the last line of a log
}

// NewProgress returns a progress bar on out, which shows nothing yet. If out is not a terminal, it prints lines now and
// then and at the end of each stage.
func NewProgress(out io.Writer) *Progress { return &Progress{out: out, terminal: isTerminal(out)} }

// Report shows that done of total units of a stage are done. The first call with another stage ends the stage before. A
// total of 0 or less stands for an unknown total.
func (p *Progress) Report(stage string, done, total int64, unit string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if stage != p.stage {
		p.finish()
		p.stage = stage
		p.started = time.Now()
		p.logged = p.started
	}
	p.done = done
	p.unit = unit
	if now := time.Now(); p.terminal && (done == total || now.Sub(p.drawn) >= drawEvery) {
		p.drawn = now
		_, _ = fmt.Fprint(p.out, clearLine, Cut(p.describe(total, now.Sub(p.started)), Columns(p.out)-1))
	} else if !p.terminal && now.Sub(p.logged) >= logEvery {
		p.logged = now
		_, _ = fmt.Fprintln(p.out, p.describe(total, now.Sub(p.started)))
	}
}

// Counting returns a function that calls Report for one stage and unit, for work that reports only numbers.
func (p *Progress) Counting(stage, unit string) func(done, total int) {
	return func(done, total int) { p.Report(stage, int64(done), int64(total), unit) }
}

// clearLine empties the line of a terminal and goes to its beginning.
const clearLine = "\r\x1b[K"

// clearLine removes the progress line from the terminal, if one is drawn. The caller must hold p.mu.
func (p *Progress) clearLine() {
	if !p.drawn.IsZero() {
		_, _ = io.WriteString(p.out, clearLine)
		p.drawn = time.Time{}
	}
}

// Say prints a line. On a terminal it removes the progress line, which the next Report draws again below.
func (p *Progress) Say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clearLine()
	_, _ = fmt.Fprintf(p.out, format+"\n", args...)
}

// drawEvery is how often the line is drawn at most.
const drawEvery = 100 * time.Millisecond

// logEvery is how often a log gets a line.
const logEvery = 30 * time.Second

// settled is how long a stage has to last before its rate means something.
const settled = 500 * time.Millisecond

// describe returns how far the stage is after the time took: "encoding base 256 of 1,500 passages, 77/s, 16s left". The
// total is left out if it is 0 or less, and the rate in the first settled. The caller must hold p.mu.
func (p *Progress) describe(total int64, took time.Duration) string {
	text := p.stage + "  " + Count(p.done, p.unit)
	if total > 0 {
		text += " of " + Count(total, p.unit)
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

// Finish ends the current stage and prints how much was done in what time. It does nothing if no stage has begun.
func (p *Progress) Finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finish()
}

// finish ends the current stage, if there is one, with a line on what was done and how long it took. The caller must
// hold p.mu.
func (p *Progress) finish() {
	if p.stage == "" {
		return
	}
	took := time.Since(p.started)
	p.clearLine()
	done := Count(p.done, p.unit)
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

// perSecond returns a rate as text, such as "77/s"; rates below 10 have one decimal, and bytes a unit, as in "1.5
// MiB/s".
func perSecond(rate float64, unit string) string {
	if unit != "bytes" && rate < 10 {
		return fmt.Sprintf("%.1f/s", rate)
	}
	return Count(int64(rate), unit) + "/s"
}

// isTerminal reports whether out is a terminal.
func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
