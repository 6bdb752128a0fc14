package encoder

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/encoder/batcher"
	"example.org/conclave/models"
	"example.org/conclave/models/convert/tiny"
)

func TestGPUOptions(t *testing.T) {
	for _, c := range []struct {
		gpu  GPU
		want map[string]string
	}{
		{GPU{}, map[string]string{"device_id": "0"}},
		{GPU{Device: 3, Memory: 5 << 30}, map[string]string{"device_id": "3", "gpu_mem_limit": "5368709120"}},
	} {
		c.want["use_tf32"], c.want["arena_extend_strategy"] = "1", "kSameAsRequested"
		if got := c.gpu.providerOptions(); !maps.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.gpu, got, c.want)
		}
	}
	if _, err := (Running{GPU: GPU{Device: -1}}).withDefaults(); err == nil || !strings.Contains(err.Error(), "-1") {
		t.Errorf("GPU -1: %v", err)
	}
}

// TestEightBitsStayOnTheProcessor: of every kind of bundle, with cuda a graph in 8 bits is refused, and with auto
// the reason is told.
func TestEightBitsStayOnTheProcessor(t *testing.T) {
	r := library(t)
	for kind, o := range map[string]tiny.Expert{
		"dense": {Int8: true}, "late": {Int8: true, Late: 8},
		"reader": {Int8: true, Reader: true}, "reranker": {Int8: true, Reranker: true},
	} {
		b := bundle(t, o)
		try := func(o Running) (fallback, err error) {
			switch kind {
			case "reader":
				x, err := r.OpenReader(b, o)
				if err != nil {
					return nil, err
				}
				return x.Fallback(), x.Close()
			case "reranker":
				x, err := r.OpenReranker(b, o)
				if err != nil {
					return nil, err
				}
				return x.Fallback(), x.Close()
			}
			x, err := r.Open(b, o)
			if err != nil {
				return nil, err
			}
			return x.Fallback(), x.Close()
		}
		var eight *EightBitsError
		if _, err := try(Running{Provider: CUDA}); !errors.As(err, &eight) || eight.Name != "tiny" {
			t.Errorf("%s with cuda: %v", kind, err)
		}
		var away *CUDAError
		fallback, err := try(Running{Provider: Auto})
		if err != nil || !errors.As(fallback, &eight) && !(errors.As(fallback, &away) && r.CUDA(0) != nil) {
			t.Errorf("%s with auto: %v, %v", kind, fallback, err)
		}
	}
}

// TestCUDAErrors: what ONNX Runtime 1.31.1 said where there was a driver and no GPU, and where a library was missing.
func TestCUDAErrors(t *testing.T) {
	for said, want := range map[string]string{
		`/onnxruntime_src/x.cc:63 [ONNXRuntimeError] : 1 : FAIL : provider_options_utils.h:187 Parse Failed to parse provider ` +
			`option "device_id": CUDA failure 100: no CUDA-capable device is detected ; GPU=-1 ; hostname=vm`: "CUDA failure 100: no CUDA-capable device is detected",
		`/onnxruntime_src/y.cc:2043 [ONNXRuntimeError] : 1 : FAIL : Failed to load library /a/b.so with error: ` +
			`libcublasLt.so.13: cannot open shared object file`: "libcublasLt.so.13: cannot open shared object file",
		"something else": "something else",
	} {
		if got := (&CUDAError{Err: errors.New(said)}).Error(); !strings.Contains(got, "available: "+want+"; it needs an NVIDIA GPU") {
			t.Error(got)
		}
	}
}

