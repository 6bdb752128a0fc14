package configs

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// AddFlags adds a flag for each of the named keys ("limits.k" becomes
// --limits-k), so that help shows its type and default. A flag that is there
// already stays as it is. Lists of objects have no form on a command line.
func AddFlags(flags *pflag.FlagSet, paths ...string) error {
	known := map[string]key{}
	for _, k := range keys() {
		known[k.path] = k
	}
	for _, path := range paths {
		k, ok := known[path]
		if !ok || k.objects() {
			return fmt.Errorf("no key %q that could be a flag", path)
		}
		if flags.Lookup(k.flag()) != nil {
			continue
		}
		switch value := k.value.(type) {
		case bool:
			flags.Bool(k.flag(), value, usage(path))
		case int:
			flags.Int(k.flag(), value, usage(path))
		case float64:
			flags.Float64(k.flag(), value, usage(path))
		case time.Duration:
			flags.Duration(k.flag(), value, usage(path))
		case []string:
			flags.StringSlice(k.flag(), value, usage(path))
		default:
			flags.String(k.flag(), fmt.Sprint(value), usage(path))
		}
	}
	return nil
}

// usage is the help of the flag for a key.
func usage(path string) string {
	switch path {
	case "listen":
		return "`address` and port to listen on"
	case "collection":
		return "`folder` of the collection"
	case "bundles":
		return "`folder` that holds the experts' bundles"
	case "cache":
		return "`folder` for what setup fetches"
	case "runtime":
		return "`file` of the ONNX Runtime library"
	case "encoder.provider":
		return "where to run models: cpu, cuda or auto"
	case "encoder.threads":
		return "threads of one inference (0: one per core)"
	case "index.kind":
		return "vector index: hnsw, flat or coder"
	case "search.fusion":
		return "fusion `method` when a request names none"
	case "auth.disabled":
		return "serve without keys on any address"
	case "server.allowed_hosts":
		return "`names` that Host may have while there are no keys"
	case "server.cors_origins":
		return "`origins` whose pages may call"
	case "metrics.open":
		return "serve /metrics without a key"
	case "docs.open":
		return "serve /docs and /openapi without a key (default)"
	case "log.level":
		return "debug, info, warn or error"
	case "log.format":
		return "text or json"
	case "log.questions":
		return "write the text of questions to the log"
	}
	return "sets " + path
}

// bindFlags puts the flags that were set over everything else.
func bindFlags(v *viper.Viper, flags *pflag.FlagSet, sources map[string]string) error {
	if flags == nil {
		return nil
	}
	var mistakes []error
	for _, k := range keys() {
		f := flags.Lookup(k.flag())
		if f == nil || !f.Changed || k.objects() {
			continue
		}
		source := "flag --" + f.Name
		if !k.strings() {
			if _, err := parseScalar(k.typ, f.Value.String()); err != nil {
				mistakes = append(mistakes, &Error{Source: source, Key: k.path, Value: f.Value.String(), Detail: "has to be " + err.Error()})
				continue
			}
		}
		if err := v.BindPFlag(k.path, f); err != nil {
			return fmt.Errorf("binding flag --%s: %w", f.Name, err)
		}
		sources[k.path] = source
	}
	return errors.Join(mistakes...)
}
