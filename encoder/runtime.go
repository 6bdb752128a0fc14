// Package encoder turns text into vectors: tokenizer, batching queue, ONNX
// Runtime session. It is the only package with cgo.
//
// A Runtime is the ONNX Runtime library, loaded once; it opens an Encoder for
// each bundle. An Encoder has a question side and a passage side, which are
// one model or two; whatever goes through them shares one queue
// (encoder/batcher), and text becomes token ids in encoder/wordpiece.
package encoder

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"

	ort "github.com/yalue/onnxruntime_go"

	"example.org/conclave/encoder/batcher"
)

// The execution providers that Running.Provider may name.
const (
	CPU  = "cpu"
	CUDA = "cuda"
	Auto = "auto" // cuda where it works, else cpu
)

// Runtime is a loaded ONNX Runtime library. It is safe for concurrent use.
type Runtime struct {
	version    string
	machine    *batcher.Machine // shared by all encoders
	tokenizers tokenizers       // likewise

	mu     sync.Mutex
	open   int // encoders not closed yet
	closed bool
}

// RuntimeError says that the library cannot be loaded.
type RuntimeError struct {
	Path string
	Err  error
}

// Error says which file could not be loaded, and why.
func (e *RuntimeError) Error() string {
	return fmt.Sprintf("loading ONNX Runtime from %s: %v", e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *RuntimeError) Unwrap() error { return e.Err }

// OpenRuntime loads the library at path, libonnxruntime of version 1.24 or newer. A process has one: a second call
// before Close fails. A library that is too old is an error, too; another failure to load is a *RuntimeError. The
// caller closes it, after all that it opens.
func OpenRuntime(path string) (*Runtime, error) {
	if ort.IsInitialized() {
		return nil, errors.New("ONNX Runtime is loaded already; a process can load it once")
	}
	defer keepSignalHandlers()()
	ort.SetSharedLibraryPath(path)
	if err := ort.InitializeEnvironment(ort.WithLogLevelError()); err != nil {
		if strings.Contains(err.Error(), "setting ORT API base") {
			return nil, fmt.Errorf("ONNX Runtime at %s is older than version 1.24, the oldest that works: %w", path, err)
		}
		return nil, &RuntimeError{Path: path, Err: err}
	}
	return &Runtime{version: ort.GetVersion(), machine: batcher.NewMachine(runtime.GOMAXPROCS(0))}, nil
}

// Version returns the library's version, such as 1.31.1.
func (r *Runtime) Version() string { return r.version }

// CUDA returns nil if the library and this machine can run graphs on the NVIDIA GPU with a number, otherwise why they
// cannot. It loads CUDA's libraries if they are there.
func (r *Runtime) CUDA(device int) error {
	return GPU{Device: device}.checkAvailable()
}

// Close unloads the library. It fails, and changes nothing, while an encoder is open. A second call returns nil.
func (r *Runtime) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	if r.open > 0 {
		return fmt.Errorf("ONNX Runtime cannot be unloaded: %d encoders are open", r.open)
	}
	r.closed = true
	return ort.DestroyEnvironment()
}

// checkOpen counts one more open encoder. It fails after Close.
func (r *Runtime) checkOpen() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errors.New("ONNX Runtime has been closed")
	}
	r.open++
	return nil
}

// encoderClosed counts one open encoder less.
func (r *Runtime) encoderClosed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open--
}
