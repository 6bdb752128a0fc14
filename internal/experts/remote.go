package experts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/encoder"
	"example.org/conclave/encoder/batcher"
	"example.org/conclave/endpoints"
	"example.org/conclave/models"
	"example.org/conclave/store"
)

// remoteEncoder is the encoder of an expert behind an interface, for one collection.
type remoteEncoder struct {
	*endpoints.Embedder
	config configs.Expert
	sends  *endpoints.Options
	shared bool                   // with other collections: the pool closes it, and the ensemble
	stored *endpoints.Fingerprint // of the vectors of the collection; nil: it has none yet
	cut    atomic.Int64
	// ensemble is on the vectors of questions; nil: the expert has none.
	ensemble *encoder.Ensemble

	mu      sync.Mutex
	seen    *endpoints.Probe // that was compared with stored last
	changed error            // what that gave
}

// RemoteInfo says where an expert's texts are sent.
type RemoteInfo struct {
	Host, Model string
	Price       float64 // of a million tokens; 0: it is not known
}

// Remote returns where the expert's texts are sent; nil if its encoder runs in this process.
func (e *Expert) Remote() *RemoteInfo {
	r, ok := e.Encoder.(*remoteEncoder)
	if !ok {
		return nil
	}
	return &RemoteInfo{endpoints.Host(r.config.Address), r.config.Model, r.config.Price}
}

// RemoteStats returns what was sent for the expert so far; zero if its encoder runs in this process.
func (e *Expert) RemoteStats() endpoints.Stats {
	r, ok := e.Encoder.(*remoteEncoder)
	if !ok {
		return endpoints.Stats{}
	}
	return r.Embedder.Stats()
}

// RemoteCounts returns what was sent for the experts behind interfaces, by name without a granularity.
func RemoteCounts(all []*Expert) map[string]endpoints.Stats {
	out := map[string]endpoints.Stats{}
	for _, e := range all {
		if e.Remote() != nil {
			out[e.bundle] = e.RemoteStats()
		}
	}
	return out
}

// ChangedError is the error of an expert whose model gives other vectors than those of the collection.
type ChangedError struct {
	Name   string
	Reason string // in what they differ
}

// Error says what has changed and what to do.
func (e *ChangedError) Error() string { return "expert " + e.Name + ": " + e.Advice() }

// Advice returns the message for callers of the API.
func (e *ChangedError) Advice() string {
	return fmt.Sprintf("the model behind %[1]s has changed: %[2]s. Configure the model that the passages were encoded "+
		"with, or remove expert %[1]s from the collection and add it again, which encodes them by the new one",
		e.Name, e.Reason)
}

// openingTime bounds how long opening waits for a model behind an interface: the collection is served without it.
const openingTime = 5 * time.Second

// openEmbedder returns the model of a configured endpoint, without asking it for anything. It fails if its key cannot
// be read.
func openEmbedder(
	x configs.Expert,
	cacheEntries int,
	log *slog.Logger,
) (*endpoints.Embedder, *endpoints.Options, error) {
	key, err := keyFrom("expert "+x.Name, string(x.Key), x.KeyVariable, x.KeyFile)
	if err != nil {
		return nil, nil, err
	}
	o := endpoints.Options{
		Server: endpoints.Server{
			Interface: x.Interface, Address: x.Address, Model: x.Model, Key: key, Timeout: x.Timeout,
		},
		Question: endpoints.Side(x.Question), Passage: endpoints.Side(x.Passage),
		Dimension: x.Dimension, CutTo: x.CutTo, Normalise: x.Normalise != "false",
		Batch: x.Batch, RequestTokens: x.RequestTokens, Concurrency: x.Concurrency,
		QuestionTime: x.QuestionTimeout, Patience: patience, CacheEntries: cacheEntries,
		Repeated: func(err error, wait time.Duration) {
			if wait >= toldWait {
				log.Warn("a request for vectors is repeated", "expert", x.Name, "host", endpoints.Host(x.Address),
					"after", wait.Round(time.Second), "cause", err)
			}
		},
	}
	e, err := endpoints.NewEmbedder(o, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("expert %s: %w", x.Name, err)
	}
	return e, &o, nil
}

