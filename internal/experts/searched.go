package experts

import (
	"context"
	"fmt"
	"slices"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/models"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// SearchedAmong returns an expert as the search engine takes it, without what was fitted for a collection. all are the
// experts that are searched with it, which decide the name of its granularity.
func (e *Expert) SearchedAmong(all []*Expert) learned.Expert {
	m := e.encoderManifest()
	fingerprints := e.Fingerprints()
	x := learned.Expert{
		Name:        e.name,
		Encoder:     e.Encoder,
		Passages:    embedder{e},
		Granularity: e.granularityIn(all),
		Languages:   languagesOf(m),
		Info: learned.ExpertInfo{
			Dimension:    m.Dimension(),
			Fingerprints: fingerprints,
			Provider:     e.Encoder.Provider(),
			Precision:    m.Precision,
			MaxTokens:    map[string]int{"question": m.Vectors.MaxTokens.Question, "passage": m.Vectors.MaxTokens.Passage},
		},
	}
	if e.Sparse() {
		x.Info.Kind = reply.KindSparse
	}
	if r := e.Remote(); r != nil {
		x.Info.Endpoint = &learned.EndpointInfo{Host: r.Host, Model: r.Model}
	}
	if why := e.Encoder.Fallback(); why != nil {
		x.Info.Warnings = append(x.Info.Warnings, fmt.Sprintf("runs on the processor: %v", why))
	}
	if e.Granularity != nil {
		return x // what the bundle says is of passages
	}
	switch c := e.Bundle.Calibration; {
	case c == nil:
	case c.Encoder != fingerprints["question"]:
		x.Info.Warnings = append(
			x.Info.Warnings, "its calibration was fitted for another encoder and is ignored: calibrate again",
		)
	default:
		x.Info.Calibration = &learned.CalibrationInfo{
			Temperature: c.Temperature, Depth: c.Depth, ECEBefore: c.ECEBefore, ECEAfter: c.ECEAfter, Questions: c.Questions,
		}
	}
	if e.head != nil {
		x.Head = e.head
	} else if ensemble := e.Encoder.Ensemble(); ensemble != nil {
		x.Ensemble = ensemble
	}
	return x
}

// languagesOf returns the codes of the languages that an encoder reads; nil: many, or that is not known.
func languagesOf(m *models.Manifest) learned.Languages {
	if slices.Equal(m.Vectors.Languages, []string{models.ManyLanguages}) {
		return nil
	}
	return m.Vectors.Languages
}

// embedder is an expert whose EncodePassages returns vectors as the encoder makes them, not scaled as they are stored.
type embedder struct{ *Expert }

// EncodePassages returns a vector for each passage, in their order, encoded with the bundle's template and not
// multiplied by the share that the encoder can read. It fails if the encoder fails or ctx ends.
func (e embedder) EncodePassages(ctx context.Context, passages []corpus.Passage) ([][]float32, error) {
	vectors, _, err := e.readPassages(ctx, passages)
	return vectors, err
}

// InWindows returns an encoder of passages for a store that has vectors of the windows of long passages
// (store.WindowReader): its Reads calls a passage cut only if it has text after its windows. Encoders that are not
// from SearchedAmong are returned as they are.
func InWindows(inner learned.PassageEncoder) learned.PassageEncoder {
	if e, ok := inner.(embedder); ok {
		return windowedEmbedder{e}
	}
	return inner
}

// windowedEmbedder is an embedder whose long passages are read in windows.
type windowedEmbedder struct{ embedder }

// Reads implements search.PassageReads: cut reports whether text is left behind the windows, unread whether the
// expert can hardly read it.
func (e windowedEmbedder) Reads(p corpus.Passage) (cut, unread bool) {
	cut, unread = e.embedder.Reads(p)
	if cut {
		_, cut = e.Windows(p)
	}
	return cut, unread
}
