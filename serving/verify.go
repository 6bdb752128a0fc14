package serving

import (
	"context"
	"errors"
	"time"

	"conclave/handlers"
)

// verifyAhead compares the checksums of vectors and graphs in the background,
// so that it is not the first questions that wait for their files to be read.
// What is damaged is logged and stated in /readyz; searches of that expert fail
// and name the file, the others answer. The function that it returns ends it.
func (l *Assembly) verifyAhead(ctx context.Context) (finish func()) {
	reading, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	g := l.Collection.Acquire()
	go func() {
		defer close(ended)
		defer g.Release()
		started := time.Now()
		err := g.VerifyVectors(reading)
		switch {
		case err == nil:
			l.log.Debug("vectors and graphs are as they were written", "took", time.Since(started).Round(time.Millisecond).String())
		case errors.Is(err, context.Canceled):
		default:
			l.log.Error("vectors are damaged: their experts cannot be searched", "cause", err)
			l.api.Readiness().Set(handlers.Component{Name: "vectors", Status: handlers.Ready, Warnings: []string{err.Error()}})
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}
