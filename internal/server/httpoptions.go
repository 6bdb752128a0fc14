package server

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"example.org/conclave/configs"
	"example.org/conclave/handlers"
	"example.org/conclave/handlers/adapters"
	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/capacity"
	"example.org/conclave/internal/collections"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/overload"
)

// newAPI returns the HTTP API that the options ask for. several has the collections of a server of several, and is
// nil on a server of one. It fails if memory limits or the filters of keys in the configuration are not valid.
func newAPI(
	o ServerOptions,
	metrics *handlers.Metrics,
	control *overload.Control,
	pages handlers.GuideSearcher,
	several *registry,
) (*handlers.API, error) {
	config := o.Config
	var named handlers.Collections // stays nil where there is one
	if several != nil {
		named = several
		o.Name = config.Collections.Default
	}
	if o.Name == "" {
		folder, err := filepath.Abs(config.Passages())
		if err != nil {
			return nil, fmt.Errorf("the collection's folder: %w", err)
		}
		o.Name = filepath.Base(folder)
	}
	l := config.Limits
	memory, err := capacity.RequestMemory(config)
	if err != nil {
		return nil, err
	}
	keys, err := keysOf(config.Auth)
	if err != nil {
		return nil, err
	}
	answers, bodies := capacity.Rooms(memory)
	return handlers.New(handlers.Options{
		Name: o.Name, Collections: named, Limits: capacity.Limits(config.Limits), Adapters: adapters.All(), Guide: pages,
		Metrics: metrics, Logger: o.Log, Tracer: o.Tracer, LogQuestions: config.Log.Questions,
		Keys: keys, AuthDisabled: config.Auth.Disabled, OpenMetrics: config.Metrics.Open, OpenDocs: config.Docs.Open,
		AllowedHosts: config.Server.AllowedHosts, CORSOrigins: config.Server.CORSOrigins,
		TrustedProxies: config.Server.TrustedProxies, BasePath: config.Server.BasePath,
		BodyBytes:    int64(l.BodyBytes),
		AnswerMemory: answers, BodyMemory: bodies, Admission: control, ReadOnly: config.ReadOnly, TempDir: os.TempDir(),
		Timeout: l.Timeout, Writing: config.LongestWriting(),
		RateRequests: config.Rate.Requests, RateWindow: config.Rate.Window,
		Write: handlers.WriteLimits{
			UploadBytes: int64(l.UploadBytes), Uploads: l.Uploads,
			LineBytes: int(l.LineBytes), PassageBytes: int(l.PassageBytes),
			Tags: l.Tags, MetadataBytes: int(l.MetadataBytes), AnswerBytes: int64(l.UploadAnswerBytes),
			BytesASecond: int(l.UploadRate), DocumentBytes: int64(config.Documents.FileBytes),
			Originals: config.Documents.Keep, Hosts: config.Documents.Hosts,
		},
	})
}

// keysOf returns the API keys of the configuration, in its order. It fails if a filter cannot be parsed; configs has
// checked everything else.
func keysOf(auth configs.Auth) (out []front.Key, err error) {
	for _, k := range auth.Keys {
		key := front.Key{
			Name: k.Name, Expires: k.Expires, Collections: k.Collections, RequestsASecond: k.RequestsASecond,
			Quotas:          collections.Quotas{Passages: k.Quotas.Passages, Bytes: int64(k.Quotas.Bytes)},
			MostCollections: k.Quotas.Collections,
		}
		_, _ = hex.Decode(key.SHA256[:], []byte(k.SHA256))
		if k.Filter != "" { // which configs checks, too
			var err error
			key.Filter, err = conditions.Parse(k.Filter)
			if err != nil {
				return nil, fmt.Errorf("the filter of key %s: %w", k.Name, err)
			}
		}
		for _, scope := range k.Scopes {
			key.Scopes = append(key.Scopes, schema.Scope(scope))
		}
		out = append(out, key)
	}
	return out, nil
}

// serveOptions returns the limits and timeouts of connections. It fails if the system allows too few open files.
func serveOptions(config configs.Config) (o handlers.ServeOptions, err error) {
	s := config.Server
	p, err := capacity.PlacesOf(s.Connections)
	if err != nil {
		return o, err
	}
	return handlers.ServeOptions{
		Connections: p.Open, Waiting: p.Waiting, Probes: p.Probes, HeaderBytes: int(s.HeaderBytes),
		ReadHeaderTimeout: s.ReadHeaderTimeout, ReadTimeout: s.ReadTimeout,
		// The deadline runs while the body is read and the question is answered.
		WriteTimeout: cmp.Or(s.WriteTimeout, s.ReadTimeout+config.Limits.Timeout+config.LongestWriting()+30*time.Second),
		IdleTimeout:  s.IdleTimeout, DrainDelay: s.DrainDelay, DrainTimeout: s.DrainTimeout,
	}, nil
}
