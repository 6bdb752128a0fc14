// Package lease lets one of several processes at a time do something. They share a
// register, which the holder changes again and again as a sign of life.
package lease

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// Register is a document that several processes share. Read returns its data and version; the version is "" before the
// first write. Write replaces the data if the register still has this version; done reports whether it did, and now is
// the new version. Different writers must write different data.
type Register interface {
	Read(ctx context.Context) (data []byte, version string, err error)
	Write(ctx context.Context, data []byte, version string) (now string, done bool, err error)
}

const (
	Beat    = 2 * time.Second // between two signs of life of a holder
	missing = 5               // signs of life, after which a lease is free
)

// Gone returns how long after a holder's last sign of life another process may take its lease: five times beat, the
// time between two signs of life.
func Gone(beat time.Duration) time.Duration { return missing * beat }

// Lease is a lock that one process at a time can hold, over a register that all of them reach. The holder changes the
// register every Beat. A process that finds the lease held watches the register by its own clock, so clocks need not
// agree. If the holder ran on the same system, it also checks whether that process still exists.
type Lease struct {
	Register Register
	Of       string        // what is changed by who has it, such as "index passages", for errors
	Beat     time.Duration // the same for all processes
}

// holder describes the process that has a lease. Token is "" if none has it.
type holder struct {
	Token string    `json:"token"` // random
	Doing string    `json:"doing"`
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
	Beat  int       `json:"beat"` // signs of life so far
	Place string    `json:"place,omitempty"`
}

// placeHere returns a text that is equal for two processes only if they share a boot of the system and a process id
// namespace, so that their process ids can be compared. It is "" on systems other than Linux.
func placeHere() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, again := os.Readlink("/proc/self/ns/pid")
	if err != nil || again != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + space
}

// isKilled reports whether the holder's process is known to have ended: it ran in this system and is no longer there.
// false does not mean that it lives.
func (h holder) isKilled() bool {
	return h.Place != "" && h.Place == placeHere() && errors.Is(syscall.Kill(h.PID, 0), syscall.ESRCH)
}

// HeldError is the error of a process that wants a lease, or had it, while another process has it.
type HeldError struct {
	subject string
	by      holder
	after   time.Duration // without a sign of life it is free
	// Lost: it had the lease, gave no sign of life for a while, and another one took it.
	Lost bool
}

// Error names the process that has the lease and its work, and says when to start again.
func (e *HeldError) Error() string {
	who := fmt.Sprintf(
		"%s on host %s (process %d, since %s)", e.by.Doing, e.by.Host, e.by.PID,
		e.by.Since.Format(time.DateTime+" MST"),
	)
	if e.Lost {
		return fmt.Sprintf(
			"%s was taken over by %s, since this process gave no sign of life for %v: start again when that has ended",
			e.subject, who, e.after,
		)
	}
	return fmt.Sprintf(
		"%s is being changed by %s: wait until that has ended, or end it. If it was killed, start again %v after its last sign of life",
		e.subject, who, e.after,
	)
}

// heldLease is a lease that we have.
type heldLease struct {
	Lease
	us      holder
	version string
}

// takeLease takes the lease and stores doing with it. If another process has it, takeLease watches whether that lives:
// a holder counts as dead if its process is gone or the register has not changed for Gone(l.Beat). It returns a
// *HeldError at the first sign of life after patience, so even with patience 0 it may wait for one.
func (l Lease) takeLease(ctx context.Context, doing string, patience time.Duration) (*heldLease, error) {
	host, _ := os.Hostname()
	h := &heldLease{
		Lease: l,
		us: holder{
			Token: rand.Text(),
			Doing: doing,
			Host:  host,
			PID:   os.Getpid(),
			Place: placeHere(),
			Since: time.Now().UTC().Truncate(time.Second),
		},
	}
	begun := time.Now()
	for watched, since := "", time.Now(); ; {
		by, version, err := l.readHolder(ctx)
		switch {
		case err != nil:
			return nil, err
		case by.Token == "" || by.isKilled() || version == watched && time.Since(since) > Gone(l.Beat):
			done := false
			h.version, done, err = l.writeHolder(ctx, h.us, version)
			if done || err != nil {
				return h, err
			}
			continue // another one was faster
		case version != watched && watched != "" && time.Since(begun) > patience:
			return nil, &HeldError{subject: l.Of, by: by, after: Gone(l.Beat)}
		case version != watched:
			watched = version
			since = time.Now()
		}
		select {
		case <-time.After(l.Beat / 20):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// readHolder returns the holder of the lease, and the register's version; a zero holder if none was ever stored. It
// fails if the register cannot be read or has something else.
func (l Lease) readHolder(ctx context.Context) (by holder, version string, err error) {
	data, version, err := l.Register.Read(ctx)
	if err == nil && version != "" {
		err = json.Unmarshal(data, &by)
	}
	return by, version, err
}

// writeHolder stores who holds the lease if the register still has this version. It returns the new version, and
// whether it was stored. The error is that of the register.
func (l Lease) writeHolder(ctx context.Context, by holder, version string) (now string, done bool, err error) {
	data, err := json.Marshal(by)
	if err != nil {
		return "", false, err
	}
	return l.Register.Write(ctx, data, version)
}

// renewHold writes a sign of life to the register, trying again if the register was changed by an earlier one whose
// answer was lost. It returns a *HeldError with Lost set if another process has taken the lease.
func (h *heldLease) renewHold(ctx context.Context) error {
	for {
		h.us.Beat++
		now, done, err := h.writeHolder(ctx, h.us, h.version)
		if done {
			h.version = now
		}
		if done || err != nil {
			return err
		}
		by, version, err := h.readHolder(ctx)
		if err != nil {
			return err
		}
		if by.Token != h.us.Token {
			return &HeldError{subject: h.Of, by: by, after: Gone(h.Beat), Lost: true}
		}
		h.version = version // of a sign of life that nobody answered
	}
}

// Hold takes the lease, calls work, and frees the lease. It returns work's error. If another process has the lease
// and still gives signs of life after patience, it returns a *HeldError without calling work. While work runs, a
// goroutine writes a sign of life every l.Beat. If the lease is lost, work's context ends with a *HeldError as its
// cause; Hold returns that if work then fails. doing describes the work in the errors of other processes.
func (l Lease) Hold(ctx context.Context, doing string, patience time.Duration, work func(context.Context) error) error {
	h, err := l.takeLease(ctx, doing, patience)
	if err != nil {
		return err
	}
	having, end := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		again := time.NewTicker(l.Beat)
		defer again.Stop()
		for {
			select {
			case <-having.Done():
				return
			case <-again.C:
			}
			beat, cancel := context.WithTimeout(having, Gone(l.Beat))
			err := h.renewHold(beat)
			cancel()
			var other *HeldError
			if errors.As(err, &other) {
				end(other)
			}
		}
	}()
	err = work(having)
	var other *HeldError
	if lost := context.Cause(having); err != nil && errors.As(lost, &other) {
		err = lost
	}
	end(nil)
	<-ended
	free, cancel := context.WithTimeout(context.WithoutCancel(ctx), Beat)
	defer cancel()
	_, _, _ = l.writeHolder(free, holder{Since: time.Now()}, h.version) // else it is free after a while
	return err
}
