package experts

import (
	"context"
	"fmt"
	"log/slog"

	"example.org/conclave/configs"
	"example.org/conclave/endpoints"
	"example.org/conclave/store"
)

// RemoteCheck is what an expert behind an interface answered.
type RemoteCheck struct {
	Name     string
	Detail   string // what is sent there, and what it is like
	Err      error  // nil: it answers, as the collection's vectors are
	Unusable bool   // its key cannot be read, or the model is not that of the collection: it is left out
}

// CheckRemote asks each configured expert behind an interface for the vectors of a few texts, one after the other, and
// returns a result for each. stored are the experts of the collection.
func CheckRemote(ctx context.Context, config configs.Config, stored []store.Expert) (out []RemoteCheck) {
	for _, x := range config.Experts {
		config, ok := config.Endpoint(x.Name)
		if !ok {
			continue
		}
		own := storedFingerprint(stored, x.Name)
		check := RemoteCheck{Name: x.Name}
		check.Detail = "the collection does not have it: nothing is sent to " + endpoints.Host(x.Address)
		if own != nil {
			check.Detail = fmt.Sprintf("questions and passages are sent to %s (model %q)", endpoints.Host(x.Address), x.Model)
		}
		config.Timeout = min(config.Timeout, openingTime)
		e, sends, err := openEmbedder(config, 0, slog.New(slog.DiscardHandler))
		if err != nil {
			check.Err, check.Unusable = err, true
			out = append(out, check)
			continue
		}
		probe, err := e.Probe(ctx)
		switch {
		case err != nil:
			check.Err = err
		case own != nil && own.Differs(sends.FingerprintOf(probe)) != "":
			check.Err = &ChangedError{x.Name, own.Differs(sends.FingerprintOf(probe))}
			check.Unusable = true
		default:
			check.Detail += fmt.Sprintf("; it answers, with vectors of %d numbers", probe.Dimension)
		}
		_ = e.Close()
		out = append(out, check)
	}
	return out
}