// keyFrom returns the key to send to a model: the word in file, or without a file the key that was read from the
// environment, which is "" if no variable was configured. of names the model in errors, such as "expert hosted". It
// fails if a variable is configured and not set, or if the file cannot be read or has not exactly one word.
func keyFrom(of, key, variable, file string) (string, error) {
	switch {
	case variable != "" && key == "":
		return "", fmt.Errorf("the key of %s: the variable %s (key_variable) is not set", of, variable)
	case file != "":
		return readKey(of, file)
	}
	return key, nil
}

// patience is how long a request for passages is repeated after failures; waits from toldWait on are logged.
const (
	patience = 10 * time.Minute
	toldWait = 2 * time.Second
)

// openRemote returns the encoder of a configured endpoint, and its bundle as a manifest describes one, without files.
// It asks the model for the vectors of a few texts. If they are not those of the collection, it returns a
// *ChangedError. A model that does not answer is taken if the collection has vectors of it: questions get none until it
// does.
func (x *Set) openRemote(name string) (*models.Bundle, *remoteEncoder, error) {
	config, ok := x.config.Endpoint(name)
	if !ok {
		return nil, nil, fmt.Errorf("the configuration has no address of expert %s", name)
	}
	r := &remoteEncoder{config: config, stored: storedFingerprint(x.stored, name)}
	dimension := 0
	if r.stored != nil {
		dimension = r.stored.Probe.Dimension
	}
	var err error
	if x.pool != nil {
		r.shared = true
		r.Embedder, r.sends, err = x.pool.embedder(config)
	} else {
		r.Embedder, r.sends, err = openEmbedder(config, x.config.Encoder.CacheEntries, x.log)
	}
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), openingTime)
	defer cancel()
	probe := r.Probed()
	switch {
	case probe != nil:
	case r.stored != nil:
		probe, err = r.Probe(ctx)
	default: // nothing can be done without it
		waiting, cancel := context.WithTimeout(context.Background(), config.Timeout)
		defer cancel()
		probe, err = r.AwaitProbe(waiting)
	}
	if err == nil {
		err = r.check()
	} else if r.stored != nil {
		x.log.Warn("the model of an expert does not answer: until it does, questions are answered without it",
			"expert", name, "host", endpoints.Host(config.Address), "cause", err)
		err = nil
	} else if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("its server did not answer within %v", config.Timeout)
	}
	if err != nil {
		if changed := new(ChangedError); errors.As(err, &changed) {
			return nil, nil, errors.Join(err, r.Close())
		}
		return nil, nil, errors.Join(
			fmt.Errorf("expert %s, model %q at %s: %w", name, config.Model, endpoints.Host(config.Address), err), r.Close(),
		)
	}
	x.log.Info("an expert sends questions and passages to another server",
		"expert", name, "host", endpoints.Host(config.Address))
	if r.stored == nil {
		made := x.knownFingerprint(name, r.sends.FingerprintOf(probe))
		r.stored = &made
	}
	if config.Ensemble != "" {
		r.ensemble, err = x.openEnsemble(config, r.Dimension())
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("the ensemble of expert %s: %w", name, err), r.Close())
		}
	}
	return r.bundle(name, dimension), r, nil
}

// openEnsemble returns the ensemble of a configured endpoint whose vectors have dimension numbers: that of the pool, if
// the set has one. It fails if the file is no ensemble for such vectors, or cannot be loaded.
func (x *Set) openEnsemble(config configs.Expert, dimension int) (*encoder.Ensemble, error) {
	open := func() (*encoder.Ensemble, error) { return x.runtime.OpenEnsemble(config.Ensemble, dimension) }
	if x.pool != nil {
		return x.pool.ensemble(config.Name, open)
	}
	return open()
}

// knownFingerprint returns the fingerprint that the expert got when it was last new to a collection, if now is of the
// same model, so that several collections have the same; else now, which it keeps in the cache for the next time.
func (x *Set) knownFingerprint(name string, now endpoints.Fingerprint) endpoints.Fingerprint {
	path := filepath.Join(x.cache.Root, SentFolder, name+".fingerprint")
	if text, err := os.ReadFile(path); err == nil {
		if before, ok := endpoints.ParseFingerprint(strings.TrimSpace(string(text))); ok && before.Differs(now) == "" {
			return before
		}
	}
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(now.String()+"\n"), 0o600)
	}
	if err != nil {
		x.log.Info("the fingerprint of an expert is not kept: another collection will have another one", "expert", name,
			"cause", err)
	}
	return now
}

