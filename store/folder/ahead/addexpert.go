package ahead

import (
	"context"
	"errors"
	"fmt"

	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// caughtUp is the most passages that may be left to encode when the expert is added
// to the collection. Changes that come meanwhile become visible only after that.
const caughtUp = 1000

// AddExpert adds an expert to a collection that is served. It first encodes the passages into the file scratch, while
// searches and writing go on. Only the last passages, the graphs and the publishing hold up changes, which are
// acknowledged and become visible later. If it is interrupted, a call with the same scratch goes on. It does nothing if
// the collection has vectors of this very encoder. Of o, only Index and Threads count. report is called with the
// progress of encoding. It fails if encoding, writing or publishing does.
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

// catchUp encodes the passages of the newest generation that are not in the file yet, and returns how many vectors it
// added. report gets the numbers of passages done and in all. It fails if the encoder, reading or writing does, or ctx
// ends.
func (a *Ahead) catchUp(ctx context.Context, live *folder.Live, report func(store.Progress)) (int, error) {
	g := live.Collection().Acquire()
	defer g.Release()
	return a.Encode(ctx, g, func(done, total int) {
		report(store.Progress{Stage: store.Encoding, Expert: a.Name(), Done: int64(done), Total: int64(total), Unit: "passages"})
	})
}

// hasExpert reports whether the collection has vectors of the encoder. It fails if another encoder made vectors under
// its name.
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
