package documents

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math"
	"runtime/debug"
)

// ServeOptions are the bounds of a process that runs Serve.
type ServeOptions struct {
	// Cache is the folder of PDFium's compiled form, without which a process takes seconds to start.
	Cache string
	// Memory is how many bytes of memory reading a file may take beyond what the process has when it
	// starts, and beyond three times the file itself.
	Memory int64
	// Yields lets other processes of the machine be served first, as those who wait for an answer.
	Yields bool
}

// Serve reads files for another process: it answers the requests that it reads from in, until in ends.
// It is for a process of its own, which it confines before it reads anything: to some memory, and on
// Linux to the files that it has open, without the network and without other programs. What takes too
// long is stopped by ending the process.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o ServeOptions) error {
	reader := &fileParser{memory: newWASMMemory()}
	var err error
	reader.pdf, err = openPDFium(reader.memory.in(ctx), o.Cache)
	if err != nil {
		return err
	}
	bounds, err := confine(o.Memory, o.Yields)
	if err != nil {
		return err
	}
	if err := writeFrame(out); err != nil { // it is ready
		return err
	}
	debug.SetGCPercent(collectAt) // limitHeap has the last word
	// Requests are read beside the work, so that the end of in ends the process while it works, too.
	requests := make(chan *request, mostAtOnce)
	failed := make(chan error, 2)
	go func() { failed <- readRequests(in, bounds, requests) }()
	go func() {
		w := bufio.NewWriterSize(out, smallFrame)
		for r := range requests {
			a := reader.answer(ctx, r)
			a.grown = bounds.grown()
			err := writeAnswer(w, a)
			if len(requests) == 0 { // else the answers go together
				err = errors.Join(err, w.Flush())
			}
			if err != nil {
				failed <- err
				return
			}
			r.file.Data = nil
		}
	}()
	return <-failed
}

// readRequests hands on requests until their input ends.
func readRequests(in io.Reader, bounds *confinement, requests chan<- *request) error {
	r := bufio.NewReaderSize(in, smallFrame)
	for {
		length, err := readLength(r, mostRequest)
		if err == nil {
			err = bounds.allow(length)
		}
		var payload []byte
		if err == nil {
			payload, err = readPayload(r, length)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		next, err := decodeRequest(payload)
		if err != nil {
			return err
		}
		requests <- next
	}
}

// collectAt is how much the heap grows before it is collected, in percent. Reading makes much and keeps little.
const collectAt = 400

// roomFor returns how many bytes of memory a process may take beyond its start for a file.
// Files of up to a MiB have the same room, so that it is set once for most.
func roomFor(memory int64, file int) int64 {
	const step = 1 << 20
	return memory + (3*int64(file)+step-1)/step*step
}

// limitHeap lets the garbage collector work harder the nearer the heap comes to what the process may have.
func limitHeap(atStart, room int64) { debug.SetMemoryLimit(atStart + room - room/4) }

const mostRequest = math.MaxInt32
