package documents

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"sync"
	"time"
)

// worker is a process that runs Serve, which reads files for this one.
type worker struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *firstBytes // on its standard error
	memory *memoryBound
	expiry *time.Timer // ends it after it was idle for a while; nil: it was never idle
	ending sync.Once
}

// startWithin is how long a new process may take until it is ready for its first request. The first one on a machine
// compiles what reads PDF, which takes five seconds of a processor, and others may leave it little of one.
const startWithin = 3 * time.Minute

// startWorker starts a process, without an environment unless the command has one, and does not wait until it is
// ready for requests: await does that. The caller kills it in the end. The error says why it did not start.
func startWorker(start Worker) (*worker, error) {
	cmd := start()
	if cmd.Env == nil {
		cmd.Env = []string{} // not this process's
	}
	w := &worker{cmd: cmd, stderr: &firstBytes{most: 4 << 10}}
	cmd.Stderr = w.stderr
	cmd.SysProcAttr = apart()
	var err error
	w.in, err = cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the reader of files: %w", err)
	}
	w.out = bufio.NewReaderSize(out, smallFrame)
	return w, nil
}

// await waits until a new process is ready for requests, and bounds its memory. If that fails or takes longer than
// startWithin, it kills the process and returns an error with what the process wrote to its standard error; if ctx ends
// first, ctx's error.
func (w *worker) await(ctx context.Context) error {
	_, err := w.within(ctx, startWithin, func() (*answer, error) {
		ready, err := readFrame(w.out, 8)
		if err != nil {
			return nil, err
		}
		memory := int64(0)
		if len(ready) == 8 {
			memory = int64(binary.LittleEndian.Uint64(ready)) // ServeOptions.Memory
		}
		w.memory, err = boundMemory(w.cmd.Process.Pid, memory)
		return nil, err
	})
	if err == nil || ctx.Err() != nil {
		return err
	}
	w.kill()
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the reader of files was not ready %v after its start; it needs some seconds of a processor: %.300s",
			startWithin, w.stderr.b)
	}
	return fmt.Errorf("start the reader of files: %w: %.300s", err, w.stderr.b)
}

// ask sends a request and waits for the answer. The error is ctx's, or an *UnreadableError: TooSlow beyond
// Limits.Time, TooLarge if the process ran out of memory, Damaged if it ended otherwise. After an error the process
// has been killed and cannot be used again.
func (w *worker) ask(ctx context.Context, r *request) (*answer, error) {
	a, err := w.within(ctx, r.limits.Time, func() (*answer, error) {
		if err := w.memory.allow(r.size()); err != nil {
			return nil, err
		}
		if err := writeRequest(w.in, r); err != nil {
			return nil, err
		}
		payload, err := readFrame(w.out, mostAnswer(r))
		if err != nil {
			return nil, err
		}
		return decodeAnswer(payload)
	})
	switch {
	case err == nil || ctx.Err() != nil:
		return a, err
	case errors.Is(err, context.DeadlineExceeded):
		return nil, unreadable(TooSlow, nil, "reading it took longer than %v", r.limits.Time)
	}
	w.kill()
	if w.stderr.tellsOfMemory() {
		return nil, unreadable(TooLarge, nil, "reading it takes more memory than the reader of a file may have")
	}
	return nil, unreadable(Damaged, nil, "the reader ended on it")
}

// mostAtOnce is the largest number of requests that a process is sent before its answers are read.
const mostAtOnce = 32

// askMany sends requests, at least one and at most mostAtOnce, and returns their answers in the same order. All of them
// together have the Limits.Time of the first. An error does not tell which file caused it; the process cannot be used
// again, and the caller kills it.
func (w *worker) askMany(ctx context.Context, requests []*request) ([]*answer, error) {
	answers := make([]*answer, len(requests))
	_, err := w.within(ctx, requests[0].limits.Time, func() (*answer, error) {
		var frames bytes.Buffer
		largest := slices.MaxFunc(requests, func(a, b *request) int { return a.size() - b.size() })
		if err := w.memory.allow(largest.size()); err != nil {
			return nil, err
		}
		for _, r := range requests {
			if err := writeRequest(&frames, r); err != nil {
				return nil, err
			}
		}
		if _, err := w.in.Write(frames.Bytes()); err != nil {
			return nil, err
		}
		for i, r := range requests {
			payload, err := readFrame(w.out, mostAnswer(r))
			if err != nil {
				return nil, err
			}
			answers[i], err = decodeAnswer(payload)
			if err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	return answers, err
}

// mostAnswer returns the largest size in bytes of the answer to a request. It covers the text, the blocks and the files
// inside.
func mostAnswer(r *request) int {
	l := r.limits
	return 1<<20 + 8*l.TextBytes + 128*l.Blocks + int(l.FileBytes) + 2*unpackAtOnce
}

// within runs do in this goroutine, and kills the process if the time limit or ctx ends first, which makes do fail.
// It then returns context.DeadlineExceeded or ctx's error, otherwise the results of do.
func (w *worker) within(ctx context.Context, limit time.Duration, do func() (*answer, error)) (*answer, error) {
	late := time.AfterFunc(limit, w.kill)
	gone := context.AfterFunc(ctx, w.kill)
	a, err := do()
	inTime := late.Stop()
	stayed := gone()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !inTime:
		return nil, context.DeadlineExceeded
	case !stayed: // cannot be: ctx has not ended
		return nil, context.Canceled
	}
	return a, err
}

// kill ends the process and all processes that it started, and waits for its end. It may be called several times
// and concurrently.
func (w *worker) kill() {
	w.ending.Do(func() {
		killGroup(w.cmd.Process)
		_ = w.in.Close()
		_ = w.cmd.Wait() // it was killed
	})
}

// firstBytes is a writer that keeps the first `most` bytes that are written to it and drops the others.
type firstBytes struct {
	b    []byte
	most int
}

// Write keeps the bytes that still fit. It always returns len(b) and no error.
func (f *firstBytes) Write(b []byte) (int, error) {
	f.b = append(f.b, b[:min(len(b), f.most-len(f.b))]...)
	return len(b), nil
}

// tellsOfMemory reports whether the kept output of a process is an error message about missing memory.
func (f *firstBytes) tellsOfMemory() bool {
	for _, sign := range []string{"out of memory", "annot allocate memory", "pthread_create failed"} {
		if bytes.Contains(f.b, []byte(sign)) {
			return true
		}
	}
	return false
}
