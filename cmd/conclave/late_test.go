package main

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/calibration"
	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/models/convert/tiny"
	"example.org/conclave/search/reply"
)

// TestLateInteractionJoins: an expert of late interaction joins a collection, is
// calibrated with it, takes part in what auto answers, can be left out of one
// answer, and leaves again; every command knows it.
func TestLateInteractionJoins(t *testing.T) {
	calibratable(t)
	if _, err := tiny.Write(filepath.Join("experts", "tokens"),
		tiny.Expert{Name: "tokens", Seed: 7, Late: 16}); err != nil {
		t.Fatal(err)
	}
	must := func(args ...string) string {
		t.Helper()
		code, out, complaints := conclave(t, args...)
		if code != cli.ExitOK {
			t.Fatalf("%v: exit code %d\n%s%s", args, code, out, complaints)
		}
		return out
	}
	must("index", "--collection", "c", "--add-expert", "tokens")
	must(both("calibrate", "--collection", "c")...)
	r, err := calibration.ReadRecord("c")
	if err != nil || r.Gate == nil || len(r.Gate.Late) == 0 || r.GateWithoutLate == nil ||
		len(r.GateWithoutLate.Late) != 0 {
		t.Fatalf("the record is %+v, %v", r, err)
	}
	for _, x := range r.Sources {
		if x.Name == "tokens" {
			t.Errorf("late interaction has a chance of its own first hit, of which it has none: %+v", x)
		}
	}

	gated := searched(t, "--fusion", "gate")
	at := slices.IndexFunc(gated.Sources, func(s reply.Source) bool { return s.Name == "tokens" })
	if at < 0 || gated.Sources[at].Kind != reply.KindLate || *gated.Sources[at].Weight <= 0 || gated.Confidence == nil {
		t.Fatalf("the sources are %+v", gated.Sources)
	}
	const most = 1.1 // of a score: 1, and what codes of two bits may be wrong by in 16 dimensions
	for _, result := range gated.Results {
		sum := 0.0
		for _, c := range result.Contributions {
			sum += c.Contribution
			if c.Source == "tokens" && (c.Origin != "scored" || c.Score == nil || math.Abs(*c.Score) > most) {
				t.Errorf("%s: %+v", result.ID, c)
			}
		}
		if math.Abs(sum-result.Score) > 1e-6 {
			t.Errorf("%s: contributions add up to %v, the score is %v", result.ID, sum, result.Score)
		}
	}
	without := searched(t, "--fusion", "gate", "--no-late")
	if slices.ContainsFunc(without.Sources, func(s reply.Source) bool { return s.Name == "tokens" }) ||
		without.Confidence != nil {
		t.Errorf("without it: %+v, confidence %v", without.Sources, without.Confidence)
	}
	if code, _, complaints := conclave(t, "search", "--collection", "c", "--experts", "tokens",
		"who"); code != cli.ExitFailed ||
		!strings.Contains(complaints, "late interaction") {
		t.Errorf("asked by itself: exit code %d, %s", code, complaints)
	}
	must("verify", "--collection", "c")

	must("index", "--collection", "c", "--remove-expert", "tokens")
	removed := searched(t, "--fusion", "gate")
	if !slices.Equal(idsOf(removed), idsOf(without)) || removed.Confidence != nil {
		t.Errorf("after it left: %v, confidence %v; left out it was %v", idsOf(removed), removed.Confidence, idsOf(without))
	}
}

// idsOf returns the ids of a response's results, best first.
func idsOf(r reply.Response) (ids []string) {
	for _, x := range r.Results {
		ids = append(ids, x.ID)
	}
	return ids
}

// TestOneLateInteraction: of two, none is chosen silently; the error says how one
// is.
func TestOneLateInteraction(t *testing.T) {
	calibratable(t)
	for seed, name := range []string{"tokens", "more"} {
		if _, err := tiny.Write(filepath.Join("experts", name),
			tiny.Expert{Name: name, Seed: uint64(seed) + 7, Late: 16}); err != nil {
			t.Fatal(err)
		}
		if code, _, complaints := conclave(t, "index", "--collection", "c", "--add-expert", name); code != cli.ExitOK {
			t.Fatal(complaints)
		}
	}
	if code, _, complaints := conclave(t, "search", "--collection", "c", "who"); code != cli.ExitFailed ||
		!strings.Contains(complaints, "tokens and more") ||
		!strings.Contains(complaints, "--remove-expert") {
		t.Errorf("exit code %d, %s", code, complaints)
	}
}
