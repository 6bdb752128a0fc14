package serving

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"syscall"

	"conclave/collection"
	"conclave/configs"
	"conclave/handlers"
	"conclave/search"
)

// openServed opens the configured collection for a server: for reading and
// writing, unless it is to be read alone.
func openServed(config configs.Config, log *slog.Logger, observer search.Observer, turns search.Turns) (*Assembly, error) {
	l := &Assembly{options: Options{Config: config, Log: log, Observer: observer, Lenient: true}, warnings: map[string][]string{}, turns: turns}
	if err := l.load(); err != nil {
		return l, err
	}
	f := &following{config: config, log: log}
	if config.ReadOnly {
		l.following = f
		return l, nil
	}
	encoders, err := f.openSilent(l)
	if err == nil {
		return l, l.openWriting(f, encoders)
	}
	log.Error("nothing can be written: passages need vectors of every expert of the collection", "cause", err)
	l.following, l.unwritable = f, err
	return l, f.closeSilent()
}

// closeSilent ends the experts that are not searched.
func (f *following) closeSilent() (err error) {
	for _, e := range f.silent {
		err = errors.Join(err, e.Encoder.Close())
	}
	f.silent = nil
	return err
}

// openWriting takes the collection's lock and replaces the reading by a live
// collection.
func (l *Assembly) openWriting(f *following, encoders []collection.PassageEncoder) (err error) {
	o := liveOptions(f.config, encoders)
	o.Build.Shared = SharedPasses(l.Experts.opened)
	o.Failed = func(err error) { f.log.Error("indexing what was written failed, and is tried again", "cause", err) }
	if f.live, err = collection.OpenLive(f.config.Collection, o); err != nil {
		return explainWriting(f.config.Collection, errors.Join(err, f.closeSilent()))
	}
	before := l.Collection
	l.following, l.Collection = f, f.live.Collection()
	g := l.Collection.Acquire()
	defer g.Release()
	if l.made, err = l.configure(g); err != nil {
		return errors.Join(err, before.Close())
	}
	reading := l.Engine
	if l.Engine, err = l.newEngine(); err != nil {
		return errors.Join(err, before.Close())
	}
	// Nobody has asked the engine that read.
	return errors.Join(reading.Close(context.Background()), before.Close())
}

// openSilent opens the experts of the collection that are not searched: new
// passages need vectors of every expert. It returns all encoders.
func (f *following) openSilent(l *Assembly) ([]collection.PassageEncoder, error) {
	g := l.Collection.Acquire()
	defer g.Release()
	var encoders []collection.PassageEncoder
	for _, e := range l.Experts.opened {
		encoders = append(encoders, e)
	}
	for _, x := range g.Experts() {
		if slices.ContainsFunc(l.Experts.opened, func(e *Expert) bool { return e.name == x.Name }) {
			continue
		}
		if at := slices.IndexFunc(l.absent, func(m search.Missing) bool { return m.Source == x.Name }); at >= 0 {
			return nil, fmt.Errorf("expert %s: %s", x.Name, l.absent[at].Reason)
		}
		e, err := l.open(f.config, f.log, x.Name)
		if err != nil {
			return nil, fmt.Errorf("expert %s: %w", x.Name, err)
		}
		f.silent = append(f.silent, e)
		encoders = append(encoders, e)
		f.log.Warn("expert of the collection is not searched, since experts in the configuration does not name it; what is written is encoded for it all the same", "expert", x.Name)
	}
	return encoders, nil
}

// open loads one more expert.
func (l *Assembly) open(config configs.Config, log *slog.Logger, name string) (*Expert, error) {
	if l.Experts.runtime != nil {
		return l.Experts.open(name)
	}
	// A collection of words alone has loaded no runtime yet.
	first, err := OpenExperts(config, log, []string{name})
	if err != nil {
		return nil, err
	}
	e := first.opened[0]
	first.opened = l.Experts.opened
	l.Experts = first
	return e, nil
}

// liveOptions say how what is written becomes visible.
func liveOptions(config configs.Config, encoders []collection.PassageEncoder) collection.LiveOptions {
	in := config.Ingest
	return collection.LiveOptions{
		Build:      collection.BuildOptions{Experts: encoders, Threads: in.Threads},
		FlushAfter: in.FlushAfter, FlushPassages: in.FlushPassages, MaxPending: in.Backlog,
		Merge: collection.MergePolicy{Threads: in.Threads},
	}
}

func writeLimitsOf(l configs.Limits) handlers.WriteLimits {
	return handlers.WriteLimits{
		UploadBytes: int64(l.UploadBytes), Uploads: l.Uploads, LineBytes: int(l.LineBytes), PassageBytes: int(l.PassageBytes),
		Tags: l.Tags, MetadataBytes: int(l.MetadataBytes), AnswerBytes: int64(l.UploadAnswerBytes), BytesASecond: int(l.UploadRate),
	}
}

// explainWriting adds what can be done when a collection cannot be written to.
func explainWriting(folder string, err error) error {
	if errors.Is(err, collection.ErrLocked) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("%w; to search %s without writing to it, use --read-only", err, folder)
	}
	return err
}

// closeWriting ends the writing, while the encoders that it uses are open.
func (l *Assembly) closeWriting() error {
	err := errors.Join(l.live.Close(), l.settled(context.Background()))
	l.Collection = nil // closed with the live one
	return errors.Join(err, l.closeSilent())
}
