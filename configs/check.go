package configs

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
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

// tags checks what the fields' tags allow, and inside lists too.
func (c *checker) tags(all []key, values map[string]reflect.Value) {
	for _, k := range all {
		if bounds := strings.Fields(k.tag.Get("between")); len(bounds) == 2 {
			c.between(k, bounds, values)
		}
		words := k.tag.Get("oneof")
		switch {
		case k.objects():
			for i := range k.value.Len() {
				c.tags(leaves(fmt.Sprintf("%s[%d]", k.path, i), "", k.value.Index(i)), values)
			}
		case words == "":
		case k.isList():
			for i, word := range k.value.Interface().([]string) {
				c.oneOf(fmt.Sprintf("%s[%d]", k.path, i), word, words)
			}
		case k.value.String() != "" || !strings.Contains(k.tag.Get("yaml"), ",omitempty"):
			c.oneOf(k.path, k.value.String(), words)
		}
	}
}

// between checks that a value lies between two bounds, each a value or a key.
func (c *checker) between(k key, bounds []string, values map[string]reflect.Value) {
	of := func(bound string) reflect.Value {
		if v, ok := values[bound]; ok {
			return v
		}
		v := reflect.New(k.value.Type()).Elem()
		if err := parse(bound, v); err != nil {
			panic(fmt.Sprintf("%s: the bound %s is not %v", k.path, bound, err)) // of the program
		}
		return v
	}
	low, high := of(bounds[0]), of(bounds[1])
	if number(k.value) < number(low) || number(k.value) > number(high) {
		c.fail(k.path, k.value.Interface(), "has to be from %v to %v", low.Interface(), high.Interface())
	}
}

func number(v reflect.Value) float64 {
	if v.CanInt() {
		return float64(v.Int())
	}
	return v.Float()
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
	all, values := keys(&cfg), map[string]reflect.Value{}
	for _, k := range all {
		values[k.path] = k.value
	}
	c.tags(all, values)
	cfg.checkServing(c)
	cfg.checkCluster(c)
	cfg.checkExperts(c)
	cfg.checkReaders(c)
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
	if least := s.ReadTimeout + cfg.Limits.Timeout; s.WriteTimeout != 0 && s.WriteTimeout < least {
		c.fail("server.write_timeout", s.WriteTimeout, "has to be at least server.read_timeout and limits.timeout together, %v, or 0 for that and 30s", least)
	}
}

func (cfg Config) checkCluster(c *checker) {
	x := cfg.Cluster
	password, key := x.Password != "" || x.PasswordFile != "", x.APIKey != "" || x.APIKeyFile != ""
	switch {
	case x.Password != "" && x.PasswordFile != "":
		c.fail("cluster.password_file", x.PasswordFile, "CONCLAVE_CLUSTER_PASSWORD is set too: leave one of them out")
	case x.APIKey != "" && x.APIKeyFile != "":
		c.fail("cluster.api_key_file", x.APIKeyFile, "CONCLAVE_CLUSTER_API_KEY is set too: leave one of them out")
	case key && (password || x.User != ""):
		c.fail("cluster.user", x.User, "a cluster is accessed with a user or with an API key, not with both")
	}
	if strings.Contains(cfg.Store, "@") {
		c.fail("store", "…", "contains a user: put it into cluster.user, and the password into cluster.password_file or CONCLAVE_CLUSTER_PASSWORD")
	}
}

func (cfg Config) checkExperts(c *checker) {
	seen := map[string]int{}
	for i, e := range cfg.Experts {
		at := fmt.Sprintf("experts[%d]", i)
		switch first, twice := seen[e.Name]; {
		case e.Name == "":
			c.fail(at+".name", e.Name, "an expert needs a name")
		case e.Name == "bm25", e.Name == "phrases":
			c.fail(at+".name", e.Name, "is the name of a word index; choose another name")
		case !plainName(e.Name):
			c.fail(at+".name", e.Name, "has to be letters, digits, - _ and . (at most 64)")
		case twice:
			c.fail(at+".name", e.Name, "experts[%d] has this name already", first)
		default:
			seen[e.Name] = i
		}
	}
}

func (cfg Config) checkReaders(c *checker) {
	for i, name := range cfg.Readers {
		at := fmt.Sprintf("readers[%d]", i)
		switch {
		case name == "" || !plainName(name):
			c.fail(at, name, "has to be letters, digits, - _ and . (at most 64)")
		case slices.Index(cfg.Readers, name) < i:
			c.fail(at, name, "is named twice")
		}
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
			c.fail(at+".scopes", "", "a key needs at least one of search, embed, ingest, admin")
		}
	}
	if cfg.Auth.Disabled && len(cfg.Auth.Keys) > 0 {
		c.fail("auth.disabled", true, "contradicts auth.keys; leave one of them out")
	}
}

// plainName reports whether s can stand in logs, metrics and file names.
func plainName(s string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
	return len(s) <= 64 && strings.Trim(s, letters) == "" && strings.Trim(s, ".") != ""
}
