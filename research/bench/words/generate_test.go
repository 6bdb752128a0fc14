package words

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestGeneratorIsNatural: words follow Zipf's law as English does (the slope of
// log frequency over log rank is near −1), the vocabulary keeps growing with the
// text (Heaps), and the same seed makes the same text.
func TestGeneratorIsNatural(t *testing.T) {
	passages, questions := NewGenerator(1, 300_000).Collection(4000, 50)
	again, asked := NewGenerator(1, 300_000).Collection(4000, 50)
	for i := range passages {
		if passages[i].Text != again[i].Text || passages[i].Title != again[i].Title {
			t.Fatalf("passage %d is not the same for the same seed", i)
		}
	}
	if !slices.Equal(questions, asked) {
		t.Fatal("questions are not the same for the same seed")
	}
	counts := make(map[string]int)
	var half, tokens int
	for i, p := range passages {
		if i == len(passages)/2 {
			half = len(counts)
		}
		for _, word := range strings.Fields(p.Text) {
			counts[word]++
			tokens++
		}
	}
	byCount := slices.SortedFunc(maps.Values(counts), func(a, b int) int { return cmp.Compare(b, a) })
	slope := math.Log(float64(byCount[999])/float64(byCount[9])) / math.Log(100)
	growth := math.Log(float64(len(counts))/float64(half)) / math.Log(2)
	t.Logf(
		"%d words, %d distinct, slope %.2f between ranks 10 and 1000, vocabulary grows with exponent %.2f",
		tokens,
		len(counts),
		slope,
		growth,
	)
	if slope > -0.7 || slope < -1.3 {
		t.Errorf("the slope is %.2f", slope)
	}
	if growth < 0.3 || growth > 0.9 {
		t.Errorf("the vocabulary grows with exponent %.2f", growth)
	}
	if tokens < 80*4000 || tokens > 120*4000 {
		t.Errorf("%d words in 4000 passages", tokens)
	}
}

func TestMeasure(t *testing.T) {
	passages, questions := NewGenerator(2, 50_000).Collection(300, 20)
	r, err := Measure(t.Context(), passages, questions, Trial{K: 10, Rounds: 1, Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if r.Passages != 300 || r.Questions != 20 || r.K != 10 || r.Rate <= 0 || r.PassageRate <= 0 || r.Bytes == 0 ||
		r.Median <= 0 {
		t.Errorf("%+v", r)
	}
	if _, err := Measure(t.Context(), passages, nil, Trial{}); err == nil {
		t.Error("no questions were accepted")
	}
}
