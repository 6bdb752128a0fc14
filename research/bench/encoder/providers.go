package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"example.org/conclave/encoder"
	"example.org/conclave/internal/provision"
	"example.org/conclave/models"
	"example.org/conclave/research/bench/words"
)

// rate is the speed of a bundle on one provider.
type rate struct {
	Model     string  `json:"model"`
	Precision string  `json:"precision"`
	Provider  string  `json:"provider"`
	Together  float64 `json:"qps"` // of concurrent callers, questions a second
	Alone     float64 `json:"alone_ms"`
	Why       string  `json:"why,omitempty"` // it does not run there
}

// measureProviders measures bundles on each of the providers, on one machine and with one library, and prints a
// table. A bundle that does not run on a provider has the reason in its rate. It uses the library for GPUs if that is
// installed. It fails if a bundle or the library cannot be loaded.
func (m *measurement) measureProviders(ctx context.Context, bundles, providers []string) (all []rate, err error) {
	cache, err := provision.DefaultCache()
	if err != nil {
		return nil, err
	}
	library := cache.Library()
	if gpu, err := cache.VerifyRuntime(encoder.CUDA); err == nil {
		library = gpu // which runs graphs on the processor, too
		paths, _ := cache.CUDALibraries()
		if err := encoder.LoadLibraries(paths...); err != nil {
			return nil, err
		}
	}
	r, err := encoder.OpenRuntime(library)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	fmt.Printf("%-12s %-10s %-9s %20s %12s\n", "model", "precision", "on", fmt.Sprintf("%d callers, q/s", m.callers), "alone, ms")
	for _, name := range bundles {
		b, err := load(cache, name)
		if err != nil {
			return nil, err
		}
		for _, provider := range providers {
			x := m.measureOn(ctx, r, b, provider)
			all = append(all, x)
			if x.Why != "" {
				fmt.Printf("%-12s %-10s %-9s %s\n", name, x.Precision, provider, x.Why)
				continue
			}
			fmt.Printf("%-12s %-10s %-9s %20.0f %12.3f\n", name, x.Precision, provider, x.Together, x.Alone)
		}
	}
	return all, nil
}

// measureOn returns the speed of one bundle on one provider: the median rate of m.rounds rounds, and the mean of the
// least milliseconds of single questions. If it does not run there, Why has the reason.
func (m *measurement) measureOn(ctx context.Context, r *encoder.Runtime, b *models.Bundle, provider string) rate {
	x := rate{Model: b.Manifest.Name, Precision: b.Manifest.Precision, Provider: provider}
	e, err := r.Open(b, encoder.Running{Provider: provider, Threads: m.threads, Queue: 2 * m.callers})
	if err != nil {
		x.Why, _, _ = strings.Cut(err.Error(), "\n")
		return x
	}
	defer func() { _ = e.Close() }()
	alone := m.texts[:min(200, len(m.texts))]
	least := newBest(len(alone))
	var rates []float64
	for range m.rounds {
		seconds, err := m.timeTogether(ctx, e)
		if err == nil {
			var took []float64
			took, err = oneByOne(ctx, e, alone)
			least.keep(took)
		}
		if err != nil {
			x.Why = err.Error()
			return x
		}
		rates = append(rates, float64(len(m.texts))/seconds)
	}
	x.Together = words.Median(rates)
	x.Alone = 1e3 * least.mean()
	return x
}
