// Command checkpoint writes the encoder for many languages as a checkpoint (.5 GB), which conclave-train takes as its
// base: setup makes the bundle of one that it removes again.
//
//	go run ./research/bench/languages/checkpoint -weights CACHE/checkpoints/multilingual-e5-small/e5-small-q4.bin \
//	    -out DIR
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"path/filepath"

	"example.org/conclave/models/convert/e5s"
)

func main() {
	weights := flag.String("weights", "", "the file that conclave setup --languages fetches")
	out := flag.String("out", "", "folder of the checkpoint")
	flag.Parse()
	model, err := e5s.Open(*weights)
	if err == nil {
		err = os.MkdirAll(*out, 0o755)
	}
	if err == nil {
		err = model.WriteCheckpoint(context.Background(), *out)
	}
	if err == nil { // by which conclave-train knows the licence
		err = os.WriteFile(filepath.Join(*out, "README.md"), []byte("---\nlicense: mit\n---\n"), 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}
