package server

import (
	"example.org/conclave/configs"
	"example.org/conclave/documents"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/internal/keeping"
)

// DocumentOptions returns the options for reading files for a configuration. The processes of pool read them; if it
// is nil, this process does.
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
		Keep:  d.Keep,
		Words: d.Words, GitIgnore: d.GitIgnore, Encoding: d.Encoding,
	}
}

// documentOptions returns the options for reading files of this collection. Collections take turns at the processes of
// the server's pool.
func (s *collection) documentOptions() documents.Options {
	o := DocumentOptions(s.config.Documents, s.readers)
	o.Group = s.config.Passages()
	return o
}

// keepDocuments sets s.keeper, which puts documents into w, and lets the API accept documents. An upload of many
// files is stored in inputs until its job has read it.
func (s *collection) keepDocuments(w keeping.Writer, inputs jobs.Inputs) {
	var copies keeping.Originals // not a nil *originals.Folder
	if s.originals != nil && s.config.Documents.Keep {
		copies = s.originals
	}
	s.keeper = keeping.New(w, s.documentOptions(), copies)
	s.api.AttachDocuments(s.keeper, inputs)
}
