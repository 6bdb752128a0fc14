package configs

import (
	"errors"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestMistakes shows what people are told: the place, the key, the value, what
// is allowed.
func TestMistakes(t *testing.T) {
	sum := strings.Repeat("a", 64)
	for name, c := range map[string]struct {
		text    string
		environ []string
		args    []string
		want    string // regular expression
	}{
		"unknown key": {"log:\n  level: info\n  levle: warn", nil, nil, `conclave\.yaml:3: log\.levle: no such key\. Did you mean "level"\? Known here: level, format, questions`},
		"unknown section": {"limit: {k: 1}", nil, nil,
			`conclave\.yaml:1: limit: no such key\. Did you mean "limits"\?`},
		"other case":            {"Listen: x", nil, nil, `conclave\.yaml:1: Listen: no such key\. Did you mean "listen"\?`},
		"dotted key":            {"limits.k: 5", nil, nil, `conclave\.yaml:1: limits\.k: no such key`},
		"unknown key in a list": {"experts:\n- name: a\n- name: b\n  bundel: x", nil, nil, `conclave\.yaml:4: experts\[1\]\.bundel: no such key\. Did you mean "bundle"\?`},
		"twice":                 {"listen: a:1\nlisten: b:1", nil, nil, `conclave\.yaml:2: listen: written twice, first on line 1`},
		"not YAML":              {"listen: [", nil, nil, `conclave\.yaml: not YAML: line \d`},
		"a list of all":         {"- a", nil, nil, `conclave\.yaml:1: the file: has to be keys`},
		"not a number":          {"limits:\n  k: ten", nil, nil, `conclave\.yaml:2: limits\.k: "ten": has to be a whole number`},
		"half a number":         {"limits: {k: 1.5}", nil, nil, `limits\.k: "1\.5": has to be a whole number`},
		"not a duration":        {"search: {timeout: 5}", nil, nil, `search\.timeout: "5": has to be a duration with its unit, such as 200ms`},
		"not a size":            {"limits: {body_bytes: 1MB}", nil, nil, `limits\.body_bytes: "1MB": has to be a number of bytes, such as`},
		"size too large":        {"limits: {body_bytes: 99999999999GiB}", nil, nil, `limits\.body_bytes: .* has to be a number of bytes`},
		"not a bool":            {"log: {questions: yes}", nil, nil, `log\.questions: "yes": has to be true or false`},
		"NaN":                   {"search: {alpha: .nan}", nil, nil, `search\.alpha: ".nan": has to be a number`},
		"no number":             {"search: {alpha: nan}", nil, nil, `search\.alpha: "NaN": has to be from 0 to 1e\+06`},
		"a list for a value":    {"listen: [a]", nil, nil, `listen: has to be a single value`},
		"a value for a list":    {"experts: a", nil, nil, `experts: "a": has to be a list`},
		"a value for a section": {"log: info", nil, nil, `log: "info": has to be keys`},
		"out of range": {"limits: {k: 0}", nil, nil,
			`conclave\.yaml:1: limits\.k: "0": has to be from 1 to 100000`},
		"above another":           {"search: {k: 2000}", nil, nil, `search\.k: "2000": has to be from 1 to 1000`},
		"below another, default":  {"limits: {k: 5}", nil, nil, `default: search\.k: "10": has to be from 1 to 5`},
		"collection of a cluster": {"collection: 'opensearch+https://node1:9200/my-index'", nil, nil, `collection: "opensearch\+https://node1:9200/my-index": is an address and has to be a folder: an index of OpenSearch is named by store`},
		"data with a password":    {"data: 'opensearch+https://u:p@node1/index'", nil, nil, `data: "…": is an address`},
		"unknown word":            {"log: {level: wran}", nil, nil, `log\.level: "wran": has to be one of debug, info, warn, error\. Did you mean "warn"\?`},
		"no port":                 {"listen: localhost", nil, nil, `listen: "localhost": has to be an address and a port`},
		"port out of range":       {"listen: 'localhost:70000'", nil, nil, `listen: "localhost:70000": has to be an address and a port up to 65535`},
		"expert without name":     {"experts: [{bundle: x}]", nil, nil, `conclave\.yaml:1: experts\[0\]\.name: has to be letters`},
		"expert twice":            {"experts: [{name: a}, {name: a}]", nil, nil, `experts\[1\]\.name: "a": is the same as experts\[0\]\.name`},
		"expert called bm25":      {"experts: [{name: bm25}]", nil, nil, `experts\[0\]\.name: "bm25": has to be .* not bm25, phrases or near, which are other sources`},
		"expert called phrases":   {"experts: [{name: phrases}]", nil, nil, `experts\[0\]\.name: "phrases": has to be .* not bm25, phrases or near, which are other sources`},
		"expert with a slash":     {"experts: [{name: ../x}]", nil, nil, `experts\[0\]\.name: "\.\./x": has to be letters`},
		"expert named ..":         {"experts: [{name: ..}]", nil, nil, `experts\[0\]\.name`},
		"reader twice":            {"readers: [a, b, a]", nil, nil, `conclave\.yaml:1: readers\[2\]: "a": is the same as readers\[0\]`},
		"reader with a slash":     {"", []string{"CONCLAVE_READERS=a,b/c"}, nil, `environment CONCLAVE_READERS: readers\[1\]: "b/c": has to be letters`},
		"expert provider":         {"experts:\n - name: a\n   provider: gpu", nil, nil, `conclave\.yaml:3: experts\[0\]\.provider: "gpu": has to be one of cpu, cuda, auto`},
		"key not hashed":          {"auth: {keys: [{name: a, sha256: secret, scopes: [search]}]}", nil, nil, `auth\.keys\[0\]\.sha256: "…": has to be 64 hex digits`},
		"key twice":               {"auth: {keys: [{name: a, sha256: " + sum + ", scopes: [search]}, {name: b, sha256: " + strings.ToUpper(sum) + ", scopes: [search]}]}", nil, nil, `auth\.keys\[1\]\.sha256: "…": is the same as auth\.keys\[0\]\.sha256`},
		"key without scope":       {"auth: {keys: [{name: a, sha256: " + sum + "}]}", nil, nil, `auth\.keys\[0\]\.scopes: has to be one or more of search, embed, ingest, admin`},
		"unknown scope":           {"auth: {keys: [{name: a, sha256: " + sum + ", scopes: [serch]}]}", nil, nil, `auth\.keys\[0\]\.scopes\[0\]: "serch": .*Did you mean "search"`},
		"expiry":                  {"auth: {keys: [{name: a, sha256: " + sum + ", scopes: [search], expires: soon}]}", nil, nil, `expires: "soon": has to be a day such as`},
		"disabled with keys":      {"auth: {disabled: true, keys: [{name: a, sha256: " + sum + ", scopes: [search]}]}", nil, nil, `auth\.disabled: "true": contradicts auth\.keys`},
		"any origin without keys": {"server: {cors_origins: ['*']}", nil, nil, `server\.cors_origins\[0\]: "\*": without keys every page`},
		"an origin with a path":   {"server: {cors_origins: ['https://a.example/x']}", nil, nil, `server\.cors_origins\[0\].*has to be an origin`},
		"a host with a port":      {"server: {allowed_hosts: ['a.example:80']}", nil, nil, `server\.allowed_hosts\[0\].*has to be a host name`},
		"an address, no block":    {"server: {trusted_proxies: ['10.0.0.1']}", nil, nil, `server\.trusted_proxies\[0\].*has to be an address block`},
		"write before read": {"server: {write_timeout: 1s}", nil, nil,
			`server\.write_timeout: "1s": has to be at least`},
		"environment":         {"", []string{"CONCLAVE_LIMITS_K=ten"}, nil, `environment CONCLAVE_LIMITS_K: limits\.k: "ten": has to be a whole number`},
		"environment, range":  {"limits: {k: 50}", []string{"CONCLAVE_LIMITS_K=-1"}, nil, `environment CONCLAVE_LIMITS_K: limits\.k: "-1": has to be from 1`},
		"environment, list":   {"", []string{"CONCLAVE_EXPERTS=a,b"}, nil, `environment CONCLAVE_EXPERTS.*: experts: "a,b": has to be a list`},
		"environment, object": {"", []string{"CONCLAVE_EXPERTS=[{nam: a}]"}, nil, `environment CONCLAVE_EXPERTS:1: experts\[0\]\.nam: no such key\. Did you mean "name"`},
		"flag":                {"", nil, []string{"--search-timeout=1h"}, `flag --search-timeout: search\.timeout: "1h0m0s": has to be from 1ms to 10s`},
		"flag, size":          {"", nil, []string{"--limits-body-bytes=lots"}, `flag --limits-body-bytes: limits\.body_bytes: "lots": has to be a number of bytes`},
		"flag, word":          {"", nil, []string{"--log-level=loud"}, `flag --log-level: log\.level: "loud": has to be one of`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, c.text, c.environ, c.args...)
			if err == nil {
				t.Fatal("no error")
			}
			if !regexp.MustCompile(c.want).MatchString(err.Error()) {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
		})
	}
}

