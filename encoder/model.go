package encoder

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"example.org/conclave/encoder/batcher"
	"example.org/conclave/models"
)

// model is a bundle's graphs in ONNX Runtime, with the queue of texts that wait for a run. Encoders may share it.
type model struct {
	manifest *models.Manifest
	options  Running
	provider string
	fallback error

	question, passage *session // the same where the towers are
	// carried is how many numbers a late model gives for a text before those of its
	// tokens: the vector of the dense encoder that it carries; 0: none.
	carried int
	batcher *batcher.Batcher
	users   atomic.Int32 // encoders that need it
}

// openModel loads the graphs of a bundle on the wanted provider, or with Auto on the one that works. It has one
// user and no queue yet (startQueue). After an error nothing is loaded.
func openModel(b *models.Bundle, tokenizer *questionTokens, o Running) (m *model, err error) {
	m = &model{manifest: &b.Manifest, options: o}
	m.users.Store(1)
	m.provider, m.fallback, err = o.openWithFallback(b.Manifest.Precision, b.Manifest.Name, func(t target) error {
		return m.openOn(t, b, tokenizer)
	})
	return m, err
}

// openOn loads the graphs on one target: one for both towers if they are the same. If it fails, none stays loaded.
func (m *model) openOn(t target, b *models.Bundle, tokenizer *questionTokens) (err error) {
	m.question, err = openTower(b, m.manifest.Vectors.Question, tokenizer, t)
	if err != nil {
		return err
	}
	m.passage = m.question
	if m.manifest.Vectors.Passage != m.manifest.Vectors.Question {
		m.passage, err = openTower(b, m.manifest.Vectors.Passage, tokenizer, t)
		if err != nil {
			return errors.Join(err, m.question.close())
		}
	}
	return nil
}

// startQueue starts the queue before the graphs; on a GPU it first measures the sizes of runs.
func (m *model) startQueue(machine *batcher.Machine) {
	config := batcher.Config{Infer: m.runRows, Machine: machine}
	m.options.setBatchSizes(&config, m.provider, m.manifest)
	if m.provider == CUDA {
		measureRuns(&config, measuredQuestion, m.manifest.Vectors.MaxTokens.Passage, m.runRows)
	}
	config.CacheNumbers += config.Cache * m.carried
	setSingleRows(&config, m.question.oneByOne, m.passage.oneByOne)
	m.batcher = batcher.New(config)
}

// runRows runs the graph of a lane on rows of tokens, and returns a vector or a list of vectors for each row, in order,
// as the expert's kind has them: of a late one after the vector of the encoder that it carries. It fails if the graph
// does, or ctx ends.
func (m *model) runRows(ctx context.Context, lane batcher.Lane, rows [][]int32) ([][]float32, error) {
	s := m.question
	finish := importanceRows
	if lane == batcher.Passage {
		s = m.passage
		finish = unitRows
	}
	vectors, pooled, err := s.encodeRows(ctx, rows)
	if err == nil && m.manifest.Kind == models.KindSparse {
		for i := range vectors {
			vectors[i] = pairsOf(vectors[i])
		}
	}
	if err != nil || !s.late {
		return vectors, err
	}
	for i, tokens := range vectors {
		vectors[i] = finish(tokens, m.manifest.Dimension())
		if m.carried > 0 {
			vectors[i] = slices.Concat(pooled[i], vectors[i])
		}
	}
	return vectors, nil
}

// release removes a user. The last one ends the queue and frees the graphs; its error is that of freeing.
func (m *model) release() error {
	if m.users.Add(-1) > 0 {
		return nil
	}
	if m.batcher != nil {
		m.batcher.Close()
	}
	return m.close()
}

// close frees the graphs. It returns the errors of freeing them.
func (m *model) close() error {
	err := m.question.close()
	if m.passage != m.question {
		err = errors.Join(err, m.passage.close())
	}
	return err
}
