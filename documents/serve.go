package documents

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"runtime/debug"
)

// ServeOptions configure Serve.
type ServeOptions struct {
	// Cache is the folder with PDFium's compiled form (CompilePDFium). Without it a process takes seconds to start.
	Cache string
	// Memory is how many bytes of memory reading a file may take, in addition to those at the start of the process and
	// to three times the size of the file.
	Memory int64
	// Yields lowers the priority of the process, so that searches are answered first.
	Yields bool
}

// Serve answers requests to read files, for a Pool in another process: it reads them from in and writes answers to
// out, in the same order. It returns nil when in ends, and an error if PDFium does not start, the process cannot be
// confined or a message is damaged. Call it in a process of its own, as it confines that process for good: to some
// memory and, on Linux, to the files that are open, without network and other programs. Goroutines that it starts
// go on until the process ends. Serve has no time limit; the Pool kills a process that takes too long.
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
	ready := binary.LittleEndian.AppendUint64(nil, uint64(o.Memory))
	if err := writeFrame(out, ready); err != nil {
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

// readRequests passes the requests of an input on to a channel, which it does not close, and allows memory for
// each. It blocks while the channel is full. It returns nil when the input ends, and an error if a request is
// damaged.
func readRequests(in io.Reader, bounds *confinement, requests chan<- *request) error {
	r := bufio.NewReaderSize(in, smallFrame)
	for {
		length, err := readLength(r, mostRequest)
		var payload []byte
		if err == nil {
			bounds.allow(length)
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

// collectAt is the garbage collector's target in percent (SetGCPercent): reading a file allocates much and keeps
// little.
const collectAt = 400

// roomFor returns how many bytes of memory a process may take for a file, in addition to those at its start: `memory`
// and three times the file, rounded up to a MiB.
func roomFor(memory int64, file int) int64 {
	const step = 1 << 20
	return memory + (3*int64(file)+step-1)/step*step
}

// limitHeap makes the garbage collector run more often when the heap comes near atStart + room, the bytes that the
// process may have.
func limitHeap(atStart, room int64) { debug.SetMemoryLimit(atStart + room - room/4) }

const mostRequest = math.MaxInt32
