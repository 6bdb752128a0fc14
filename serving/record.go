package serving

import (
	"context"
	"fmt"
	"path/filepath"

	"conclave/calibration"
	"conclave/collection"
	"conclave/handlers"
	"conclave/search"
	"conclave/shelf"
)

// usable is an error where searches could not be answered with a line-up.
func (l *Assembly) usable(made search.LineUp) error {
	engine, err := search.NewEngine(search.Config{LineUp: made, Corpus: shelf.Of(l.Collection), Limits: limitsOf(l.options.Config.Limits)})
	if err != nil {
		return err
	}
	return engine.Close(context.Background())
}

// TryRecord is an error where the collection, as it is opened here, could not
// answer by a calibration.
func (l *Assembly) TryRecord(record *calibration.Record) error {
	g := l.Collection.Acquire()
	defer g.Release()
	made, err := l.makeWith(record, g)
	if err != nil {
		return err
	}
	return l.usable(made)
}

// configure is the line-up by the collection's calibration. One
// that the experts at hand cannot answer by is refused: the one before stays, or
// where there is none the shipped gate. One that cannot be read keeps a
// collection from being opened, since its answers would be others than before.
func (l *Assembly) configure(g *collection.Generation) (search.LineUp, error) {
	if l.options.Uncalibrated {
		return l.makeWith(nil, g)
	}
	l.record = stampOfRecord(l.options.Config.Collection) // before it is read: one that comes now is seen later
	record, refused := calibration.ReadRecord(l.options.Config.Collection)
	if refused != nil && l.Engine == nil {
		return search.LineUp{}, refused
	}
	choices := []*calibration.Record{record, l.accepted}
	switch {
	case refused != nil:
		choices = choices[1:]
	case record == nil: // it was taken away
		choices = nil
	}
	for _, record := range choices {
		if record == nil { // none was accepted yet
			continue
		}
		made, err := l.makeWith(record, g)
		if err == nil {
			err = l.usable(made)
		}
		if err == nil {
			l.accepted = record
			l.refuse(refused)
			return made, nil
		}
		if refused == nil {
			refused = err
		}
	}
	l.accepted = nil
	l.refuse(refused)
	return l.makeWith(nil, g)
}

// refuse remembers why the calibration that lies in the collection is not used;
// nil: it is, or there is none.
func (l *Assembly) refuse(why error) {
	before := l.refused
	l.refused = ""
	if why == nil {
		return
	}
	instead := "the shipped one is used"
	if l.accepted != nil {
		instead = "the one before is used"
	}
	l.refused = fmt.Sprintf("the calibration %s cannot be used, %s: %v", filepath.Join(l.options.Config.Collection, calibration.RecordFile), instead, why)
	if l.refused != before {
		l.options.Log.Warn(l.refused)
	}
}

// tellCalibration states in /readyz that the collection's calibration is not used.
func (l *Assembly) tellCalibration(api *handlers.API) {
	const name = "calibration"
	if l.refused == "" {
		api.Readiness().Remove(name)
		return
	}
	api.Readiness().Set(handlers.Component{Name: name, Status: handlers.Ready, Warnings: []string{l.refused}})
}
