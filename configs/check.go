package configs

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/wording"
)

// checkValues adds a mistake for each value that the tags of its key do not allow: a wrong form, a number out of
// bounds, an unknown word, or a name that is there twice.
func (r *resolver) checkValues() {
	leaves := rootKey(&r.config).allLeaves()
	values := map[string]reflect.Value{}
	firsts := map[string]string{}
	for _, k := range leaves {
		values[k.path] = k.value
	}
	for _, k := range leaves {
		text, isText := k.value.Interface().(string)
		is := k.tag.Get("is")
		bounds := strings.Fields(k.tag.Get("between"))
		words := strings.Fields(k.tag.Get("oneof"))
		allowed, good := checkForm(is, text)
		shown := text
		if is == "endpoint" && strings.ContainsAny(text, "@?#") {
			shown = "…" // there may be a key in it
		}
		if is == "sum" {
			shown = "…"
			text = strings.ToLower(text) // somebody may have put the key there
		}
		list, _, _ := strings.Cut(k.path, "[")
		first, again := firsts[list+" "+is+" "+text]
		switch {
		case len(bounds) > 0:
			r.checkBetween(k, bounds[0], bounds[1], values)
		case k.isList() && len(words) > 0 && k.value.Len() == 0:
			r.addMistake(k.path, "", "has to be one or more of %s", strings.Join(words, ", "))
		case !isText, text == "" && strings.Contains(k.tag.Get("yaml"), ",omitempty"):
		case len(words) > 0 && !slices.Contains(words, text):
			r.addMistake(k.path, text, "has to be one of %s.%s", strings.Join(words, ", "), didYouMean(text, words))
		case !good:
			r.addMistake(k.path, shown, "has to be %s", allowed)
		case k.tag.Get("unique") == "":
		case again:
			r.addMistake(k.path, shown, "is the same as %s", first)
		default:
			firsts[list+" "+is+" "+text] = k.path
		}
	}
}

// checkTogether adds a mistake for each pair of keys whose values contradict each other, such as data and store, a user
// and an API key of the cluster, or a filter of a key that may write. It also checks the form of store and the
// generators (checkGenerators).
func (r *resolver) checkTogether() {
	cfg := r.config
	cluster := r.config.Cluster
	server := r.config.Server
	keys := len(r.config.Auth.Keys) > 0
	if i := slices.Index(server.CORSOrigins, "*"); i >= 0 && !keys {
		r.addMistake(
			fmt.Sprintf("server.cors_origins[%d]", i), "*",
			"without keys every page on the web could read this server through a visitor's browser; name the origins, or configure auth.keys",
		)
	}
	least := server.ReadTimeout + cfg.Limits.Timeout + cfg.LongestWriting()
	if server.WriteTimeout != 0 && server.WriteTimeout < least {
		r.addMistake(
			"server.write_timeout", server.WriteTimeout,
			"has to be at least server.read_timeout, limits.timeout and the longest of generators' together, %v, or 0 for that and 30s",
			least,
		)
	}
	if cluster.Password != "" && cluster.PasswordFile != "" {
		r.addMistake(
			"cluster.password_file", cluster.PasswordFile, "%s is set too: leave one of them out", variablePassword,
		)
	}
	if cluster.APIKey != "" && cluster.APIKeyFile != "" {
		r.addMistake("cluster.api_key_file", cluster.APIKeyFile, "%s is set too: leave one of them out", variableAPIKey)
	}
	if (cluster.APIKey != "" || cluster.APIKeyFile != "") &&
		(cluster.User != "" || cluster.Password != "" || cluster.PasswordFile != "") {
		r.addMistake(
			"cluster.user", cluster.User, "a cluster is accessed with a user or with an API key, not with both",
		)
	}
	if strings.Contains(cfg.Store, "@") {
		r.addMistake(
			"store", "…",
			"contains a user: put it into cluster.user, and the password into cluster.password_file or %s",
			variablePassword,
		)
	}
	if prefix, several := strings.CutSuffix(cfg.Store, AnyIndex); strings.Contains(prefix, AnyIndex) ||
		several && strings.HasSuffix(prefix, "/") {
		r.addMistake("store", cfg.Store, "has to name one index, or those with a prefix, such as …/prefix-*")
	}
	for _, folder := range [][2]string{{"collection", cfg.Collection}, {"data", cfg.Data}} {
		shown := folder[1]
		if strings.Contains(shown, "@") {
			shown = "…" // there may be a password in it
		}
		if strings.Contains(folder[1], "://") {
			r.addMistake(folder[0], shown, "is an address and has to be a folder: an index of OpenSearch is named by store")
		}
	}
	if cfg.Data != "" && cfg.Store != "" {
		r.addMistake(
			"data", cfg.Data, "contradicts store: passages are in folders or in a cluster; leave one of them out",
		)
	}
	for i, k := range cfg.Auth.Keys {
		if k.Filter != "" && (slices.Contains(k.Scopes, "ingest") || slices.Contains(k.Scopes, "admin")) {
			r.addMistake(
				fmt.Sprintf("auth.keys[%d].filter", i), k.Filter,
				"restricts what is read: who may write or administer could read all; leave the scopes ingest and admin to other keys",
			)
		}
	}
	r.checkGenerators()
	r.checkExperts()
	if cfg.Auth.Disabled && keys {
		r.addMistake("auth.disabled", true, "contradicts auth.keys; leave one of them out")
	}
}

