package main

import (
	"fmt"

	"conclave/configs"
	"conclave/serving"
)

// examineFiles tells how many connections a server would take.
func examineFiles(config configs.Config) finding {
	f := finding{What: "open files", Status: "ok"}
	files, err := serving.OpenFiles()
	if err != nil {
		f.Status, f.Detail = "note", err.Error()
		return f
	}
	most := serving.ConnectionsWithin(files)
	if set := config.Server.Connections; set > 0 {
		f.Detail = fmt.Sprintf("%d allowed; server.connections is %d", files, set)
		if set > most {
			f.Status, f.Mend = "note", fmt.Sprintf("connections could leave fewer than %d files to the collection: server.connections of at most %d, or a higher ulimit -n", serving.StoreFiles, most)
		}
		return f
	}
	f.Detail = fmt.Sprintf("%d allowed; a server takes %d connections, the rest is the collection's", files, most)
	switch {
	case most < serving.LeastConnections:
		f.Status, f.Mend = "fails", "ulimit -n 1024"
	case files < 2*serving.StoreFiles:
		f.Status, f.Mend = "note", "a higher ulimit -n allows more connections"
	}
	return f
}
