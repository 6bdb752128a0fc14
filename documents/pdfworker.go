package documents

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"
)

// Worker starts a process that runs ServePDF on its standard input and output.
type Worker func() *exec.Cmd

// pdfWorkers are processes that read PDF. One that takes too long is killed, and another
// one takes its place.
type pdfWorkers struct {
	start  Worker
	limits Limits

	mu     sync.Mutex
	idle   []*pdfWorker
	closed bool
}

type pdfWorker struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// pdfAnswer is what a worker says of a file.
type pdfAnswer struct {
	Reason Reason    `json:"reason,omitempty"`
	Detail string    `json:"detail,omitempty"`
	Title  string    `json:"title,omitempty"`
	Pages  []pdfPage `json:"pages,omitempty"`
	Unread []int     `json:"unread,omitempty"` // pages, from 1, that PDFium cannot read
}

// pdfAnswerFactor is how many bytes a worker may answer for each byte of text that is read.
const pdfAnswerFactor = 16

func (p *pdfWorkers) read(ctx context.Context, data []byte) (*Document, error) {
	answer, err := p.ask(ctx, data)
	if err != nil {
		return nil, err
	}
	if answer.Reason != "" {
		return nil, unreadable(answer.Reason, nil, "%s", answer.Detail)
	}
	return layOut(answer, p.limits)
}

func (p *pdfWorkers) ask(ctx context.Context, data []byte) (*pdfAnswer, error) {
	w, err := p.take()
	if err != nil {
		return nil, err
	}
	type result struct {
		answer *pdfAnswer
		err    error
	}
	done := make(chan result, 1)
	go func() {
		answer, err := w.ask(data, int64(p.limits.TextBytes)*pdfAnswerFactor)
		done <- result{answer, err}
	}()
	timer := time.NewTimer(p.limits.Time)
	defer timer.Stop()
	var stopped error
	select {
	case got := <-done:
		if got.err == nil {
			p.put(w)
			return got.answer, nil
		}
		stopped = unreadable(Damaged, nil, "the reader of PDF ended on it")
	case <-timer.C:
		stopped = unreadable(TooSlow, nil, "reading it took longer than %v", p.limits.Time)
	case <-ctx.Done():
		stopped = ctx.Err()
	}
	w.kill()
	return nil, stopped
}

// take returns a worker that waits, or a new one.
func (p *pdfWorkers) take() (*pdfWorker, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errors.New("documents: the reader is closed")
	}
	if n := len(p.idle); n > 0 {
		w := p.idle[n-1]
		p.idle = p.idle[:n-1]
		return w, nil
	}
	if p.start == nil {
		return nil, unreadable(Unsupported, nil, "PDF is not read here")
	}
	cmd := p.start()
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the reader of PDF: %w", err)
	}
	return &pdfWorker{cmd, in, bufio.NewReader(out)}, nil
}

func (p *pdfWorkers) put(w *pdfWorker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		w.kill()
		return
	}
	p.idle = append(p.idle, w)
}

func (p *pdfWorkers) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, w := range p.idle {
		w.kill()
	}
	p.idle = nil
	return nil
}

func (w *pdfWorker) kill() {
	_ = w.cmd.Process.Kill() // it may have ended
	_ = w.cmd.Wait()
}

// ask sends a file and reads the answer, each behind its length.
func (w *pdfWorker) ask(data []byte, most int64) (*pdfAnswer, error) {
	if err := binary.Write(w.in, binary.LittleEndian, uint64(len(data))); err != nil {
		return nil, err
	}
	if _, err := w.in.Write(data); err != nil {
		return nil, err
	}
	var length uint64
	if err := binary.Read(w.out, binary.LittleEndian, &length); err != nil {
		return nil, err
	}
	if length > uint64(most) {
		return nil, fmt.Errorf("an answer of %d bytes", length)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(w.out, text); err != nil {
		return nil, err
	}
	var answer pdfAnswer
	return &answer, json.Unmarshal(text, &answer)
}
