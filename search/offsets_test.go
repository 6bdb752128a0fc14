package search

import (
	"math/rand/v2"
	"testing"
	"unicode/utf16"

	"example.org/conclave/search/reply"
)

// TestOffsets compares with the conversions of Go's library, at every place of random
// texts, in any order.
func TestOffsets(t *testing.T) {
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, 1))
	letters := []rune("ab é東😀\u0301\U0001F468\u200d߿ࠀ\uffff")
	for range 50 {
		var runes []rune
		for range rng.IntN(40) {
			runes = append(runes, letters[rng.IntN(len(letters))])
		}
		text := string(runes)
		places := []int{len(text)}
		for at := range text {
			places = append(places, at)
		}
		rng.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
		points, units := reply.Counter{
			Text: text,
			Unit: reply.OffsetCodePoints,
		}, reply.Counter{
			Text: text,
			Unit: reply.OffsetUTF16,
		}
		for _, at := range places {
			if want, got := len([]rune(text[:at])), points.CountTo(at); got != want {
				t.Fatalf("seed %d, %q: byte %d is code point %d, want %d", seed, text, at, got, want)
			}
			if want, got := len(utf16.Encode([]rune(text[:at]))), units.CountTo(at); got != want {
				t.Fatalf("seed %d, %q: byte %d is unit %d, want %d", seed, text, at, got, want)
			}
		}
	}
}

// TestOffsetsOfARequest: unknown ones are refused.
func TestOffsetsOfARequest(t *testing.T) {
	s, _ := withReader()
	if e := s.refused(t, Request{Question: askedOften, Offsets: "runes"}); e.Code != "unknown_value" ||
		e.Fields[0].Pointer != "/offsets" {
		t.Errorf("%+v", e)
	}
	if got := s.ask(t, Request{Question: askedOften, Offsets: reply.OffsetBytes}); got.Offsets != "" {
		t.Errorf("%q", got.Offsets)
	}
}
