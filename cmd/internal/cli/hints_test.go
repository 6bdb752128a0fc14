package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"testing"

	"example.org/conclave/configs"
	"example.org/conclave/encoder"
	"example.org/conclave/internal/disk"
	"example.org/conclave/search/fault"
	"example.org/conclave/store/folder"
)

// TestHints: every fault of a collection has a hint, wherever in an error it is,
// and each hint is said once.
func TestHints(t *testing.T) {
	faults := []error{
		folder.ErrNotCollection, folder.ErrNoVectors, folder.ErrHasVectors, folder.ErrNoOwner, folder.ErrIsOwner,
		folder.ErrOtherEncoder, folder.ErrNoEncoder,
		folder.ErrLowRecall, folder.ErrDamagedVectors, folder.ErrDamagedWords, folder.ErrOtherAnalyser, folder.ErrOtherWords,
	}
	for _, what := range faults {
		e := &folder.Error{Fault: what, Dir: "c", Expert: "x", Err: errors.New("found")}
		hints := Hints(fmt.Errorf("opening: %w", errors.Join(fs.ErrInvalid, e, fmt.Errorf("again: %w", e))))
		if len(hints) != 1 || !strings.Contains(hints[0], "conclave index --collection c ") {
			t.Errorf("%v: %q", what, hints)
		}
	}
	for want, err := range map[string]error{
		"conclave verify":             fmt.Errorf("searching: %w", disk.ErrFault),
		"conclave calibrate":          &fault.Error{Code: "needs_calibration", Detail: "nothing was fitted"},
		"conclave index --add-expert": &fault.Error{Code: "needs_experts", Detail: "none has an ensemble"},
		"conclave setup":              &encoder.RuntimeError{Path: "nowhere.so", Err: fs.ErrNotExist},
	} {
		if hints := Hints(err); len(hints) != 1 || !strings.HasPrefix(hints[0], want) {
			t.Errorf("%v: %q, want %q", err, hints, want)
		}
	}
	if hints := Hints(fs.ErrNotExist); hints != nil {
		t.Errorf("%q", hints)
	}
}

// TestHintsAreLogged: a log has the hint beside the cause.
func TestHintsAreLogged(t *testing.T) {
	err := &folder.Error{Fault: folder.ErrNoVectors, Dir: "c", Expert: "x", Err: errors.New("found")}
	for format, want := range map[string]string{
		"json": `"cause":"found","hint":"conclave index --collection c --add-expert x"`,
		"text": `cause=found hint="conclave index --collection c --add-expert x"`,
	} {
		var out bytes.Buffer
		NewLogger(&out, configs.Log{Level: "info", Format: format}).Error("it failed", "cause", err)
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s lacks %s", out.String(), want)
		}
	}
	var out bytes.Buffer
	NewPlainLogger(&out, configs.Log{}).Error("it failed", slog.Any("cause", err))
	if want := "conclave: it failed: found\n  -> conclave index --collection c --add-expert x\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
