package main

import (
	"fmt"
	"io"
	"net"
)

// welcome says where the demo is and what to try.
func welcome(out io.Writer, at net.Addr) {
	_, port, _ := net.SplitHostPort(at.String())
	base := "http://127.0.0.1:" + port
	_, _ = fmt.Fprintf(out, `
conclave serves the demo on %[1]s (Ctrl-C stops it). Try, in another terminal:

  curl -s '%[1]s/v1/search?q=why+did+the+fox+hide+the+moon&k=1' | python3 -m json.tool
  curl -s %[1]s/v1/search -H 'content-type: application/json' -d '{"question": "how do I stop a nosebleed?", "k": 3, "fusion": ["auto", "rrf"]}' | python3 -m json.tool
`, base)
	_, _ = fmt.Fprintf(out, "\nor open %s in a browser.\n", base)
}
