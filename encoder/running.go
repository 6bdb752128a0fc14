package encoder

import (
	"cmp"
	"fmt"
	"math"
	"runtime"

	"example.org/conclave/encoder/batcher"
	"example.org/conclave/models"
)

// Running is how a bundle is run. The zero value runs it on all cores.
type Running struct {
	// Provider is CPU (as is ""), CUDA or Auto.
	Provider string
	// Threads is how many cores one run uses; 0: all. Where that leaves cores
	// free, several runs go on at once.
	Threads int
	// Queue is how many questions may wait, and how many calls of
	// EncodePassages may be under way, before more are refused; 0: no bound.
	Queue int
	// BatchTokens bounds every run by padded tokens, and with that the memory
	// that ONNX Runtime takes; 0: no bound. The batches that are best for speed
	// are smaller on a processor; see setBatchSizes.
	BatchTokens int
	// CacheEntries is how many question vectors are remembered; 0: none. Of a
	// late expert, whose questions have a vector a token, it is as many
	// questions as long as they have 16 tokens on average, and fewer of longer
	// ones.
	CacheEntries int
	// GPU is where CUDA runs graphs.
	GPU GPU
}

// withDefaults returns the options with the defaults in the place of zero values. It fails for an unknown provider and
// negative numbers.
func (o Running) withDefaults() (Running, error) {
	switch o.Provider {
	case "":
		o.Provider = CPU
	case CPU, CUDA, Auto:
	default:
		return o, fmt.Errorf("the provider is %q; it must be %s, %s or %s", o.Provider, CPU, CUDA, Auto)
	}
	if o.GPU.Device < 0 || o.GPU.Memory < 0 {
		return o, fmt.Errorf("GPU %d with %d bytes: neither can be negative", o.GPU.Device, o.GPU.Memory)
	}
	o.Threads = cmp.Or(o.Threads, runtime.GOMAXPROCS(0))
	o.Queue = cmp.Or(o.Queue, math.MaxInt)
	o.BatchTokens = cmp.Or(o.BatchTokens, math.MaxInt)
	return o, nil
}

// setBatchSizes sets how c forms batches for a model that runs on a provider, CPU or CUDA. o must have its
// defaults.
//
// On a processor the speed per token is nearly reached with 256 tokens for each core (MiniLM-L6 on two cores, in
// tokens a millisecond, fp32 and int8: 12 tokens 7.6 and 10.7; 192 tokens 10.7 and 20.8; 384 tokens 12.3 and 26.0;
// 768 tokens 12.8 and 26.8; 4,096 tokens 10.1 and 19), so larger batches only make callers wait longer. Of 16, 32,
// 64 and 128 for what a run costs beyond its tokens, 64 answers 64 callers fastest (research/bench/encoder). Of a
// GPU these are the most: what is best there is measured when a graph is opened (measureRuns). Its runs take no
// cores from each other.
func (o Running) setBatchSizes(c *batcher.Config, provider string, m *models.Manifest) {
	if provider == CUDA {
		c.Threads, c.BatchTokens, c.PassageTokens, c.BusyTokens, c.StartTokens = 0, 16384, 32768, 4096, 512
	} else {
		c.BatchTokens = 256 * o.Threads
		c.PassageTokens = 512 * o.Threads
		c.BusyTokens = 128 * o.Threads
		c.Threads = o.Threads
		c.StartTokens = 64
	}
	c.BatchTokens = min(c.BatchTokens, o.BatchTokens)
	c.PassageTokens = min(c.PassageTokens, o.BatchTokens)
	c.BusyTokens = min(c.BusyTokens, o.BatchTokens)
	if m.Kind == models.KindSparse { // whose runs take a number for each token and word piece
		c.BatchTokens = min(c.BatchTokens, sparseTokens)
		c.PassageTokens = min(c.PassageTokens, sparseTokens)
		c.BusyTokens = min(c.BusyTokens, sparseTokens)
	}
	c.Queue = o.Queue
	c.Cache = o.CacheEntries
	c.Runs = 1
	c.CacheNumbers = c.Cache * m.Dimension()
	if m.Kind == models.KindLate || m.Kind == models.KindSparse {
		c.CacheNumbers *= usualTokens
	}
	if provider != CUDA {
		c.Runs = max(1, runtime.GOMAXPROCS(0)/o.Threads)
	}
}

// usualTokens is the mean number of tokens of a question for which a late expert's
// cache has room; most questions are shorter. Ten thousand of the longest, 62 tokens
// of 64 numbers, would take 160 MB.
const usualTokens = 16

// setSingleRows makes c form batches of one row for the towers whose rows must not be run together. Each question then
// gets its answer as soon as it is there, and cancelled ones are dropped between two rows.
func setSingleRows(c *batcher.Config, question, passage bool) {
	const oneRow = 1 // token: a sequence over the budget is a batch by itself
	if question {
		c.BatchTokens = oneRow
	}
	if passage {
		c.PassageTokens, c.BusyTokens = oneRow, oneRow
	}
}
