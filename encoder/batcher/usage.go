package batcher

import (
	"math"
	"time"
)

// usage is the recent time of runs of each tenant of a Machine. Machine.mu guards it.
type usage struct {
	byTenant map[string]*tenantUse
}

// tenantUse is the recent time of one tenant's runs.
type tenantUse struct {
	seconds float64   // of runs, decayed exponentially with their age
	at      time.Time // when seconds was computed
	asked   time.Time // when its last question came
}

const (
	// longRun is the least duration of a run after which its tenant may have to rest. A run cannot be preempted.
	longRun = 20 * time.Millisecond
	// restShare times the duration of its run is how long a tenant rests, so that others mostly find free cores.
	restShare = 2
	// heavyUse is the recent seconds of runs from which a tenant counts as heavy, and below which as light.
	heavyUse = .25
	// mostTenants is the number of remembered tenants at which all are forgotten.
	mostTenants = 1000
)

// useOf returns the use of the tenant with this name, decayed to now. It creates one without use for a new tenant; if
// mostTenants are remembered, it forgets them first.
func (u *usage) useOf(name string, now time.Time) *tenantUse {
	t := u.byTenant[name]
	if t == nil {
		if u.byTenant == nil || len(u.byTenant) >= mostTenants {
			u.byTenant = map[string]*tenantUse{} // of those that are still here more is known soon
		}
		t = &tenantUse{at: now}
		u.byTenant[name] = t
	}
	t.seconds *= math.Exp(-now.Sub(t.at).Seconds() / quietAfter.Seconds())
	t.at = now
	return t
}

// addRun adds a run that took this long to a tenant's use, and returns how long the tenant must not start another run.
// It is 0 unless the run was long (longRun), the tenant is heavy (heavyUse), and a light tenant asked within
// quietAfter.
func (u *usage) addRun(name string, took time.Duration, now time.Time) time.Duration {
	t := u.useOf(name, now)
	t.seconds += took.Seconds()
	if took < longRun || t.seconds < heavyUse {
		return 0
	}
	for other, known := range u.byTenant {
		if other != name && now.Sub(known.asked) < quietAfter && u.useOf(other, now).seconds < heavyUse {
			return restShare * took
		}
	}
	return 0
}