// checkGenerators adds a mistake for each generator that has the name of a reader, and a warning for each whose key
// would be sent unencrypted to another machine.
func (r *resolver) checkGenerators() {
	for i, g := range r.config.Generators {
		at := fmt.Sprintf("generators[%d]", i)
		if slices.Contains(r.config.Readers, g.Name) {
			r.addMistake(at+".name", g.Name, "is the name of a reader too, and requests name both in one place")
		}
		r.warnOfOpenKey(at, g.Name, g.Address, g.KeyFile)
	}
}

// checkExperts adds a mistake for each expert and reranker with keys that contradict its being a bundle or a model
// behind an interface, and a warning for each whose key would be sent unencrypted to another machine.
func (r *resolver) checkExperts() {
	for i, x := range r.config.Experts {
		at := fmt.Sprintf("experts[%d]", i)
		bundle := Expert{Name: x.Name, Bundle: x.Bundle, Provider: x.Provider, Threads: x.Threads, Key: x.Key}
		switch {
		case x.Address == "":
			if !reflect.DeepEqual(x, bundle) {
				r.addMistake(at, x.Name, "has keys of a model behind an interface, and no address: a bundle has name, bundle, provider and threads alone")
			}
			continue
		case x.Bundle != "" || x.Provider != "" || x.Threads != 0:
			r.addMistake(at, x.Name, "has an address and is no bundle: leave out bundle, provider and threads")
		case x.Model == "" && x.Interface != "tei":
			r.addMistake(at+".model", "", "is missing: the name of the model at %s", x.Address)
		case x.KeyFile != "" && x.KeyVariable != "":
			r.addMistake(at+".key_variable", x.KeyVariable, "key_file is set too: leave one of them out")
		case x.CutTo > 0 && x.Normalise == "false":
			r.addMistake(at+".normalise", x.Normalise, "contradicts cut_to: vectors that are cut are scaled to length 1")
		}
		r.warnOfOpenKey(at, x.Name, x.Address, x.KeyFile+x.KeyVariable)
	}
	for i, x := range r.config.Rerankers {
		at := fmt.Sprintf("rerankers[%d]", i)
		switch {
		case x.Address == "" && x != Reranker{Name: x.Name}:
			r.addMistake(at, x.Name, "has keys of a model behind an interface, and no address: a bundle has its name alone")
		case x.Address != "" && x.Model == "" && x.Interface != "tei":
			r.addMistake(at+".model", "", "is missing: the name of the model at %s", x.Address)
		case x.KeyFile != "" && x.KeyVariable != "":
			r.addMistake(at+".key_variable", x.KeyVariable, "key_file is set too: leave one of them out")
		}
		r.warnOfOpenKey(at, x.Name, x.Address, x.KeyFile+x.KeyVariable)
	}
}

// warnOfOpenKey adds a warning if the key of the model called name, at a place of the configuration, would be sent
// unencrypted to another machine. key is "" if it has none.
func (r *resolver) warnOfOpenKey(at, name, address, key string) {
	u, err := url.Parse(address)
	if err == nil && key != "" && u.Scheme == "http" && !onThisMachine(u.Hostname()) {
		r.config.Warnings = append(r.config.Warnings, fmt.Sprintf(
			"%s: the key of %s goes to %s unencrypted: use an address of https", at, name, u.Host))
	}
}

