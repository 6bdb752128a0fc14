package jobs

import (
	"context"
	"encoding/json"

	"example.org/conclave/internal/jobs/lease"
)

// SharedRegister is the Register of a store. It uses two registers of the cluster: one holds the list of jobs, the
// other the lease of the server that works on them. A server that gives no sign of life for lease.Gone loses its job to
// another one.
type SharedRegister struct {
	register lease.Register
	working  lease.Lease
}

// NewShared returns the register of jobs that several servers share. register stores the list, working the lease of
// the server that does the jobs; they must be two registers of the same store. It reads nothing yet.
func NewShared(register, working lease.Register) *SharedRegister {
	return &SharedRegister{
		register: register,
		working:  lease.Lease{Register: working, Of: "the list of jobs", Beat: lease.Beat},
	}
}

// Read returns the jobs as the store has them now; an empty list if none was ever stored. It fails if the store does
// not answer.
func (s *SharedRegister) Read(ctx context.Context) (*Ledger, error) {
	l, _, err := s.readLedger(ctx)
	return l, err
}

// readLedger returns the ledger with its version in the register; an empty ledger and "" if none was written yet. It
// fails if the register cannot be read or has something else.
func (s *SharedRegister) readLedger(ctx context.Context) (l *Ledger, version string, err error) {
	l = &Ledger{}
	data, version, err := s.register.Read(ctx)
	if err == nil && version != "" {
		err = json.Unmarshal(data, l)
	}
	l.Next = max(l.Next, 1)
	return l, version, err
}

// Change calls change with the present jobs and stores the result durably. It calls change again if another server
// changed the list meanwhile. If change fails, it returns that error and stores nothing.
func (s *SharedRegister) Change(ctx context.Context, change func(*Ledger) error) error {
	for {
		l, version, err := s.readLedger(ctx)
		if err != nil {
			return err
		}
		if err := change(l); err != nil {
			return err
		}
		data, err := json.Marshal(l)
		if err != nil {
			return err
		}
		if _, done, err := s.register.Write(ctx, data, version); done || err != nil {
			return err
		}
	}
}

// Hold calls work while this server alone works on the jobs, and returns its error. It returns a *lease.HeldError,
// without calling work, if another server does. If another one takes over, work's context ends with such an error as
// its cause.
func (s *SharedRegister) Hold(ctx context.Context, work func(context.Context) error) error {
	return s.working.Hold(ctx, "a job", 0, work)
}

// Scratch returns "": there is no folder that every server can reach.
func (s *SharedRegister) Scratch(string) string { return "" }
