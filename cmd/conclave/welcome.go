package main

import (
	"fmt"
	"io"
	"net"
	"strings"

	"conclave/configs"
	"conclave/models"
)

// welcome says where the demo is and what to try. experts are those that can
// say how sure they are.
func welcome(out io.Writer, at net.Addr, experts []string) {
	_, port, _ := net.SplitHostPort(at.String())
	base := "http://127.0.0.1:" + port
	_, _ = fmt.Fprintf(out, `
conclave serves the demo on %[1]s (Ctrl-C stops it). Try, in another terminal:

  curl -s '%[1]s/v1/search?q=how+do+I+stop+a+nosebleed&k=3&fusion=hybrid&experts=base' | python3 -m json.tool
  curl -s %[1]s/v1/search -H 'content-type: application/json' -d '{"question": "why did the fox hide the moon?", "k": 3, "fusion": ["rrf", "sum"]}' | python3 -m json.tool
`, base)
	if len(experts) > 1 {
		_, _ = fmt.Fprintf(out, `
The experts' weights for a question of each domain:

  for q in "how deep is Lake Baikal" "does the battery last a day" "why did the fox hide the moon" "how do I stop a nosebleed" "can I have my data deleted"; do
    curl -sG %[1]s/v1/search --data-urlencode "q=$q" -d k=1 -d fusion=muf -d experts=%[2]s | python3 -c 'import json, sys; a = json.load(sys.stdin); print(a["question"], {s["name"]: s["weight"] for s in a["sources"] if s.get("weight")})'
  done
`, base, strings.Join(experts, ","))
	}
	_, _ = fmt.Fprintf(out, "\nor open %s/docs in a browser.\n", base)
}

// confident are the experts with an ensemble and a calibration.
func confident(experts []configs.Expert) []string {
	var names []string
	for _, x := range experts {
		b, err := models.Peek(x.Bundle)
		if err == nil && b.Manifest.Ensemble != nil && b.Calibration != nil {
			names = append(names, x.Name)
		}
	}
	return names
}
