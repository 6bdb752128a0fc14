package endpoints

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// probeTexts are those by whose vectors a model is known again.
var probeTexts = []string{
	"what does an expert know?",
	"The river rose in the night; by morning the mill stood in two feet of water.",
	"Premiums are due on the first of the month. A claim has to be filed within 30 days, with form 27-B.",
}

// sketchNumbers is how many numbers a probe keeps of each vector.
const sketchNumbers = 32

// LeastAlike is the least cosine between two probes of the same model. Graphs of the same weights in 8 bits and in
// full precision give about 0.99.
const LeastAlike = 0.98

// Probe is how a model answered probeTexts.
type Probe struct {
	Dimension int
	Unit      bool   // the vectors have length 1
	sketch    []int8 // sketchNumbers for each of probeTexts
}

// newProbe returns the probe of the vectors of probeTexts.
func newProbe(vectors [][]float32) *Probe {
	p := &Probe{Dimension: len(vectors[0]), Unit: true}
	for _, v := range vectors {
		length := lengthOf(v)
		p.Unit = p.Unit && math.Abs(length-1) < 1e-3
		sums := [sketchNumbers]float64{}
		for i, x := range v {
			// Each number goes to one of the sums, with a sign that is the same for all models.
			sign := 1 - 2*float64((uint32(i)*2654435761)>>31)
			sums[i%sketchNumbers] += sign * float64(x) / max(length, 1e-9)
		}
		for _, sum := range sums {
			p.sketch = append(p.sketch, int8(max(-127, min(127, math.Round(256*sum)))))
		}
	}
	return p
}

// Alike returns the cosine of two probes, from -1 to 1; 0 if their vectors differ in length, or in whether they have
// unit length.
func (p *Probe) Alike(other *Probe) float64 {
	if p.Dimension != other.Dimension || p.Unit != other.Unit || len(p.sketch) != len(other.sketch) {
		return 0
	}
	var inner, own, theirs float64
	for i, x := range p.sketch {
		y := other.sketch[i]
		inner += float64(x) * float64(y)
		own += float64(x) * float64(x)
		theirs += float64(y) * float64(y)
	}
	if own == 0 || theirs == 0 {
		return 0
	}
	return inner / math.Sqrt(own*theirs)
}

// askWithProbes returns the finished vector of a question, alone in a list. If the newest probe is too old, the request
// has the probe's texts, too. It fails if the request does, or its vectors have another dimension or are not finite.
func (e *Embedder) askWithProbes(ctx context.Context, text string) ([][]float32, error) {
	texts := []string{text}
	if e.IsStale() && len(probeTexts) < e.options.Batch {
		texts = append(texts, probeTexts...)
	}
	vectors, _, err := e.embed(ctx, question, texts, false)
	if err != nil {
		return nil, err
	}
	if len(texts) > 1 {
		if err := e.remember(vectors[1:]); err != nil {
			return nil, err
		}
	}
	if err := e.finish(vectors[:1]); err != nil {
		return nil, err
	}
	return vectors[:1:1], nil
}

// Probe asks the model for its vectors of the probe's texts and returns what they are like. It also tells the Embedder
// the length of vectors, if that is not known. The error is an *Error or ctx's; it may have the server's message.
func (e *Embedder) Probe(ctx context.Context) (*Probe, error) {
	var all [][]float32
	for some := range slices.Chunk(probeTexts, max(1, min(e.options.Batch, len(probeTexts)))) {
		vectors, _, err := e.embed(ctx, question, some, true)
		if err != nil {
			return nil, err
		}
		all = append(all, vectors...)
	}
	if err := e.remember(all); err != nil {
		return nil, err
	}
	return e.Probed(), nil
}

// AwaitProbe is Probe, repeated after failures that may pass until ctx ends. The error is that of the last attempt.
func (e *Embedder) AwaitProbe(ctx context.Context) (*Probe, error) {
	var last error
	waits := backoff.NewExponentialBackOff()
	waits.InitialInterval = e.options.FirstWait
	p, err := backoff.Retry(ctx, func() (*Probe, error) {
		p, err := e.Probe(ctx)
		if err != nil && (last == nil || ctx.Err() == nil) {
			last = err
		}
		if failed, ok := errors.AsType[*Error](err); err != nil && (!ok || !failed.Again) {
			return nil, backoff.Permanent(err)
		}
		return p, err
	}, backoff.WithBackOff(waits))
	if err != nil {
		return nil, last
	}
	return p, nil
}