// onThisMachine reports whether a host is this machine's own.
func onThisMachine(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// checkBetween adds a mistake unless the value of k is from low to high. Each bound is a value, or the path of a key in
// values. It panics if a bound is neither.
func (r *resolver) checkBetween(k key, low, high string, values map[string]reflect.Value) {
	valueOf := func(bound string) reflect.Value {
		if v, ok := values[bound]; ok {
			return v
		}
		v := reflect.New(k.value.Type()).Elem()
		if _, err := parseScalar(bound, v); err != nil {
			panic(fmt.Sprintf("%s: the bound %s: %v", k.path, bound, err)) // of the program
		}
		return v
	}
	least, most := valueOf(low), valueOf(high)
	if x := numberOf(k.value); !(x >= numberOf(least) && x <= numberOf(most)) { // nor is NaN
		r.addMistake(k.path, k.value.Interface(), "has to be from %v to %v", least.Interface(), most.Interface())
	}
}

// numberOf returns the value of an integer or a floating-point number. It panics for other kinds.
func numberOf(v reflect.Value) float64 {
	if v.CanInt() {
		return float64(v.Int())
	}
	return v.Float()
}

// checkForm reports whether a text has the form of a kind, such as "address" or "origin", and returns a description of
// the form for error messages. For a kind that it does not know, every text has the form. allowed is "" then.
func checkForm(kind, text string) (allowed string, good bool) {
	switch kind {
	case "address":
		host, port, err := net.SplitHostPort(text)
		_, wrong := strconv.ParseUint(port, 10, 16)
		return "an address and a port up to 65535, such as 127.0.0.1:8080 or [::1]:8080", err == nil && wrong == nil &&
			!strings.ContainsAny(host, "/ ")
	case "host":
		return "a host name without scheme and port, such as conclave.example.org, or \"*\" for any",
			text != "" && (!strings.ContainsAny(text, "/: \t") || net.ParseIP(text) != nil)
	case "site":
		host, port, both := strings.Cut(strings.TrimPrefix(text, "*."), ":")
		_, wrong := strconv.ParseUint(port, 10, 16)
		return "a host without scheme and path, such as docs.example.org, docs.example.org:8443 or *.example.org",
			host != "" && !strings.ContainsAny(host, "/*@? \t") && (!both || wrong == nil)
	case "origin":
		u, err := url.Parse(text)
		return "an origin: scheme, host and port if it is not the usual one, such as https://app.example.org", text == "*" ||
			err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") &&
				strings.EqualFold(text, u.Scheme+"://"+u.Host) &&
				!strings.Contains(text, "*")
	case "base":
		return "a path of letters, digits and - _ . ~ that begins with a slash and ends with none, such as /conclave",
			text == "" ||
				strings.HasPrefix(text, "/") && len(text) > 1 && len(text) <= 200 && path.Clean(text) == text &&
					strings.Trim(text, wording.NameLetters+".~/") == ""
	case "block":
		_, err := netip.ParsePrefix(text)
		return "an address block, such as 10.0.0.0/8 or 127.0.0.1/32", err == nil
	case "name": // as it can stand in logs, metrics and file names
		return "letters, digits, - _ and ., at most 64, beginning with a letter or a digit",
			len(text) <= 64 && strings.Trim(text, wording.NameLetters+".") == "" && text != "" &&
				!strings.Contains("-_.", text[:1])
	case "pattern":
		_, err := path.Match(text, "a")
		return "the name of a collection, or a pattern such as team-*", err == nil && text != ""
	case "expert":
		allowed, good = checkForm("name", text)
		return allowed + ", and not bm25, phrases or near, which are other sources", good &&
			!slices.Contains([]string{"bm25", "phrases", "near"}, text)
	case "condition":
		c, err := conditions.Parse(text)
		allowed = "a condition on passages, such as {field: group, in: [sales, support]}"
		if err != nil {
			allowed += " (" + err.Error() + ")"
		}
		return allowed, err == nil && !c.Empty()
	case "generator":
		allowed, good = checkForm("name", text)
		return allowed + ", and not auto or conclave, which stand for what the server chooses", good &&
			text != "auto" &&
			text != "conclave"
	case "endpoint":
		u, err := url.Parse(text)
		return "an address of http or https without user and query, such as http://127.0.0.1:11434/v1", err == nil &&
			(u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && u.RawQuery == "" &&
			u.Fragment == ""
	case "variable":
		return "the name of a variable of the environment, such as OPENAI_API_KEY", text != "" &&
			strings.Trim(text, wording.NameLetters) == "" && !strings.Contains(text, "-")
	case "language":
		return "a language by two letters, such as de", len(text) == 2 && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz") == ""
	case "model":
		return "the name of a model, at most 200 bytes", text != "" && len(text) <= 200 &&
			!strings.ContainsFunc(text, unicode.IsControl)
	case "sum":
		sum, err := hex.DecodeString(text)
		return "64 hex digits: printf %s \"$KEY\" | sha256sum", err == nil && len(sum) == 32
	}
	return "", true
}

// Error is one mistake in the configuration.
type Error struct {
	Source string // "conclave.yaml:12", "environment CONCLAVE_LOG_LEVEL", "flag --log-level", "default"
	Key    string // "limits.k", "experts[1].name"
	Value  string // as it was written; "" when the key itself is the mistake
	Detail string // what is wrong and what is allowed
}

// Error returns the place, the key, the value if there is one, and what is wrong with it.
func (e *Error) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("%s: %s: %s", e.Source, e.Key, e.Detail)
	}
	return fmt.Sprintf("%s: %s: %.80q: %s", e.Source, e.Key, e.Value, e.Detail)
}

// didYouMean returns a hint, after a space, with the known name that was probably meant: within two edits, or one that
// begins with name. It returns "" if none is near.
func didYouMean(name string, names []string) string {
	commands := cobra.Command{SuggestionsMinimumDistance: min(2, len(name)/2)}
	for _, known := range names {
		commands.AddCommand(&cobra.Command{Use: known, Run: func(*cobra.Command, []string) {}})
	}
	if near := commands.SuggestionsFor(name); len(near) > 0 && name != "" {
		return fmt.Sprintf(" Did you mean %q?", near[0])
	}
	return ""
}
