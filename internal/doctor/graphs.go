package doctor

import (
	"errors"
	"fmt"
	"slices"

	"example.org/conclave/configs"
	"example.org/conclave/encoder"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/provision"
	"example.org/conclave/models"
	"example.org/conclave/shipped"
)

// examineRuntime opens the runtime and returns it with the findings about it and about CUDA. The runtime, which the
// caller closes, is nil if it cannot be opened.
func examineRuntime(config configs.Config, cache provision.Cache) (*encoder.Runtime, []Finding) {
	const what = "ONNX Runtime"
	library, err := experts.RuntimeLibrary(config, cache)
	if err != nil {
		return nil, append([]Finding{failedFinding(what, err)}, examineCUDA(config, cache, nil)...)
	}
	ort, err := experts.OpenRuntime(config, cache)
	if err != nil {
		return nil, append([]Finding{failedFinding(what, err)}, examineCUDA(config, cache, nil)...)
	}
	found := Finding{What: what, Status: StatusOK, Detail: fmt.Sprintf("%s, %s", ort.Version(), library)}
	return ort, append([]Finding{found}, examineCUDA(config, cache, ort)...)
}

// examineCUDA returns whether models can run on a GPU and, if the configuration asks for that, what is missing: the
// driver, or the packages of libraries that setup fetches. Each cause is told once. ort is nil if the runtime cannot be
// loaded.
func examineCUDA(config configs.Config, cache provision.Cache, ort *encoder.Runtime) (out []Finding) {
	asked := experts.StrongestProvider(config)
	add := func(what, detail string, err error) {
		f := Finding{What: what, Status: StatusOK, Detail: detail}
		if err != nil {
			f = failedFinding(what, err)
			if asked != encoder.CUDA {
				f.Status = StatusNote
			}
		}
		out = append(out, f)
	}
	var noDriver error
	if asked != encoder.CPU {
		noDriver = encoder.Driver()
		add("CUDA driver", "there", noDriver)
		paths, missing := cache.CUDALibraries()
		switch len(missing) {
		case 0:
			add("CUDA libraries", fmt.Sprintf("%d of CUDA %s in the cache", len(paths), provision.CUDAVersion), nil)
		case 1:
			add("CUDA libraries", "", missing[0])
		default:
			add("CUDA libraries", "", fmt.Errorf("%w; and %d other packages", missing[0], len(missing)-1))
		}
	}
	if ort == nil || noDriver != nil {
		return out
	}
	err := ort.CUDA(config.Encoder.Device)
	if err != nil {
		err = fmt.Errorf("not here: %w", err)
	}
	add("CUDA", fmt.Sprintf("works; graphs run on GPU %d", config.Encoder.Device), err)
	return out
}

// readersAndRerankers returns the names of the bundles of readers and rerankers that a server would load.
func readersAndRerankers(config configs.Config, cache provision.Cache) []string {
	names := slices.Clone(config.Readers)
	for _, r := range config.Rerankers {
		if r.Address == "" {
			names = append(names, r.Name)
		}
	}
	if len(config.Readers) == 0 {
		if shipped.Installed(cache, shipped.Reader) {
			names = append(names, shipped.Reader)
		}
	}
	return names
}

// examineBundle returns a finding on the named bundle: it loads the bundle and, if ort is not nil, opens its models as
// a server would and closes them again. Detail says where they run. A bundle that is missing, is damaged or does not
// open is a failed finding; a model that runs elsewhere than configured, or is not tried, is a note.
func examineBundle(config configs.Config, cache provision.Cache, ort *encoder.Runtime, name string) Finding {
	what := "bundle " + name
	bundle, err := shipped.Load(config, cache, name)
	if err != nil {
		return failedFinding(what, err)
	}
	f := Finding{
		What:   what,
		Status: StatusOK,
		Detail: fmt.Sprintf(
			"%s, %d files, %s, fingerprint %.12s", bundle.Manifest.KindInWords(), len(bundle.Manifest.Files),
			bundle.Manifest.Precision, bundle.Fingerprint(models.Passage),
		),
	}
	if ort == nil {
		f.Status = StatusNote
		f.Detail += "; not tried, since there is no runtime"
		return f
	}
	found, err := experts.Find(config, cache, ort, name)
	if err != nil {
		return failedFinding(what, err)
	}
	runs, err := tryBundle(ort, found)
	if err != nil {
		return failedFinding(what, err)
	}
	if original := found.Bundle.StandsFor(); original != nil {
		runs.as += fmt.Sprintf(", in %s in the place of %s", found.Bundle.Manifest.Precision, original.Manifest.Precision)
	}
	f.Detail += "; " + runs.as
	var away *encoder.CUDAError // which a finding of its own tells
	if runs.fallback != nil && !errors.As(runs.fallback, &away) {
		f.Status = StatusNote
		f.Detail += fmt.Sprintf(", since %v", runs.fallback)
		f.Err = runs.fallback
	}
	return f
}

// modelPlacement is where the model of a bundle runs.
type modelPlacement struct {
	as       string // in words
	fallback error  // why not with CUDA
}

// tryBundle opens a bundle of any kind, closes it again, and returns where it ran. The error says why it does not
// open.
func tryBundle(ort *encoder.Runtime, o encoder.Opening) (modelPlacement, error) {
	m := &o.Bundle.Manifest
	var opened interface {
		Close() error
		Provider() string
	}
	var err error
	says := ""
	switch {
	case m.Head != nil:
		says = "a head on the question vectors of " + m.Base.Name + "; "
		opened, err = ort.OpenHead(o.Bundle)
	case m.Generator != nil:
		opened, err = ort.OpenGenerator(o.Bundle, o.Running)
	case m.Kind == models.KindReader:
		opened, err = ort.OpenReader(o.Bundle, o.Running)
	case m.Kind == models.KindReranker:
		says = fmt.Sprintf("reads questions and passages of together %d tokens; ", m.Reranker.Tokens)
		opened, err = ort.OpenReranker(o.Bundle, o.Running)
	default:
		says = "tokenizer as the reference; "
		opened, err = openEncoder(ort, o)
	}
	if err != nil {
		return modelPlacement{}, err
	}
	defer func() { _ = opened.Close() }()
	p := modelPlacement{as: says + "runs on " + opened.Provider()}
	if f, ok := opened.(interface{ Fallback() error }); ok {
		p.fallback = f.Fallback()
	}
	return p, nil
}

// openEncoder opens an expert and tests its tokenizer and, if it stands in for a bundle in 8 bits, its vectors. The
// caller closes the encoder, before ort. It fails if opening or one of the tests does; the encoder is closed then, and
// the result is nil.
func openEncoder(ort *encoder.Runtime, o encoder.Opening) (*encoder.Encoder, error) {
	e, err := ort.Open(o.Bundle, o.Running)
	if err != nil {
		return nil, err
	}
	if wrong := e.SelfTest(); wrong != nil {
		err = fmt.Errorf("its tokenizer, by a mistake in conclave that should be reported: %w", wrong)
	}
	if err == nil {
		err = experts.CheckStandIn(ort, o, e)
	}
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}