// TestMeasuredRuns: sizes of runs on machines whose times are known by a formula.
func TestMeasuredRuns(t *testing.T) {
	out := errors.New("out of memory")
	for name, c := range map[string]struct {
		took                func(tokens int) time.Duration
		limit               int
		enough, within, fix int
		err                 error
	}{
		// 1 ms and 1 µs a token, in tokens a µs: 4,096 tokens run at .80, 8,192 at .89, 16,384 at .94.
		"a start": {
			took:  func(n int) time.Duration { return time.Millisecond + time.Duration(n)*time.Microsecond },
			limit: 16384, enough: 8192, within: 8192, fix: 835, // 1,512 µs at .89, less 512
		},
		// No start: the smallest is as fast as any.
		"linear": {
			took:  func(n int) time.Duration { return time.Duration(n) * 10 * time.Microsecond },
			limit: 4096, enough: 512, within: 512, fix: 1,
		},
		// Memory for 2,048 tokens.
		"little memory": {
			took: func(n int) time.Duration {
				if n > 2048 {
					return -1
				}
				return 5 * time.Millisecond
			},
			limit: 32768, enough: 2048, within: 2048, fix: 1536,
		},
		"none": {took: func(int) time.Duration { return -1 }, limit: 4096, err: out},
		"small limit": {
			took:  func(n int) time.Duration { return time.Duration(n) },
			limit: 100, enough: 100, within: 100, fix: 1,
		},
	} {
		all, err := measureSpeeds(c.limit, func(tokens int) (time.Duration, error) {
			if took := c.took(tokens); took >= 0 {
				return took, nil
			}
			return 0, out
		})
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		got := []int{smallestFast(all).tokens, largestWithin(all, 10*time.Millisecond), startOf(all)}
		if !slices.Equal(got[:2], []int{c.enough, c.within}) || got[2] < c.fix-2 || got[2] > c.fix+2 {
			t.Errorf("%s: %v of %v, want %d, %d, about %d", name, got, all, c.enough, c.within, c.fix)
		}
	}
}

// TestMeasureRuns: rows of real graphs, of every kind, within the sizes that are allowed.
func TestMeasureRuns(t *testing.T) {
	r := library(t)
	e := open(t, r, bundle(t, tiny.Expert{Late: 8}), Running{})
	x, err := r.OpenReader(bundle(t, tiny.Expert{Reader: true, Template: models.TemplateSQuAD}), Running{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = x.Close() }()
	for _, infer := range []batcher.Infer{e.model.runRows, x.session.runPairs} {
		c := batcher.Config{BatchTokens: 1024, PassageTokens: 2048, BusyTokens: 7, StartTokens: 7}
		failed := error(nil)
		measureRuns(&c, 16, 64, func(ctx context.Context, lane batcher.Lane, rows [][]int32) ([][]float32, error) {
			vectors, err := infer(ctx, lane, rows)
			failed = errors.Join(failed, err)
			return vectors, err
		})
		if failed != nil || c.BatchTokens < 512 || c.BatchTokens > 1024 || c.PassageTokens < 512 || c.PassageTokens > 2048 ||
			c.BusyTokens < 512 || c.BusyTokens > c.PassageTokens || c.StartTokens < 1 {
			t.Errorf("%+v, %v", c, failed)
		}
	}
	broken := errors.New("broken")
	c := batcher.Config{BatchTokens: 1024, PassageTokens: 2048, BusyTokens: 7, StartTokens: 7}
	measureRuns(&c, 16, 64, func(context.Context, batcher.Lane, [][]int32) ([][]float32, error) { return nil, broken })
	if c.BatchTokens != 1024 || c.PassageTokens != 2048 || c.BusyTokens != 7 {
		t.Errorf("a graph that does not run: %+v", c)
	}
}

// TestLoadLibraries: one that is there is loaded, and what is not there is named.
func TestLoadLibraries(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "libgone.so.1")
	if err := LoadLibraries(gone); err == nil || !strings.Contains(err.Error(), gone) {
		t.Errorf("one that is not there: %v", err)
	}
	if err := LoadLibraries("libm.so.6"); err != nil {
		t.Skip(err) // another system's
	}
}

// TestKeptOnTheDevice: a generator whose passages are bound once gives the answers that transformers gives.
func TestKeptOnTheDevice(t *testing.T) {
	r := library(t)
	for name, cases := range readFid(t).Checkpoints {
		for _, beams := range []int{1, fidBeams} {
			g := generator(t, r, name, beams)
			g.keeps = true
			for _, c := range cases {
				got, err := g.Answer(t.Context(), c.asking())
				want := c.GreedyScore
				if beams > 1 {
					want = c.BeamScore
				}
				if err != nil || beams == 1 && (got.Text != c.GreedyText || got.LogProbability-want > 1e-3 ||
					want-got.LogProbability > 1e-3) {
					t.Fatalf("%s, %d beams: %+v, %v, want %q of %g", name, beams, got, err, c.GreedyText, want)
				}
				g.keeps = false
				plain, err := g.Answer(t.Context(), c.asking())
				g.keeps = true
				if err != nil || plain.Text != got.Text || plain.Tokens != got.Tokens || !slices.Equal(plain.Shares, got.Shares) {
					t.Errorf("%s, %d beams: %+v with passages bound, %+v without", name, beams, got, plain)
				}
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := g.Answer(ended, cases[0].asking()); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
		}
	}
}
