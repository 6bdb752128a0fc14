package main

import (
	"fmt"
	"io"
	"net"
)

// welcome says where the demo is and what to try. With experts there is a
// question for each domain of the corpus, to see the weights move.
func welcome(out io.Writer, at net.Addr, experts int) {
	_, port, _ := net.SplitHostPort(at.String())
	base := "http://127.0.0.1:" + port
	_, _ = fmt.Fprintf(out, `
conclave serves the demo on %[1]s (Ctrl-C stops it). Try, in another terminal:

  curl -s '%[1]s/v1/search?q=why+did+the+fox+hide+the+moon&k=1' | python3 -m json.tool
  curl -s %[1]s/v1/search -H 'content-type: application/json' -d '{"question": "how do I stop a nosebleed?", "k": 3, "fusion": ["auto", "rrf"]}' | python3 -m json.tool
`, base)
	if experts > 0 {
		_, _ = fmt.Fprintf(out, `
Which experts count, for a question of each domain:

  for q in "who discovered penicillin" "does the battery last a day" "why did the fox hide the moon" "how do I stop a nosebleed" "can I have my data deleted"; do
    curl -sG %[1]s/v1/search --data-urlencode "q=$q" -d k=1 | python3 -c 'import json, sys; a = json.load(sys.stdin); print(a["question"], "->", a["results"][0]["title"], sorted(((round(s.get("weight", 0), 2), s["name"]) for s in a["sources"]), reverse=True)[:3])'
  done
`, base)
	}
	_, _ = fmt.Fprintf(out, "\nor open %s/docs in a browser.\n", base)
}
