package serving

import (
	"context"
	"fmt"
	"slices"
	"time"

	"conclave/collection"
	"conclave/handlers"
)

// reloadEvery is how often a server that only reads looks for what another
// process made visible. A look reads the manifest.
const reloadEvery = time.Second

// keepUp lets searches see what another process writes, until ctx is done and
// the function that it returns was called.
func (l *Assembly) keepUp(ctx context.Context) (finish func()) {
	looking, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		again := time.NewTicker(reloadEvery)
		defer again.Stop()
		refused, told := map[string]string{}, ""
		for {
			select {
			case <-again.C:
			case <-looking.Done():
				return
			}
			told = l.tell(told, l.reload(refused))
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// tell states in /readyz how the last look went, and logs what is new of it.
// told is what the last call returned.
func (l *Assembly) tell(told string, err error) string {
	now, component := "", handlers.Component{Name: "collection", Status: handlers.Ready}
	if err != nil {
		now = err.Error()
		component.Warnings = []string{"what was written since cannot be shown: " + now}
	}
	if now != told {
		l.api.Readiness().Set(component)
		if err != nil {
			l.log.Error("looking for what was written failed, and is tried again; searches see what they saw", "cause", err)
		}
	}
	return now
}

// reload shows searches the newest generation. refused are experts that could
// not be taken in, with their vectors' fingerprints.
func (l *Assembly) reload(refused map[string]string) error {
	changed, err := l.Collection.ReloadIf(l.leaveOut)
	if err != nil || !changed {
		return err
	}
	l.takeIn(refused)
	l.forgetAbsent()
	return nil
}

// leaveOut lets no search ask an expert that the next generation does not have,
// or whose vectors are another encoder's by now, before anybody sees it. What is
// new in it is read before, so that no search waits for that.
func (l *Assembly) leaveOut(next *collection.Generation) error {
	if err := next.VerifyVectors(context.Background()); err != nil {
		l.log.Error("vectors are damaged: their experts cannot be searched", "cause", err)
	}
	for _, e := range l.loaded() {
		why := next.CheckEncoders(e)
		if why == nil {
			continue
		}
		gone, err := l.part(e.name)
		if err != nil {
			return err
		}
		// A search that began before could ask the next generation.
		if err := l.settled(context.Background()); err != nil {
			return err
		}
		l.log.Warn("an expert left the collection", "expert", e.name, "cause", why)
		if err := gone.Encoder.Close(); err != nil {
			l.log.Error("closing the encoder of an expert that left", "expert", e.name, "cause", err)
		}
	}
	return nil
}

// takeIn lets searches ask experts that joined the collection.
func (l *Assembly) takeIn(refused map[string]string) {
	g := l.Collection.Acquire()
	defer g.Release()
	for _, x := range g.Experts() {
		searched := slices.ContainsFunc(l.loaded(), func(e *Expert) bool { return e.name == x.Name })
		if searched || len(l.config.Experts) > 0 && !l.named(x.Name) || refused[x.Name] == x.Fingerprint {
			continue
		}
		if err := l.takeInOne(g, x.Name); err != nil {
			refused[x.Name] = x.Fingerprint
			l.log.Warn("an expert that joined the collection cannot be searched", "expert", x.Name, "cause", err)
		}
	}
}

func (l *Assembly) takeInOne(g *collection.Generation, name string) error {
	e, err := l.openAdded(name)
	if err != nil {
		return err
	}
	if err = g.CheckEncoders(e); err == nil {
		err = l.aboveFloor(name)
	}
	if err == nil {
		err = l.join(e)
	}
	if err != nil {
		if closing := e.Encoder.Close(); closing != nil {
			err = fmt.Errorf("%w; closing its encoder: %w", err, closing)
		}
	}
	return err
}