// SentFolder is the folder of the cache for the fingerprints of experts behind interfaces.
const SentFolder = "sent"

// storedFingerprint returns the fingerprint of an endpoint's vectors, of any granularity, among the experts of a
// collection; nil if it has none.
func storedFingerprint(stored []store.Expert, name string) *endpoints.Fingerprint {
	for _, s := range stored {
		bundle, _, _ := strings.Cut(s.Name, GranularMark)
		own, _, _ := strings.Cut(s.Fingerprint, granularFingerprint)
		if f, ok := endpoints.ParseFingerprint(own); ok && bundle == name {
			return &f
		}
	}
	return nil
}

// bundle returns a bundle without files, whose manifest says what is known of the model. dimension is that of the
// collection's vectors; with 0 the manifest has the dimension of the probe's. r.stored must be set.
func (r *remoteEncoder) bundle(name string, dimension int) *models.Bundle {
	languages := r.config.Languages
	if len(languages) == 0 {
		languages = []string{models.ManyLanguages}
	}
	tokens := r.config.PassageTokens
	return &models.Bundle{Manifest: models.Manifest{
		Format: models.Format, Name: name, Kind: models.KindDense, Precision: "unknown",
		Vectors: &models.Vectors{
			Dimension: cmp.Or(dimension, r.stored.Probe.Dimension), Pooling: models.PoolingGraph,
			Normalise: r.stored.Probe.Unit, MaxTokens: models.MaxTokens{Question: tokens, Passage: tokens},
			Template: models.TemplateTitleDotText, Similarity: models.SimilarityInnerProduct, Languages: languages,
		},
		Lineage: models.Lineage{Source: r.config.Model + " at " + endpoints.Host(r.config.Address)},
	}}
}

// check returns a *ChangedError if the newest probe of the model is not that of the collection's vectors; nil if the
// model has not answered yet.
func (r *remoteEncoder) check() error {
	now := r.Probed()
	if now == nil || r.stored == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen != now {
		r.seen, r.changed = now, nil
		if reason := r.stored.Differs(r.sends.FingerprintOf(now)); reason != "" {
			r.changed = &ChangedError{r.config.Name, reason}
		}
	}
	return r.changed
}

// EncodeQuestion returns the vector of a question. It fails if that is late, the model's server fails, or the model is
// not that of the collection's vectors (*ChangedError).
func (r *remoteEncoder) EncodeQuestion(ctx context.Context, text string) ([]float32, error) {
	if strings.TrimSpace(text) == "" {
		return make([]float32, r.Dimension()), nil
	}
	v, err := r.Question(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("expert %s at %s: %w", r.config.Name, endpoints.Host(r.config.Address), err)
	}
	return v, r.check()
}

// ReadPassages returns the vectors of texts: of title, ". " and text where there is a title. A text without a letter
// has zeros. read is 1 for each. It fails as EncodeQuestion does, but repeats requests for minutes.
func (r *remoteEncoder) ReadPassages(
	ctx context.Context,
	texts []encoder.Text,
) (vectors [][]float32, read []float64, err error) {
	if r.IsStale() {
		if _, err := r.Probe(ctx); err != nil {
			return nil, nil, fmt.Errorf("expert %s at %s: %w", r.config.Name, endpoints.Host(r.config.Address), err)
		}
	}
	if err := r.check(); err != nil {
		return nil, nil, err
	}
	vectors, read = make([][]float32, len(texts)), make([]float64, len(texts))
	var sent []string
	var at []int
	for i, t := range texts {
		read[i] = 1
		vectors[i] = make([]float32, r.Dimension())
		if text := passageText(t); strings.TrimSpace(text) != "" {
			sent, at = append(sent, text), append(at, i)
		}
		if _, cut := r.PassageTokens(t); cut {
			r.cut.Add(1)
		}
	}
	made, err := r.Passages(ctx, sent)
	if refused, ok := errors.AsType[*endpoints.TextError](err); ok && refused.Refused {
		refused.Text = at[refused.Text]
	}
	if err != nil {
		return nil, nil, fmt.Errorf("expert %s at %s: %w", r.config.Name, endpoints.Host(r.config.Address), err)
	}
	for n, i := range at {
		vectors[i] = made[n]
	}
	return vectors, read, nil
}

// passageText returns a passage as it is sent.
func passageText(t encoder.Text) string {
	if t.Title == "" {
		return t.Text
	}
	return t.Title + ". " + t.Text
}

