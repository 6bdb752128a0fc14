package experts

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/endpoints"
	"example.org/conclave/generators"
	"example.org/conclave/search"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// endpoint is a model behind an interface as the engine uses it.
type endpoint struct {
	*generators.Model
	config configs.Generator
}

// newEndpoint returns the model at a configured generator's endpoint, without asking it for anything. It reads the
// key from its file. unsupported == "drop" leaves out sentences that the passages do not support. It fails if the
// key or the address is invalid.
func newEndpoint(g configs.Generator, unsupported string) (*endpoint, error) {
	key, err := keyOf(g)
	if err != nil {
		return nil, err
	}
	m, err := generators.NewModel(generators.Endpoint{
		Address: g.Address, Model: g.Model, Key: key, Timeout: g.Timeout, PromptBytes: int(g.PromptBytes),
		Drop: unsupported == "drop",
	})
	if err != nil {
		return nil, fmt.Errorf("generator %s: %w", g.Name, err)
	}
	return &endpoint{m, g}, nil
}

// keyOf returns the key in a generator's key_file; "" if none is configured. It fails if the file has not exactly one
// word.
func keyOf(g configs.Generator) (string, error) {
	if g.KeyFile == "" {
		return "", nil
	}
	return readKey("generator "+g.Name, g.KeyFile)
}

// readKey returns the key of a model, such as "generator local", in a file. It fails if the file has not exactly one
// word.
func readKey(of, file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("the key of %s (key_file): %w", of, err)
	}
	key := strings.TrimSpace(string(text))
	switch {
	case key == "":
		return "", fmt.Errorf("the key of %s: %s (key_file) is empty", of, file)
	case strings.ContainsFunc(key, func(r rune) bool { return r < '!' || r > '~' }):
		return "", fmt.Errorf("the key of %s: %s (key_file) has to hold one line without spaces", of, file)
	}
	return key, nil
}

// Close does nothing and returns nil: an endpoint keeps no connection or model open. A request under way ends with its
// question's context.
func (e *endpoint) Close() error { return nil }

// Generate implements learned.Generator: it lets the model behind an HTTP interface write an answer of at most
// w.MaxTokens tokens. It calls w.Each with the text and w.Sentence with each sentence as they come. An answer that
// ends early is returned with Cut set and no error. It fails if nothing was written in time or the request failed
// before, or if ctx is cancelled.
func (e *endpoint) Generate(ctx context.Context, w learned.WriteRequest) (learned.Generation, error) {
	asking := generators.Asking{Question: w.Question, Before: w.Before, MaxTokens: w.MaxTokens, Form: w.Form}
	for i := range w.Passages {
		p := &w.Passages[i]
		at := reply.PlaceOf(p)
		place := at.Heading
		if at.Page > 0 {
			place = strings.TrimPrefix(place+", page "+strconv.Itoa(at.Page), ", ")
		}
		asking.Passages = append(asking.Passages, generators.Passage{
			Title: cmp.Or(p.Title, titleOf(at)), Place: place, Text: p.Text,
		})
	}
	wrote, err := e.Write(ctx, asking, generators.Watching{
		Text:     w.Each,
		Sentence: func(s generators.Sentence) { w.Sentence(asWritten(s)) },
	})
	out := learned.Generation{
		Text: wrote.Text, Complete: wrote.Complete, Tokens: wrote.Tokens, Refused: wrote.Refused,
		Sentences: allCompared(wrote.Sentences), Dropped: allCompared(wrote.Dropped),
	}
	switch {
	case wrote.Refused:
		out.Text = search.RefusedText
	case err == nil && wrote.Text == "":
		out.Cut = "the passages support nothing of what " + e.config.Name + " wrote, so none of it is shown"
	case err != nil && wrote.Text == "" && errors.Is(err, context.DeadlineExceeded):
		return out, &endpoints.Error{Err: err, Reason: fmt.Sprintf(
			"it had not written an answer in time, so there is none (its timeout is %v)", e.config.Timeout)}
	case err != nil && (wrote.Text == "" || errors.Is(err, context.Canceled)):
		return out, err // nobody reads what was written when its reader goes
	case err != nil:
		out.Cut = e.whyCut(err)
		return out, nil
	}
	return out, nil
}