// remember makes the vectors of probeTexts the newest probe. If they are not those of the probe before, the kept
// vectors of questions are forgotten. It fails, and changes nothing, if the vectors have another dimension or are not
// finite.
func (e *Embedder) remember(vectors [][]float32) error {
	if err := e.finish(vectors); err != nil {
		return err
	}
	p := newProbe(vectors)
	e.dimension.CompareAndSwap(0, int64(p.Dimension))
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.probed != nil && e.probed.Alike(p) < LeastAlike {
		e.cache.clear()
	}
	e.probed = p
	e.probedAt = time.Now()
	return nil
}

// IsStale reports whether the newest probe is too old, or there is none.
func (e *Embedder) IsStale() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return time.Since(e.probedAt) > e.options.ProbeAge
}

// Probed returns the newest probe; nil if the model has answered none yet.
func (e *Embedder) Probed() *Probe {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.probed
}

// fingerprintMark begins a fingerprint.
const fingerprintMark = "endpoint-1"

// Fingerprint is what a collection keeps of the model that made its vectors: endpoint-1, the settings, the length of
// vectors, unit or any for their Euclidean length, and the sketch of the probe, with colons between.
type Fingerprint struct {
	Settings string // a hash of what decides about vectors and is not in the probe
	Probe    Probe
}

// FingerprintOf returns the fingerprint of a model that answered with a probe.
func (o *Options) FingerprintOf(p *Probe) Fingerprint { return Fingerprint{o.settings(), *p} }

// settings returns a hash of how passages and questions are sent, apart from the model and its address, which may
// change their names.
func (o *Options) settings() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "question %q %q\npassage %q %q\ncut %d\n",
		o.Question.Prefix, o.Question.InputType, o.Passage.Prefix, o.Passage.InputType, o.CutTo))
	return hex.EncodeToString(sum[:6])
}

// String returns the fingerprint as a collection keeps it.
func (f Fingerprint) String() string {
	length := "any"
	if f.Probe.Unit {
		length = "unit"
	}
	bytes := make([]byte, len(f.Probe.sketch))
	for i, x := range f.Probe.sketch {
		bytes[i] = byte(x)
	}
	return strings.Join([]string{
		fingerprintMark, f.Settings, strconv.Itoa(f.Probe.Dimension), length, base64.RawURLEncoding.EncodeToString(bytes),
	}, ":")
}

// ParseFingerprint returns the fingerprint in a text; ok is false for another text, such as the fingerprint of a
// bundle.
func ParseFingerprint(text string) (f Fingerprint, ok bool) {
	parts := strings.Split(text, ":")
	if len(parts) != 5 || parts[0] != fingerprintMark {
		return f, false
	}
	dimension, err := strconv.Atoi(parts[2])
	bytes, wrong := base64.RawURLEncoding.DecodeString(parts[4])
	if err != nil || wrong != nil || len(bytes) != len(probeTexts)*sketchNumbers {
		return f, false
	}
	f = Fingerprint{Settings: parts[1], Probe: Probe{Dimension: dimension, Unit: parts[3] == "unit"}}
	for _, b := range bytes {
		f.Probe.sketch = append(f.Probe.sketch, int8(b))
	}
	return f, true
}

// Differs returns in words how a model with another fingerprint differs from that of f; "" if it is the same.
func (f Fingerprint) Differs(now Fingerprint) string {
	switch alike := f.Probe.Alike(&now.Probe); {
	case f.Probe.Dimension != now.Probe.Dimension:
		return fmt.Sprintf("its vectors have %d numbers, and those of the collection %d", now.Probe.Dimension, f.Probe.Dimension)
	case f.Probe.Unit != now.Probe.Unit:
		return "its vectors, or those of the collection, are not of unit length"
	case alike < LeastAlike:
		return fmt.Sprintf("its vectors of three texts have a cosine of %.2f to those of the model that the passages were encoded with", alike)
	case f.Settings != now.Settings:
		return "prefixes, input types or cut_to are not those that the passages were encoded with"
	}
	return ""
}
