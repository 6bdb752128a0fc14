package main

import (
	"log/slog"

	"conclave/calibration"
	"conclave/configs"
	"conclave/serving"
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
		var l *serving.Assembly
		l, err = serving.Assemble(serving.Options{Config: config, Log: slog.New(slog.DiscardHandler)})
		if err == nil {
			f.Detail = "auto is " + l.Auto()
			if l.Refused() != "" {
				f.Status, f.Detail = "note", l.Refused()
			}
			err = l.Close()
		}
	}
	if err != nil {
		f.Status, f.Detail = "fails", err.Error()
	}
	if f.Status == "ok" {
		f.Mend = ""
	}
	return []finding{f}
}
