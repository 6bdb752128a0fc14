package serving

import (
	"strings"
	"testing"

	"conclave/configs"
)

// TestRequestMemory: the default is a part of the machine's memory and has room for the
// largest answer and body; so has what is configured, or it is refused.
func TestRequestMemory(t *testing.T) {
	all, err := machineMemory()
	if err != nil || all < 1<<28 {
		t.Fatalf("%d bytes, %v", all, err)
	}
	l := configs.Defaults().Limits
	derived, err := requestMemory(l)
	if err != nil {
		t.Fatal(err)
	}
	answers, body := configs.Rooms(derived)
	if answers+body > derived/2 || answers < 4*int64(l.AnswerBytes) || body < 2*int64(l.BodyBytes) {
		t.Errorf("of %d bytes %d are for answers and %d for bodies", derived, answers, body)
	}
	if derived != all/4 && all > 2<<30 {
		t.Errorf("%d of the machine's %d bytes", derived, all)
	}
	l.Memory = 64 << 20 // less than four times limits.answer_bytes
	if _, err := requestMemory(l); err == nil || !strings.Contains(err.Error(), "limits.answer_bytes") {
		t.Errorf("64 MiB: %v", err)
	}
	l.AnswerBytes = 4 << 20
	if got, err := requestMemory(l); err != nil || got != 64<<20 {
		t.Errorf("64 MiB for answers of 4 MiB: %d, %v", got, err)
	}
}
