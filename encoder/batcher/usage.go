package batcher

import (
	"math"
	"time"
)

// usage is what the tenants of a machine used of it lately. The machine's lock guards it.
type usage struct {
	of map[string]*tenantUse
}

// tenantUse is what one tenant used.
type tenantUse struct {
	seconds float64   // of runs, fewer the longer ago
	at      time.Time // when seconds was as it is
	asked   time.Time // when it asked a question last
}

const (
	// longRun is how long a run takes whose tenant is to rest behind it: nobody can take it back.
	longRun = 20 * time.Millisecond
	// restShare is how many times as long as its run a tenant rests, so that the others mostly find the cores free.
	restShare = 2
	// heavyUse is how many seconds of runs in the last second or so make a tenant one that uses much.
	heavyUse = .25
	// mostTenants is how many are remembered that do nothing any more.
	mostTenants = 1000
)

// tenant returns what is known of a tenant at a time.
func (u *usage) tenant(name string, now time.Time) *tenantUse {
	t := u.of[name]
	if t == nil {
		if u.of == nil || len(u.of) >= mostTenants {
			u.of = map[string]*tenantUse{} // of those that are still here more is known soon
		}
		t = &tenantUse{at: now}
		u.of[name] = t
	}
	t.seconds *= math.Exp(-now.Sub(t.at).Seconds() / quietAfter.Seconds())
	t.at = now
	return t
}

// rest counts a run that took so long, and returns for how long its tenant is to leave the cores to others: for
// one that uses much, behind a long run, while one that uses little asks. 0: not at all.
func (u *usage) rest(name string, took time.Duration, now time.Time) time.Duration {
	t := u.tenant(name, now)
	t.seconds += took.Seconds()
	if took < longRun || t.seconds < heavyUse {
		return 0
	}
	for other, known := range u.of {
		if other != name && now.Sub(known.asked) < quietAfter && u.tenant(other, now).seconds < heavyUse {
			return restShare * took
		}
	}
	return 0
}