// whyCut returns the sentence that tells users why an answer ends early: the reason of a *endpoints.Error in cause,
// and for any other cause that the timeout has passed.
func (e *endpoint) whyCut(cause error) string {
	reason := fmt.Sprintf("it took longer than its timeout (%v)", e.config.Timeout)
	if known, ok := errors.AsType[*endpoints.Error](cause); ok {
		reason = known.Reason
	}
	return "the answer ends early: " + reason
}

// titleOf returns the title of the document at a place, or its id if it has no title; "" if the place is in no
// document.
func titleOf(at reply.Place) string {
	if at.Document == nil {
		return ""
	}
	return cmp.Or(at.Document.Title, at.Document.ID)
}

// asWritten converts a generator's sentence to that of an answer. Citations count passages from 1, the generator from
// 0.
func asWritten(s generators.Sentence) reply.WrittenSentence {
	out := reply.WrittenSentence{Text: s.Text, Citations: []int{}, Support: s.Support, Supported: s.Supported,
		Attributed: s.Attributed, Unchecked: string(s.Unchecked), Unfounded: s.Unfounded, Unknown: s.Unknown}
	for _, at := range s.Passages {
		out.Citations = append(out.Citations, at+1)
	}
	return out
}

// allCompared converts a generator's sentences with asWritten; nil if there are none.
func allCompared(sentences []generators.Sentence) (out []reply.WrittenSentence) {
	for _, s := range sentences {
		out = append(out, asWritten(s))
	}
	return out
}

// asLoadedReader returns the generator as the search engine lists it, with itself as the rewriter if the configuration
// lets it rewrite questions. Its fingerprint is the hash of its model's name.
func (e *endpoint) asLoadedReader() learned.LoadedReader {
	sum := sha256.Sum256([]byte(e.config.Model))
	var rewriter learned.Rewriter
	if e.config.Rewrites {
		rewriter = e
	}
	return learned.LoadedReader{Generator: e, Rewriter: rewriter,
		Name: e.config.Name, Passages: e.config.Passages, Tokens: e.config.MaxTokens,
		Info: learned.ReaderInfo{
			Name: e.config.Name, Fingerprint: hex.EncodeToString(sum[:]), Provider: "endpoint", Precision: "unknown",
			Generates: true, TimeoutMS: int(e.config.Timeout / time.Millisecond), MaxTokens: map[string]int{},
		}}
}

// GeneratorCheck is the result of asking a generator's endpoint for its models.
type GeneratorCheck struct {
	Name     string
	Err      error // nil: the model is there
	Unusable bool  // its key cannot be read: no server starts with it
}

// checking is how long an endpoint may take to say which models it has.
const checking = 5 * time.Second

// CheckGenerators asks each configured endpoint whether it has its model, one after the other, and returns a result for
// each. An endpoint may take the shorter of its timeout and 5 s.
func CheckGenerators(ctx context.Context, config configs.Config) (out []GeneratorCheck) {
	for _, g := range config.CompleteGenerators() {
		g.Timeout = min(g.Timeout, checking)
		e, err := newEndpoint(g, config.Writing.Unsupported)
		unusable := err != nil
		if !unusable {
			err = e.Check(ctx)
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("its server did not say within %v which models it has: %w", g.Timeout, err)
		}
		out = append(out, GeneratorCheck{g.Name, err, unusable})
	}
	return out
}

// WarnOfGenerators asks each configured endpoint, one after the other, and logs a warning for each that does not
// have its model (CheckGenerators); none once ctx has ended. Questions are answered with passages all the same.
func WarnOfGenerators(ctx context.Context, config configs.Config, log *slog.Logger) {
	for _, check := range CheckGenerators(ctx, config) {
		if check.Err != nil && ctx.Err() == nil {
			log.Warn("a generator does not answer: questions get their passages, and no answer that it writes",
				"generator", check.Name, "cause", check.Err)
		}
	}
}
