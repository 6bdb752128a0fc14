package numerics

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io/fs"
	"testing"

	"example.org/conclave/encoder/wordpiece"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/models"
	"example.org/conclave/models/convert"
	"example.org/conclave/shipped"
	"example.org/conclave/shipped/demo"
)

// TestShippedExpertInInt8: the steps that an import to int8 fixes for weights
// that training has changed serve them as well as they serve the base. One
// expert stands for all: that of the domain farthest from ordinary prose.
func TestShippedExpertInInt8(t *testing.T) {
	start(t)
	const name = "policy"
	files, err := fs.Sub(shipped.FS, name)
	if err != nil {
		t.Fatal(err)
	}
	d, err := convert.OpenDelta(files)
	if err != nil {
		t.Fatal(err)
	}
	full := merged(t, d, testenv.Checkpoint(t), false)
	short := merged(t, d, testenv.Checkpoint(t), true)
	words, err := wordpiece.Open(full.Path(full.Manifest.Tokenizer), full.Manifest.LowerCase)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"questions/dev.jsonl", "passages/policy.jsonl", "passages/tales.jsonl"} {
		var all []text
		for _, line := range demoLines(t, file, 20) {
			ids, err := words.Encode(line, 256)
			if err != nil {
				t.Fatal(err)
			}
			var x text
			for _, id := range ids {
				x.ids = append(x.ids, int(id))
			}
			all = append(all, x)
		}
		want := batches(t, open(t, full, models.Passage), all, 16)
		got := batches(t, open(t, short, models.Passage), all, 16)
		base := batches(t, open(t, base(t, models.PrecisionFP32), models.Passage), all, 16)
		var sum, moved float64
		least := 1.0
		for i := range all {
			c := cosine(want[i], got[i])
			moved = moved + cosine(want[i], base[i])
			sum = sum + c
			least = min(least, c)
		}
		n := float64(len(all))
		t.Logf(
			"%s: cosine of int8 to float32 %.4f on average, %.4f at least; of the base to the expert %.4f",
			file,
			sum/n,
			least,
			moved/n,
		)
		if !(sum/n >= 0.99) || !(least >= 0.97) {
			t.Errorf("%s: cosine %.4f on average, %.4f at least; 0.99 and 0.97 are needed", file, sum/n, least)
		}
		if !(moved/n < 0.995) {
			t.Errorf("%s: the expert is the base", file)
		}
	}
}

// demoLines returns the first texts of a file of the demo, every third.
func demoLines(t *testing.T, file string, most int) []string {
	t.Helper()
	data, err := fs.ReadFile(demo.FS, file)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	lines := bufio.NewScanner(bytes.NewReader(data))
	for i := 0; lines.Scan() && len(all) < most; i++ {
		var line struct{ Question, Title, Text string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 {
			all = append(all, or(line.Question, line.Title+". "+line.Text))
		}
	}
	return all
}
