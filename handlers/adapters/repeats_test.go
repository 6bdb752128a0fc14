package adapters_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"example.org/conclave/internal/testing/realclients"
	"example.org/conclave/search"
	"example.org/conclave/search/ask"
)

// TestRepeatedPassages: a collection that has its texts twice, the second time under another title and
// with other punctuation as of another format, is nearly as sure as one that has them once, with a reader
// too.
func TestRepeatedPassages(t *testing.T) {
	once := firstTales(t)
	twice := once
	for i, line := range strings.Split(strings.TrimSpace(once), "\n") {
		var p struct{ Text string }
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(strings.NewReplacer(",", " ,", "’", "'").Replace(p.Text))
		if err != nil {
			t.Fatal(err)
		}
		twice += fmt.Sprintf("{\"id\":\"other/%d\",\"title\":\"Tales\",\"text\":%s}\n", i, text)
	}
	questions := []string{"why did the fox want to keep the moon?", "what did the fox climb to reach the moon?"}
	sure := map[string][]float64{}
	for _, passages := range []string{once, twice} {
		t.Run("", func(t *testing.T) {
			s := serve(t, realclients.ServerOptions{Real: true, Passages: passages})
			for _, question := range questions {
				for _, read := range []bool{false, true} {
					answer := s.search(search.Request{Question: question, K: 5, TimeoutMS: 10_000, // races are looked for
						Answer: ask.AnswerOptions{Wanted: read}})
					if answer.Confidence == nil {
						t.Fatalf("%s: no confidence", question)
					}
					key := fmt.Sprint(question, read)
					sure[key] = append(sure[key], *answer.Confidence)
				}
			}
		})
	}
	for key, x := range sure {
		if len(x) == 2 && math.Abs(x[0]-x[1]) > .15 {
			t.Errorf("%s: %.3f where the passages are there once, %.3f where twice", key, x[0], x[1])
		}
	}
}
