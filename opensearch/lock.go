package opensearch

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

// A lock is a register with its holder, who changes it again and again. Nobody compares
// clocks: one who finds a lock held watches for a while whether it changes. Where the
// holder was a process of the same system, it also sees whether that is gone.
const (
	beating = 2 * time.Second // between two signs of life of a holder
	missing = 5               // signs of life, after which a lock is free
)

// The locks of an index.
const (
	indexLock = "lock"      // of who fills it, or adds or removes an expert: one at a time, others are refused
	metaLock  = "meta-lock" // of who reads _meta, changes and writes it: others wait
)

// holder is who has a lock; one that nobody has is of no token.
type holder struct {
	Token string    `json:"token"` // random
	Doing string    `json:"doing"`
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
	Beat  int       `json:"beat"` // signs of life so far
	Place string    `json:"place,omitempty"`
}

// placeHere is where process ids are those of this process: the boot of the system and the
// namespace, as Linux knows them; elsewhere "".
func placeHere() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, again := os.Readlink("/proc/self/ns/pid")
	if err != nil || again != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + space
}

// killed reports that the process is known to be gone: nobody need wait for it.
func (h holder) killed() bool {
	return h.Place != "" && h.Place == placeHere() && errors.Is(syscall.Kill(h.PID, 0), syscall.ESRCH)
}

// HeldError is the error of one who wants to change an index that another one changes.
type HeldError struct {
	Index string
	by    holder
	after time.Duration // without a sign of life a lock is free
	// Lost: it had the lock, gave no sign of life for a while, and another one took it.
	Lost bool
}

func (e *HeldError) Error() string {
	who := fmt.Sprintf("%s on host %s (process %d, since %s)", e.by.Doing, e.by.Host, e.by.PID, e.by.Since.Format(time.DateTime+" MST"))
	if e.Lost {
		return fmt.Sprintf("index %s was taken over by %s, since nothing was heard from here for %v: start again when that has ended", e.Index, who, e.after)
	}
	return fmt.Sprintf("index %s is being changed by %s: wait until that has ended, or end it. If it was killed, start again; its place is free %v after its last sign of life", e.Index, who, e.after)
}

// lock is held.
type lock struct {
	register *Register
	of       string // the index
	gone     time.Duration
	us       holder
	version  string
}

// take takes a lock. Where another one has it and lives that is a *HeldError, or
// waited for.
func (s *Store) take(ctx context.Context, name, doing string, wait bool) (*lock, error) {
	host, _ := os.Hostname()
	l := &lock{register: s.Register(name), of: s.concrete, gone: missing * s.beat, us: holder{Token: rand.Text(), Doing: doing, Host: host, PID: os.Getpid(), Place: placeHere(), Since: time.Now().UTC().Truncate(time.Second)}}
	begun := time.Now()
	for watched, since := "", time.Now(); ; {
		by, version, err := l.read(ctx)
		switch {
		case err != nil:
			return nil, err
		case by.Token == "" || by.killed() || version == watched && time.Since(since) > l.gone:
			done := false
			if l.version, done, err = l.write(ctx, l.us, version); done || err != nil {
				return l, err
			}
			continue // another one was faster
		case version != watched && watched != "" && (!wait || time.Since(begun) > bulkPatience):
			return nil, &HeldError{Index: l.of, by: by, after: l.gone}
		case version != watched:
			watched, since = version, time.Now()
		}
		if err := sleep(ctx, s.beat/20); err != nil {
			return nil, err
		}
	}
}

func (l *lock) read(ctx context.Context) (by holder, version string, err error) {
	data, version, err := l.register.Read(ctx)
	if err == nil && version != "" {
		err = json.Unmarshal(data, &by)
	}
	return by, version, err
}

func (l *lock) write(ctx context.Context, by holder, version string) (now string, done bool, err error) {
	data, err := json.Marshal(by)
	if err != nil {
		return "", false, err
	}
	return l.register.Write(ctx, data, version)
}

// beat gives a sign of life. It is a *HeldError where the lock is another's.
func (l *lock) beat(ctx context.Context) error {
	for {
		l.us.Beat++
		now, done, err := l.write(ctx, l.us, l.version)
		if done {
			l.version = now
		}
		if done || err != nil {
			return err
		}
		by, version, err := l.read(ctx)
		if err != nil {
			return err
		}
		if by.Token != l.us.Token {
			return &HeldError{Index: l.of, by: by, after: l.gone, Lost: true}
		}
		l.version = version // of a sign of life that nobody answered
	}
}

// holding does work while it holds a lock. The context of the work ends when the lock is
// lost.
func (s *Store) holding(ctx context.Context, name, doing string, wait bool, work func(context.Context) error) error {
	l, err := s.take(ctx, name, doing, wait)
	if err != nil {
		return err
	}
	held, end := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for sleep(held, s.beat) == nil {
			beat, cancel := context.WithTimeout(held, l.gone)
			err := l.beat(beat)
			cancel()
			var other *HeldError
			if errors.As(err, &other) {
				end(other)
			}
		}
	}()
	err = work(held)
	var other *HeldError
	if lost := context.Cause(held); err != nil && errors.As(lost, &other) {
		err = lost
	}
	end(nil)
	<-ended
	free, cancel := context.WithTimeout(context.WithoutCancel(ctx), beating)
	defer cancel()
	_, _, _ = l.write(free, holder{Since: time.Now()}, l.version) // else it is free after a while
	return err
}

// changeMeta changes _meta, as it is now, and adds fields that are new.
func (s *Store) changeMeta(ctx context.Context, fields object, change func(*meta) error) error {
	return s.holding(ctx, metaLock, "a change of _meta", true, func(ctx context.Context) error {
		now, err := open(ctx, s.client, s.index, bulkPatience)
		if err != nil {
			return err
		}
		about := now.about
		if err := change(&about); err != nil {
			return err
		}
		return s.putMapping(ctx, about, fields)
	})
}
