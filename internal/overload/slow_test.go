package overload

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestSlow: only what the deadline of a connection ends says that its client is slow, wherever in
// an error that stands.
func TestSlow(t *testing.T) {
	near, far := net.Pipe()
	defer func() { _, _ = near.Close(), far.Close() }()
	if err := near.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	_, late := near.Read(make([]byte, 1))
	for err, want := range map[error]bool{
		late: true, fmt.Errorf("reading: %w", late): true,
		context.DeadlineExceeded: false, net.ErrClosed: false, nil: false,
	} {
		slow := Slow("nothing came", err)
		if (slow != nil) != want {
			t.Errorf("%v: %v", err, slow)
		}
		if slow != nil && (!errors.Is(slow, os.ErrDeadlineExceeded) || !strings.HasPrefix(slow.Error(), "nothing came: ")) {
			t.Errorf("%v does not say what it is of", slow)
		}
	}
}

// TestPace adds up by hand when a client is too slow: ten seconds, and one for each hundred bytes
// that came, of time in which it was waited for. The clock is the test's.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var p Pace
		ends := func(what string, want time.Duration, waited bool) {
			t.Helper()
			end, is := p.Until(10*time.Second, 100)
			if is != waited || is && end.Sub(began) != want {
				t.Errorf("%s: after %v (%t), want %v (%t)", what, end.Sub(began), is, want, waited)
			}
		}
		ends("nobody reads", 0, false)
		p.Begin()
		ends("nothing came", 10*time.Second, true)
		time.Sleep(4 * time.Second)
		p.End(200)
		time.Sleep(time.Hour) // what came is stored
		ends("nobody reads again", 0, false)
		p.Begin()
		ends("200 bytes in four seconds", time.Hour+4*time.Second+8*time.Second, true)
	})
}
