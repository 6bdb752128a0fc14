package main

import (
	"conclave/calibration"
	"conclave/evaluation"
	"conclave/serving"
)

// readingOptions are those of the first reader that marks words; nil: none is loaded.
func readingOptions(l *serving.Assembly, term terminal) *calibration.ReadingOptions {
	pin := func() (evaluation.PassageIDs, func()) {
		g := l.Collection.Acquire()
		return g, g.Release
	}
	for _, r := range l.Engine.Readers() {
		if !r.Generates {
			bar := newProgress(term.Err)
			return &calibration.ReadingOptions{Mark: evaluation.Marker(l.Engine, r.Name, pin), Reader: r.Fingerprint, Progress: func(done, total int) {
				bar.Report("reading", int64(done), int64(total), "questions")
				if done == total {
					bar.Finish()
				}
			}}
		}
	}
	return nil
}
