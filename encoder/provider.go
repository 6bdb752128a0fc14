package encoder

import (
	"errors"

	ort "github.com/yalue/onnxruntime_go"
)

// target is where sessions run, and how.
type target struct {
	provider string // CPU or CUDA
	threads  int
	gpu      GPU // for CUDA
}

// sessionOptions returns the options of a session for t. The caller destroys them. It fails if CUDA is wanted and not
// available.
func (t target) sessionOptions() (*ort.SessionOptions, error) {
	o, err := ort.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		o.SetIntraOpNumThreads(t.threads),
		o.SetInterOpNumThreads(1),
		o.SetExecutionMode(ort.ExecutionModeSequential),
		o.SetGraphOptimizationLevel(ort.GraphOptimizationLevelEnableAll),
		// A pattern is kept for every shape seen, and batches come in
		// thousands of shapes.
		o.SetMemPattern(false),
		// Threads that wait for work spin, by default for a millisecond, also
		// when a run is over. On cores that other work needs meanwhile
		// (another expert's session, an index), that doubles the time of
		// everything. 50 µs bridge the gaps between the operators of a run,
		// and a lone run is as fast as with the default.
		o.AddSessionConfigEntry("session.intra_op.spin_duration_us", "50"),
	)
	if err == nil && t.provider == CUDA {
		err = t.gpu.appendTo(o)
	}
	if err != nil {
		_ = o.Destroy()
		return nil, err
	}
	return o, nil
}

// openWithFallback calls open for the wanted provider and returns the provider that was used. With Auto it tries
// CUDA first; if that fails, it uses the processor, and fallback is the reason. precision and name are those of the
// bundle: a graph in 8 bits does not run with CUDA. The error is that of the last try.
func (o Running) openWithFallback(
	precision, name string, open func(target) error,
) (provider string, fallback, err error) {
	if o.Provider != CPU {
		if o.Provider == Auto {
			err = o.GPU.checkAvailable()
		}
		if err == nil {
			err = runsOnCUDA(precision, name)
		}
		if err == nil {
			err = open(target{provider: CUDA, threads: o.Threads, gpu: o.GPU})
		}
		if err == nil || o.Provider == CUDA {
			return CUDA, nil, err
		}
		fallback = err
	}
	return CPU, fallback, open(target{provider: CPU, threads: o.Threads})
}
