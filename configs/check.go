package configs

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Providers, kinds, methods and the like that a configuration may name.
const (
	providers = "cpu cuda auto"
	kinds     = "hnsw flat coder"
	methods   = "auto muf muf-sparse hybrid sum rrf"
	fills     = "exact min"
	scopes    = "search embed ingest admin"
	levels    = "debug info warn error"
	formats   = "text json"
)

// checker collects impossible values with the place each was written.
type checker struct {
	sources  map[string]string
	mistakes []error
}

func (c *checker) fail(at string, value any, format string, args ...any) {
	source := c.sources[at]
	for parent := at; source == "" && parent != ""; {
		// A value inside a list is where the list is.
		if i := strings.LastIndexAny(parent, ".["); i > 0 {
			parent = parent[:i]
		} else {
			parent = ""
		}
		source = c.sources[parent]
	}
	if source == "" {
		source = "default"
	}
	c.mistakes = append(c.mistakes, &Error{Source: source, Key: at, Value: fmt.Sprint(value), Detail: fmt.Sprintf(format, args...)})
}

// between checks low ≤ value ≤ high.
func between[T int | int64 | float64 | ByteSize | time.Duration](c *checker, at string, value, low, high T) {
	if value < low || value > high {
		c.fail(at, value, "has to be from %v to %v", low, high)
	}
}

// oneOf checks that value is one of the words in allowed.
func (c *checker) oneOf(at, value, allowed string) {
	words := strings.Fields(allowed)
	if slices.Contains(words, value) {
		return
	}
	hint := ""
	if near := nearest(value, words); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	c.fail(at, value, "has to be one of %s%s", strings.Join(words, ", "), hint)
}

// check refuses impossible values.
func (cfg Config) check(sources map[string]string) error {
	c := &checker{sources: sources}
	cfg.checkServing(c)
	cfg.checkSearching(c)
	cfg.checkExperts(c)
	cfg.checkKeys(c)
	return errors.Join(c.mistakes...)
}

func (cfg Config) checkServing(c *checker) {
	if host, port, err := net.SplitHostPort(cfg.Listen); err != nil {
		c.fail("listen", cfg.Listen, "has to be an address and a port, such as 127.0.0.1:8080 or [::1]:8080")
	} else if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		c.fail("listen", cfg.Listen, "the port has to be a number from 0 to 65535, not %q", port)
	} else if strings.ContainsAny(host, "/ ") {
		c.fail("listen", cfg.Listen, "%q is no address", host)
	}
	s := cfg.Server
	for i, host := range s.AllowedHosts {
		if host == "" || strings.ContainsAny(host, "/: \t") && net.ParseIP(host) == nil {
			c.fail(fmt.Sprintf("server.allowed_hosts[%d]", i), host, "has to be a host name without scheme and port, such as conclave.example.org, or \"*\" for any")
		}
	}
	for i, origin := range s.CORSOrigins {
		at := fmt.Sprintf("server.cors_origins[%d]", i)
		if origin == "*" {
			if len(cfg.Auth.Keys) == 0 {
				c.fail(at, origin, "without keys every page on the web could read this server through a visitor's browser; name the origins, or configure auth.keys")
			}
			continue
		}
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || strings.Contains(origin, "*") {
			c.fail(at, origin, "has to be an origin: scheme, host and port if it is not the usual one, such as https://app.example.org")
		}
	}
	for i, block := range s.TrustedProxies {
		if _, err := netip.ParsePrefix(block); err != nil {
			c.fail(fmt.Sprintf("server.trusted_proxies[%d]", i), block, "has to be an address block, such as 10.0.0.0/8 or 127.0.0.1/32")
		}
	}
	between(c, "server.connections", s.Connections, 0, 1_000_000)
	between(c, "server.header_bytes", s.HeaderBytes, 1<<10, 1<<20)
	between(c, "server.read_header_timeout", s.ReadHeaderTimeout, 10*time.Millisecond, 10*time.Minute)
	between(c, "server.read_timeout", s.ReadTimeout, 10*time.Millisecond, time.Hour)
	between(c, "server.write_timeout", s.WriteTimeout, 0, 2*time.Hour)
	between(c, "server.idle_timeout", s.IdleTimeout, 10*time.Millisecond, 2*time.Hour)
	between(c, "server.drain_delay", s.DrainDelay, 0, 10*time.Minute)
	between(c, "server.drain_timeout", s.DrainTimeout, 0, time.Hour)
	if least := s.ReadTimeout + cfg.Limits.Timeout; s.WriteTimeout != 0 && s.WriteTimeout < least {
		c.fail("server.write_timeout", s.WriteTimeout, "has to be at least server.read_timeout and limits.timeout together, %v, or 0 for that and 30s", least)
	}
	between(c, "rate.requests", cfg.Rate.Requests, 0, 1_000_000_000)
	between(c, "rate.window", cfg.Rate.Window, time.Second, 24*time.Hour)
	c.oneOf("log.level", cfg.Log.Level, levels)
	c.oneOf("log.format", cfg.Log.Format, formats)
}

