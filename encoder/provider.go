package encoder

import (
	"errors"
	"fmt"

	ort "github.com/yalue/onnxruntime_go"
)

// target is where sessions run, and how.
type target struct {
	provider string // CPU or CUDA
	threads  int
}

// options returns the session options for t. The caller destroys them.
func (t target) options() (*ort.SessionOptions, error) {
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
		err = appendCUDA(o)
	}
	if err != nil {
		_ = o.Destroy()
		return nil, err
	}
	return o, nil
}

func appendCUDA(o *ort.SessionOptions) error {
	cuda, err := ort.NewCUDAProviderOptions()
	if err == nil {
		defer func() { _ = cuda.Destroy() }()
		err = o.AppendExecutionProviderCUDA(cuda)
	}
	if err != nil {
		return fmt.Errorf(
			"the provider cuda is not available: %w; it needs an NVIDIA GPU with its driver, CUDA and cuDNN, and the library of the PyPI package onnxruntime-gpu",
			err,
		)
	}
	return nil
}
