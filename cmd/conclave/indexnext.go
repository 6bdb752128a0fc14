package main

import (
	"io"
	"log/slog"
	"slices"
	"strings"

	"conclave/calibration"
	"conclave/configs"
	shipped "conclave/experts"
	"conclave/search"
	"conclave/serving"
)

// next opens a collection as a search would, and says what "auto" now is and
// what would make its answers better. What keeps it from being searched is said
// here, too.
func next(config configs.Config, out io.Writer) error {
	w := &errWriter{out: out}
	l, err := serving.Assemble(serving.Options{Config: config, Log: slog.New(slog.DiscardHandler), Observer: complaining{out}})
	if err == nil {
		sayNext(l, w, config.Collection)
		err = l.Close()
	}
	if err != nil {
		w.printf("it cannot be searched yet: %v\n", err)
		for _, hint := range hintsOf(err) {
			w.printf("  -> %s\n", hint)
		}
	}
	return w.err
}

func sayNext(l *serving.Assembly, w *errWriter, folder string) {
	w.printf("auto is %s\n", l.Auto())
	experts := l.Engine.Experts()
	late := slices.ContainsFunc(experts, func(x search.ExpertInfo) bool { return x.Kind == search.KindLate })
	record, err := calibration.ReadRecord(folder)
	step := func(why, command string) { w.printf("next: %s\n      conclave %s\n", why, command) }
	switch {
	case len(experts) == 0:
		step("meaning beside words", "index --collection "+folder+" --add-expert base")
	case !late && slices.ContainsFunc(experts, func(x search.ExpertInfo) bool { return x.Name == shipped.Base }):
		step("late interaction", "index --collection "+folder+" --add-expert late")
	default:
		if l.LineUp().Reference == "" {
			step("a specialist, where one of these is near your domain:\n      "+strings.Join(shipped.Specialists(), ", "), "index --collection "+folder+" --add-expert NAME")
		}
		if record == nil && err == nil {
			step("a hundred or more of your questions, with their passages", "calibrate --collection "+folder+" --questions FILE")
		}
	}
}
