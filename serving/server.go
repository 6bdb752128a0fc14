package serving

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"time"

	"conclave/admission"
	"conclave/configs"
	"conclave/handlers"
	"conclave/jobs"
)

// Serve listens at once, loads, answers until ctx is done, and drains. ready
// is called with the address once questions are answered.
func Serve(ctx context.Context, config configs.Config, log *slog.Logger, version string, ready func(net.Addr)) error {
	started := time.Now()
	metrics := handlers.NewMetrics()
	control, err := admission.New(config.Limits.Concurrency, runtime.GOMAXPROCS(0), time.Now)
	if err != nil {
		return err
	}
	api, err := newAPI(config, log, metrics, control)
	if err != nil {
		return err
	}
	listener, err := api.Listen(ctx, config.Listen)
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	options := serveOptions(config.Server)
	if options.Connections == 0 {
		if options.Connections, err = defaultConnections(); err != nil {
			return errors.Join(err, listener.Close())
		}
	}
	go func() { served <- api.Serve(running, listener, options); stop() }()

	api.Readiness().Set(handlers.Component{Name: "collection", Status: handlers.Starting})
	l, err := openServed(config, log, handlers.Observer{Metrics: metrics, Logger: log}, control)
	var queue *jobs.Queue
	if err == nil && l.live != nil {
		// Before it is ready, so that who is ready is ready for writes too.
		queue, err = l.acceptWrites(api)
	}
	if err == nil {
		err = announce(api, l, metrics, version)
	}
	finish := func() {}
	var generation uint64
	var passages, experts int
	if err == nil { // before anything changes them
		generation, passages = l.Engine.Generation()
		experts = len(l.Experts.All())
	}
	switch {
	case err != nil:
	case queue != nil:
		finish = work(running, queue)
	default:
		finish = l.keepUp(running)
	}
	verified, calibrated := func() {}, func() {}
	if err == nil {
		calibrated = l.keepCalibrated(running)
		verified = l.verifyAhead(running)
		log.Info("ready", "address", listener.Addr().String(), "collection", config.Collection, "generation", generation,
			"passages", passages, "experts", experts, "took", time.Since(started).Round(time.Millisecond).String())
		ready(listener.Addr())
		<-running.Done()
	}
	// Requests end before what they use is closed, jobs too.
	stop()
	err = errors.Join(err, <-served)
	verified()
	calibrated()
	finish()
	return errors.Join(err, l.Close())
}

// announce states each component in /readyz, connects the encoders' counters
// to /metrics, and lets questions in.
func announce(api *handlers.API, l *Assembly, metrics *handlers.Metrics, version string) error {
	api.Readiness().Set(handlers.Component{Name: "collection", Status: handlers.Ready})
	for _, e := range l.Experts.All() {
		api.Readiness().Set(handlers.Component{Name: "expert " + e.name, Status: handlers.Ready, Warnings: l.warnings[e.name]})
	}
	l.tellAbsent(api)
	l.tellCalibration(api)
	if err := errors.Join(metrics.Register(encoderMetrics{l.loaded}), metrics.Register(collectionMetrics{l, version})); err != nil {
		return err
	}
	l.attach(api)
	return nil
}

func newAPI(config configs.Config, log *slog.Logger, metrics *handlers.Metrics, control *admission.Control) (*handlers.API, error) {
	keys, err := keysOf(config.Auth)
	if err != nil {
		return nil, err
	}
	return handlers.New(handlers.Options{
		Metrics: metrics, Logger: log, LogQuestions: config.Log.Questions,
		Keys: keys, AuthDisabled: config.Auth.Disabled, OpenMetrics: config.Metrics.Open, OpenDocs: config.Docs.Open,
		AllowedHosts: config.Server.AllowedHosts, CORSOrigins: config.Server.CORSOrigins, TrustedProxies: config.Server.TrustedProxies,
		BodyBytes: int64(config.Limits.BodyBytes), Admission: control,
		Write: writeLimitsOf(config.Limits), ReadOnly: config.ReadOnly, TempDir: os.TempDir(),
		RateRequests: config.Rate.Requests, RateWindow: config.Rate.Window,
	})
}

func keysOf(auth configs.Auth) ([]handlers.Key, error) {
	var out []handlers.Key
	for _, k := range auth.Keys {
		key := handlers.Key{Name: k.Name, Expires: k.Expires.Time}
		if n, err := hex.Decode(key.SHA256[:], []byte(k.SHA256)); err != nil || n != sha256.Size {
			return nil, fmt.Errorf("auth.keys: the SHA-256 of key %q is not 64 hexadecimal digits", k.Name)
		}
		for _, scope := range k.Scopes {
			key.Scopes = append(key.Scopes, handlers.Scope(scope))
		}
		out = append(out, key)
	}
	return out, nil
}

func serveOptions(s configs.Server) handlers.ServeOptions {
	return handlers.ServeOptions{
		Connections: s.Connections, HeaderBytes: int(s.HeaderBytes), ReadHeaderTimeout: s.ReadHeaderTimeout, ReadTimeout: s.ReadTimeout,
		WriteTimeout: s.WriteTimeout, IdleTimeout: s.IdleTimeout, DrainDelay: s.DrainDelay, DrainTimeout: s.DrainTimeout,
	}
}
