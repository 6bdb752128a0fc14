package testenv

import "flag"

// SameDraws sets the seed of rapid's property tests to 1 unless the command line names one, so that a failure is one
// for everybody. Call it in TestMain: it parses the flags. To draw others, name a seed: go test ./fusion -rapid.seed
// 7 -rapid.checks 60000.
func SameDraws() {
	flag.Parse()
	if seed := flag.Lookup("rapid.seed"); seed != nil && seed.Value.String() == seed.DefValue {
		_ = seed.Value.Set("1")
	}
}
