package server

import (
	"example.org/conclave/configs"
	"example.org/conclave/documents"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/internal/keeping"
)

// DocumentOptions returns how files are read by a configuration, by the processes of a pool; nil: in this
// one.
func DocumentOptions(d configs.Documents, pool *documents.Pool) documents.Options {
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
		Pool:  pool,
		Words: d.Words, GitIgnore: d.GitIgnore, Encoding: d.Encoding,
	}
}

// documentOptions returns how the files of the collection are read: those who wait for a process of the
// server's are taken in turn by collection.
func (s *collection) documentOptions() documents.Options {
	o := DocumentOptions(s.config.Documents, s.readers)
	o.Group = s.config.Passages()
	return o
}

// keepDocuments lets documents be put into what a writer writes to.
// Uploads of many are among the inputs of jobs until theirs has read them.
func (s *collection) keepDocuments(w keeping.Writer, inputs jobs.Inputs) {
	s.keeper = keeping.New(w, s.documentOptions())
	s.api.AttachDocuments(s.keeper, inputs)
}
