package experts

import (
	"context"

	"example.org/conclave/encoder"
	"example.org/conclave/internal/capacity"
	"example.org/conclave/models"
	"example.org/conclave/search/learned"
)

// generator is a loaded generator as the engine uses it.
type generator struct {
	*encoder.Generator
	name   string
	bundle *models.Bundle
	memory int64 // that an answer may take, in bytes
}

// openGenerator loads the generator of a bundle. Its answers may take as much memory as the bodies and answers of all
// requests together (capacity.MemoryLimit), in addition to those. It logs if the model runs on the processor though a
// GPU was wanted. It fails if the limit cannot be found out or the model cannot be loaded.
func (x *Set) openGenerator(name string, opening encoder.Opening) (openedReader, error) {
	memory, err := capacity.MemoryLimit(x.config.Limits)
	if err != nil {
		return nil, err
	}
	g, err := x.runtime.OpenGenerator(opening.Bundle, opening.Running)
	if err != nil {
		return nil, err
	}
	if why := g.Fallback(); why != nil {
		x.logFallback("generator", name, why)
	}
	return &generator{g, name, opening.Bundle, memory}, nil
}

// Generate implements learned.Generator: it lets the loaded model write an answer of at most w.MaxTokens tokens
// from the passages. It calls w.Each with the text as it comes. It ignores w.Before and w.Form. The errors are
// those of encoder.Generator.Answer.
func (g *generator) Generate(ctx context.Context, w learned.WriteRequest) (learned.Generation, error) {
	a := encoder.Asking{
		Question: w.Question, Passages: encoderTexts(w.Passages),
		MaxTokens: w.MaxTokens, Memory: g.memory, Each: w.Each,
	}
	wrote, err := g.Answer(ctx, a)
	return learned.Generation{
		Text: wrote.Text, Complete: wrote.Complete, Tokens: wrote.Tokens, LogProbability: &wrote.LogProbability,
		Shares: wrote.Shares,
	}, err
}

// asLoadedReader returns the generator as the search engine lists it.
func (g *generator) asLoadedReader() learned.LoadedReader {
	m := &g.bundle.Manifest
	return learned.LoadedReader{Generator: g, Name: g.name, Info: learned.ReaderInfo{
		Name: g.name, Fingerprint: g.bundle.Fingerprint(models.Passage), Provider: g.Provider(), Precision: m.Precision,
		Generates: true,
		MaxTokens: map[string]int{"pair": m.Generator.PassageTokens},
	}}
}
