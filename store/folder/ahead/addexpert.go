package ahead

import (
	"context"
	"errors"
	"fmt"

	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// caughtUp is how few passages may be left to encode when the collection is
// asked to take the expert in, which holds up what is written meanwhile.
const caughtUp = 1000

// AddExpert adds an expert to a collection that is served. Passages are
// encoded ahead, into the file scratch, while searches and writing go on and
// new passages become visible; only the rest, the graphs and the publishing are
// done with the collection's set of experts held still, in which time changes
// are acknowledged and wait to become visible.
//
// A collection that has the expert from this very encoder already needs
// nothing. Of the options, Index and Threads count.
func AddExpert(
	ctx context.Context,
	live *folder.Live,
	encoder store.PassageEncoder,
	scratch string,
	o store.BuildOptions,
	report func(store.Progress),
) (made store.BuildReport, err error) {
	if has, err := hasExpert(live, encoder); has || err != nil {
		return made, err
	}
	if encoder.Owner() != "" { // there is nothing to encode
		return live.AddExpert(ctx, encoder, o)
	}
	ahead, err := OpenAhead(scratch, encoder)
	if err != nil {
		return made, err
	}
	// The collection keeps the encoder, which is a plain one from here on.
	defer func() { err = errors.Join(err, ahead.Close()) }()
	for left := caughtUp; left >= caughtUp; {
		left, err = ahead.catchUp(ctx, live, report)
		if err != nil {
			return made, fmt.Errorf("encoding passages: %w", err)
		}
	}
	o.Progress = report
	return live.AddExpert(ctx, ahead, o)
}

// catchUp encodes the passages of the present generation; it reports how many
// of them were not known.
func (a *Ahead) catchUp(ctx context.Context, live *folder.Live, report func(store.Progress)) (int, error) {
	g := live.Collection().Acquire()
	defer g.Release()
	return a.Encode(ctx, g, func(done, total int) {
		report(store.Progress{Stage: store.Encoding, Expert: a.Name(), Done: int64(done), Total: int64(total), Unit: "passages"})
	})
}

// hasExpert reports whether the collection has vectors of the encoder. Vectors
// that another encoder made under its name are an error.
func hasExpert(live *folder.Live, encoder store.PassageEncoder) (bool, error) {
	g := live.Collection().Acquire()
	defer g.Release()
	for _, x := range g.Experts() {
		if x.Name == encoder.Name() {
			return true, g.CheckEncoders(encoder)
		}
	}
	return false, nil
}