func TestAllMistakesAtOnce(t *testing.T) {
	_, err := load(
		t,
		"listne: x\nlimits: {k: ten}\nlog: {level: info, colour: red}",
		[]string{"CONCLAVE_LIMITS_BATCH=many"},
		"--search-k=few",
	)
	if err == nil || strings.Count(err.Error(), "\n") != 4 {
		t.Errorf("%v", err)
	}
	var mistake *Error
	if !errors.As(err, &mistake) || mistake.Key != "listne" {
		t.Errorf("first mistake: %+v", mistake)
	}
}

// FuzzFile feeds any text: a Config or an error, never a panic, and what is
// accepted can be printed and read back.
func FuzzFile(f *testing.F) {
	f.Add("listen: 127.0.0.1:1\nexperts: [{name: a}]")
	f.Add("a: &a [*a]")
	f.Add("experts: &x [{name: a}]\nauth: *x")
	f.Add("<<: {listen: x}")
	f.Add("limits: {k: !!int 5, body_bytes: !!binary aGk=}")
	f.Fuzz(func(t *testing.T, text string) {
		t.Chdir(t.TempDir()) // from which relative paths count
		load := func(text []byte) (Config, error) {
			if err := os.WriteFile(defaultFile, text, 0o600); err != nil {
				t.Fatal(err)
			}
			return Load(nil, nil)
		}
		first, err := load([]byte(text))
		if err != nil {
			return
		}
		printed, err := first.YAML()
		if err != nil {
			t.Fatal(err)
		}
		if second, err := load(printed); err != nil || !reflect.DeepEqual(second, first) {
			t.Errorf("%q was printed as\n%s\nwhich is read as %+v, %v", text, printed, second, err)
		}
	})
}

// TestNamesBeginWithALetter: a name that other programs take for an option, or hide, is
// refused wherever the configuration has one.
func TestNamesBeginWithALetter(t *testing.T) {
	for _, kind := range []string{"name", "expert"} {
		for name, want := range map[string]bool{"a": true, "0": true, "Wiki.v2": true, "a-_.": true, "-rf": false, "_a": false, ".a": false, "": false, "..": false, "é": false} {
			if _, good := checkForm(kind, name); good != want {
				t.Errorf("%s %q: %t", kind, name, good)
			}
		}
	}
}
