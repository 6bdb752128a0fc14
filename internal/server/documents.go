package server

import (
	"runtime"

	"example.org/conclave/configs"
	"example.org/conclave/documents"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/internal/keeping"
)

// DocumentOptions returns how files are read by a configuration. worker starts the process
// that reads PDF.
func DocumentOptions(d configs.Documents, worker documents.Worker) documents.Options {
	return documents.Options{
		Limits: documents.Limits{
			FileBytes:     int64(d.FileBytes),
			UnpackedBytes: int64(d.UnpackedBytes),
			TextBytes:     int(d.TextBytes),
			Blocks:        d.Blocks,
			Time:          d.Time,
			Depth:         d.Depth,
			Members:       d.Members,
		},
		Worker: worker,
		Words:  d.Words,
	}
}

// keepDocuments lets documents be put into what a writer writes to. Half of the processors
// read files at the most, so that searches have the others.
// Uploads of many are among the inputs of jobs until theirs has read them.
func (s *collection) keepDocuments(w keeping.Writer, inputs jobs.Inputs) {
	o := DocumentOptions(s.config.Documents, s.readsPDF)
	s.keeper = keeping.New(w, o, max(1, runtime.GOMAXPROCS(0)/2))
	s.api.AttachDocuments(s.keeper, inputs)
}
