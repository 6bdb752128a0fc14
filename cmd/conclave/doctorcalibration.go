package main

import (
	"errors"
	"log/slog"

	"conclave/calibration"
	"conclave/configs"
)

// examineCalibration opens the collection as a server would, and says whether its
// calibration is used.
func examineCalibration(config configs.Config) []finding {
	f := finding{What: "calibration", Status: "ok", Mend: "conclave calibrate --collection " + config.Collection + " --questions FILE"}
	record, err := calibration.ReadRecord(config.Collection)
	if record == nil && err == nil {
		return nil // a server has what is shipped
	}
	if err == nil {
		var l *library
		l, err = openSearched(config, slog.New(slog.DiscardHandler), nil)
		if err == nil {
			f.Detail = "auto is " + l.auto()
			if l.refused != "" {
				f.Status, f.Detail = "note", l.refused
			}
		}
		err = errors.Join(err, l.Close())
	}
	if err != nil {
		f.Status, f.Detail = "fails", err.Error()
	}
	if f.Status == "ok" {
		f.Mend = ""
	}
	return []finding{f}
}