func (cfg Config) checkSearching(c *checker) {
	l, s := cfg.Limits, cfg.Search
	between(c, "limits.body_bytes", l.BodyBytes, 1<<10, 1<<30)
	between(c, "limits.question_bytes", l.QuestionBytes, 16, l.BodyBytes)
	between(c, "limits.embed_bytes", l.EmbedBytes, 16, l.BodyBytes)
	between(c, "limits.embed_inputs", l.EmbedInputs, 1, 100_000)
	between(c, "limits.k", l.K, 1, 100_000)
	between(c, "limits.candidates", l.Candidates, 1, 100_000)
	between(c, "limits.batch", l.Batch, 1, 10_000)
	between(c, "limits.batch_parallel", l.BatchParallel, 1, 10_000)
	between(c, "limits.timeout", l.Timeout, time.Millisecond, time.Hour)
	between(c, "limits.concurrency", l.Concurrency, 1, 1_000_000)
	between(c, "limits.upload_bytes", l.UploadBytes, 1<<10, 1<<40)
	between(c, "limits.upload_rate", l.UploadRate, 1, 1<<30)
	between(c, "limits.uploads", l.Uploads, 1, 1000)
	between(c, "limits.line_bytes", l.LineBytes, 1<<10, 16<<20)
	between(c, "limits.passage_bytes", l.PassageBytes, 1, 8<<20)
	between(c, "limits.tags", l.Tags, 0, 256)
	between(c, "limits.metadata_bytes", l.MetadataBytes, 0, 256<<10)
	between(c, "limits.answer_bytes", l.AnswerBytes, 1<<10, 1<<30)
	between(c, "limits.upload_answer_bytes", l.UploadAnswerBytes, 1<<10, 1<<40)
	between(c, "ingest.flush_after", cfg.Ingest.FlushAfter, time.Millisecond, time.Hour)
	between(c, "ingest.flush_passages", cfg.Ingest.FlushPassages, 1, 1_000_000)
	between(c, "ingest.backlog", cfg.Ingest.Backlog, 1, 100_000_000)
	between(c, "ingest.threads", cfg.Ingest.Threads, 1, 1024)
	c.oneOf("search.fusion", s.Fusion, methods)
	c.oneOf("search.missing", s.Missing, fills)
	between(c, "search.k", s.K, 1, l.K)
	between(c, "search.candidates", s.Candidates, 1, l.Candidates)
	between(c, "search.alpha", s.Alpha, 0, 1e6)
	between(c, "search.timeout", s.Timeout, time.Millisecond, l.Timeout)
	c.oneOf("index.kind", cfg.Index.Kind, kinds)
	between(c, "index.floors.hnsw", cfg.Index.Floors.HNSW, 0, 1)
	between(c, "index.floors.flat", cfg.Index.Floors.Flat, 0, 1)
	between(c, "index.floors.coder", cfg.Index.Floors.Coder, 0, 1)
	e := cfg.Encoder
	c.oneOf("encoder.provider", e.Provider, providers)
	between(c, "encoder.threads", e.Threads, 0, 1024)
	between(c, "encoder.queue", e.Queue, 1, 1_000_000)
	between(c, "encoder.batch_tokens", e.BatchTokens, 512, 1<<24)
	between(c, "encoder.cache_entries", e.CacheEntries, 0, 100_000_000)
}

func (cfg Config) checkExperts(c *checker) {
	seen := map[string]int{}
	for i, e := range cfg.Experts {
		at := fmt.Sprintf("experts[%d]", i)
		switch first, twice := seen[e.Name]; {
		case e.Name == "":
			c.fail(at+".name", e.Name, "an expert needs a name")
		case e.Name == "bm25", e.Name == "phrases":
			c.fail(at+".name", e.Name, "is the name of a word index; call the expert something else")
		case !plainName(e.Name):
			c.fail(at+".name", e.Name, "has to be letters, digits, - _ and . (at most 64)")
		case twice:
			c.fail(at+".name", e.Name, "experts[%d] has this name already", first)
		default:
			seen[e.Name] = i
		}
		if e.Provider != "" {
			c.oneOf(at+".provider", e.Provider, providers)
		}
		between(c, at+".threads", e.Threads, 0, 1024)
	}
}

func (cfg Config) checkKeys(c *checker) {
	names, sums := map[string]int{}, map[string]int{}
	for i, k := range cfg.Auth.Keys {
		at := fmt.Sprintf("auth.keys[%d]", i)
		if first, twice := names[k.Name]; twice {
			c.fail(at+".name", k.Name, "auth.keys[%d] has this name already", first)
		} else if !plainName(k.Name) {
			c.fail(at+".name", k.Name, "has to be letters, digits, - _ and . (at most 64); it is what the log calls the key")
		}
		names[k.Name] = i
		sum, err := hex.DecodeString(k.SHA256)
		if err != nil || len(sum) != 32 {
			c.fail(at+".sha256", "…", "has to be 64 hex digits: printf %%s \"$KEY\" | sha256sum")
		} else if first, twice := sums[string(sum)]; twice {
			c.fail(at+".sha256", "…", "is the key of auth.keys[%d]", first)
		}
		sums[string(sum)] = i
		if len(k.Scopes) == 0 {
			c.fail(at+".scopes", "", "a key needs at least one of %s", strings.Join(strings.Fields(scopes), ", "))
		}
		for j, scope := range k.Scopes {
			c.oneOf(fmt.Sprintf("%s.scopes[%d]", at, j), scope, scopes)
		}
	}
	if cfg.Auth.Disabled && len(cfg.Auth.Keys) > 0 {
		c.fail("auth.disabled", true, "contradicts auth.keys; leave one of them out")
	}
}

// plainName reports whether s can stand in logs, metrics and file names.
func plainName(s string) bool {
	for _, r := range s {
		if !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.", r) {
			return false
		}
	}
	return s != "" && len(s) <= 64 && strings.Trim(s, ".") != ""
}
