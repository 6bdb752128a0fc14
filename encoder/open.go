package encoder

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"

	"example.org/conclave/models"

	"golang.org/x/sync/errgroup"
)

// Opening is a bundle to open, and how to run it. Its files are taken as
// models.Load has verified them.
type Opening struct {
	Bundle  *models.Bundle
	Running Running
}

// Open loads the tokenizer and the graphs of a bundle, and tries each graph on a text. It fails if one of these does.
// The caller closes the encoder, before the runtime.
func (r *Runtime) Open(b *models.Bundle, o Running) (*Encoder, error) {
	encoders, errs := r.OpenAll([]Opening{{b, o}})
	return encoders[0], errs[0]
}

// OpenAll loads the tokenizers and graphs of bundles, side by side, and tries each graph on a text. It returns an
// encoder or an error for each, in their order; the other is nil. The caller closes the encoders, before the
// runtime.
//
// A late expert may leave its base's layers as they are. Its graph then gives the base's vector too
// (models.Graph.Pooled), and one run serves both. This is so for two bundles that are opened with the same Running
// and give the same vectors for some texts. The late encoder carries the other (see Encoder.Carried), whose graph
// leaves the memory. What both need is freed when both are closed.
func (r *Runtime) OpenAll(all []Opening) ([]*Encoder, []error) {
	encoders, errs := make([]*Encoder, len(all)), make([]error, len(all))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0)) // one thread makes a session
	for i, a := range all {
		group.Go(func() error {
			encoders[i], errs[i] = r.loadBundle(a.Bundle, a.Running)
			return nil
		})
	}
	_ = group.Wait()
	for i, late := range encoders {
		for _, dense := range encoders {
			if late == nil || dense == nil || !late.couldCarry(dense) {
				continue
			}
			if err := late.shareModel(dense); err != nil {
				errs[i] = errors.Join(
					fmt.Errorf("trying whether %s and %s can share an encoder's runs: %w", dense.Name(), late.Name(), err),
					late.closeLoaded(),
				)
				encoders[i] = nil
				break
			}
		}
	}
	for _, e := range encoders {
		if e != nil && e.model.batcher == nil {
			e.model.startQueue(r.machine)
		}
	}
	return encoders, errs
}

// loadBundle opens a bundle without starting its queue. It fails for a bundle that gives no vectors, if a file does
// not work and if the runtime is closed. After an error nothing is loaded.
func (r *Runtime) loadBundle(b *models.Bundle, o Running) (e *Encoder, err error) {
	switch m := &b.Manifest; {
	case m.Head != nil:
		return nil, fmt.Errorf("%s changes the vectors of %s: it has none of its own to search", m.Name, m.Base.Name)
	case m.Vectors == nil:
		return nil, fmt.Errorf("%s is %s, which makes no vectors: it cannot search", m.Name, m.KindInWords())
	}
	if err := r.checkOpen(); err != nil {
		return nil, err
	}
	e = &Encoder{runtime: r, bundle: b}
	o, err = o.withDefaults()
	if err == nil {
		e.tokenizer, err = r.tokenizers.loadTokenizer(b)
	}
	if err == nil {
		e.model, err = openModel(b, e.tokenizer, o)
		if err != nil {
			e.model = nil
		}
	}
	if err == nil && b.Manifest.Vectors.QuestionWeights != "" {
		e.table, err = readQuestionWeights(b)
	}
	if x := b.Manifest.Vectors.Ensemble; err == nil && x != nil {
		e.ensemble, err = openEnsemble(b.Path(x.File), x.Members, b.Manifest.Dimension())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the expert %s: %w", b.Manifest.Name, err), e.closeLoaded())
	}
	return e, nil
}

// closeLoaded frees the model and the ensemble, if they were loaded, and counts one open encoder less in the runtime.
// Call it once. A model that another encoder shares stays loaded. It does all of this even if freeing fails.
func (e *Encoder) closeLoaded() (err error) {
	if e.model != nil {
		err = e.model.release()
	}
	if e.ensemble != nil {
		err = errors.Join(err, e.ensemble.close())
	}
	e.runtime.encoderClosed()
	return err
}

// couldCarry reports whether a late encoder's model could also serve dense, by their manifests and options. shareModel
// then compares vectors.
func (e *Encoder) couldCarry(dense *Encoder) bool {
	a, b := e.model, dense.model
	return e.Late() && !dense.Late() && e.carried == nil && a != b && dense.to == 0 &&
		a.question == a.passage && b.question == b.passage && !a.question.oneByOne && !b.question.oneByOne &&
		a.question.pooled == dense.Dimension() && e.tokenizer == dense.tokenizer && a.provider == b.provider &&
		a.options == b.options &&
		a.manifest.Vectors.MaxTokens == b.manifest.Vectors.MaxTokens &&
		a.manifest.Vectors.Template == b.manifest.Vectors.Template &&
		a.manifest.Vectors.Prefix == b.manifest.Vectors.Prefix
}

// sharedWithin is how far the vectors of two graphs may differ in a component and
// still count as the same. Vectors of one graph differ as much between batches.
const sharedWithin = 1e-5

// sharedTexts are tried before two encoders share a model.
var sharedTexts = []string{
	"",
	"what does an expert know?",
	"The river rose in the night; by morning the mill stood in two feet of water.",
}

// shareModel makes a late encoder's model serve dense, too, if it gives the same vectors as dense's own for some texts;
// that model is then freed. If the vectors differ, it changes nothing and returns nil. It fails if one of the models
// does.
func (e *Encoder) shareModel(dense *Encoder) error {
	var rows [][]int32
	for _, text := range sharedTexts {
		ids, err := dense.tokenizer.Encode(text, dense.bundle.Manifest.Vectors.MaxTokens.Question)
		if err != nil {
			return err
		}
		rows = append(rows, ids)
	}
	own, _, err := dense.model.question.encodeRows(context.Background(), rows)
	if err != nil {
		return err
	}
	_, beside, err := e.model.question.encodeRows(context.Background(), rows)
	if err != nil {
		return err
	}
	for i := range own {
		for j, x := range own[i] {
			if math.Abs(float64(x)-float64(beside[i][j])) > sharedWithin {
				return nil
			}
		}
	}
	_ = dense.model.close() // an error only means that memory stays in use
	e.carried = dense
	e.from = dense.Dimension()
	e.model.carried = dense.Dimension()
	dense.to = dense.Dimension()
	dense.model = e.model
	e.model.users.Add(1)
	return nil
}