// ReadPassagesBoth always fails: no other encoder shares the model's runs.
func (r *remoteEncoder) ReadPassagesBoth(
	context.Context,
	[]encoder.Text,
) (own, carried [][]float32, read []float64, err error) {
	return nil, nil, nil, errors.New("a model behind an interface carries no other encoder")
}

// Dimension returns how many numbers a vector has, by the collection or by the model.
func (r *remoteEncoder) Dimension() int {
	if r.stored != nil {
		return r.stored.Probe.Dimension
	}
	return r.Embedder.Dimension()
}

// Fingerprint returns that of the collection's vectors, or of the model if the collection has none.
func (r *remoteEncoder) Fingerprint(models.Side) string { return r.stored.String() }

// PassageTokens returns about how many tokens of a passage are read, and whether it is likely to have more.
func (r *remoteEncoder) PassageTokens(t encoder.Text) (read int, cut bool) {
	n := endpoints.EstimateTokens(passageText(t))
	return min(n, r.config.PassageTokens), n > r.config.PassageTokens
}

// ReadablePassage returns 1, since it is not known what the model cannot read, and whether the passage is likely to be
// longer than it reads.
func (r *remoteEncoder) ReadablePassage(t encoder.Text) (read float64, cut bool) {
	_, cut = r.PassageTokens(t)
	return 1, cut
}

// QuestionTokens returns about how many tokens a question has; none is left out.
func (r *remoteEncoder) QuestionTokens(text string) (read int, cut bool) {
	return endpoints.EstimateTokens(text), false
}

// WordTokens returns about how many tokens a word has.
func (r *remoteEncoder) WordTokens(word string) int { return (len(word) + 3) / 4 }

// KnownWords returns the words of a text, all of them as known: the model's vocabulary is not.
func (r *remoteEncoder) KnownWords(text string) (words, whole, unknown int) {
	n := len(strings.Fields(text))
	return n, n, 0
}

// Readable returns 1: it is not known what the model cannot read.
func (r *remoteEncoder) Readable(string) float64 { return 1 }

// Places returns nil: vectors are of whole texts.
func (r *remoteEncoder) Places(encoder.Text) ([]encoder.WordPlace, error) { return nil, nil }

// CutPassages returns how many passages were likely longer than the model reads.
func (r *remoteEncoder) CutPassages() int64 { return r.cut.Load() + r.Embedder.Stats().Cut }

// UnreadPassages returns 0: an interface does not say of which passages its model can read little.
func (r *remoteEncoder) UnreadPassages() int64 { return 0 }

// Provider returns "endpoint".
func (r *remoteEncoder) Provider() string { return "endpoint" }

// Late returns false: a passage has one vector, not one for each token.
func (r *remoteEncoder) Late() bool { return false }

// Sparse returns false: vectors are dense.
func (r *remoteEncoder) Sparse() bool { return false }

// Fallback returns nil: no model runs here that could have been put on another device than the chosen one.
func (r *remoteEncoder) Fallback() error { return nil }

// Ensemble returns the configured ensemble; nil if there is none.
func (r *remoteEncoder) Ensemble() *encoder.Ensemble { return r.ensemble }

// Carried returns nil.
func (r *remoteEncoder) Carried() *encoder.Encoder { return nil }

// Stats returns zeros: there is no queue. RemoteStats has what was sent.
func (r *remoteEncoder) Stats() batcher.Stats { return batcher.Stats{} }

// Close ends the embedder and frees the ensemble, unless the pool shares them. The error is that of the ensemble.
func (r *remoteEncoder) Close() error {
	if r.shared {
		return nil
	}
	err := r.Embedder.Close()
	if r.ensemble != nil {
		err = errors.Join(err, r.ensemble.Close())
		r.ensemble = nil
	}
	return err
}

// Continues implements store.Continuing: vectors are this expert's if its model answers the probe as the one did that
// made them, and their granularity is the same.
func (e *Expert) Continues(fingerprint string) bool {
	r, ok := e.Encoder.(*remoteEncoder)
	own, granularity, _ := strings.Cut(fingerprint, granularFingerprint)
	_, mine, _ := strings.Cut(e.Fingerprint(), granularFingerprint)
	before, known := endpoints.ParseFingerprint(own)
	return ok && known && granularity == mine && before.Differs(*r.stored) == ""
}
