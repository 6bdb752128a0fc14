// Package configs is the configuration of conclave: one immutable Config, read
// once from flags over the environment (CONCLAVE_…) over conclave.yaml over
// defaults.
//
// A mistake is an error that names the place (file and line, variable or
// flag), the key, the value, and what is allowed. The package reads no
// environment and no flags by itself: both are handed to Load.
package configs

import "time"

// Config is the whole configuration. Its fields are the keys of conclave.yaml;
// conclave.yaml in this folder says what each is for.
type Config struct {
	Listen     string   `yaml:"listen"`
	Collection string   `yaml:"collection"`
	ReadOnly   bool     `yaml:"read_only"`
	Snapshots  string   `yaml:"snapshots"` // folder; "" means Collection and "-snapshots"
	Bundles    string   `yaml:"bundles"`
	Experts    []Expert `yaml:"experts"`
	Cache      string   `yaml:"cache"`
	Runtime    string   `yaml:"runtime"`
	Encoder    Encoder  `yaml:"encoder"`
	Index      Index    `yaml:"index"`
	Ingest     Ingest   `yaml:"ingest"`
	Search     Search   `yaml:"search"`
	Limits     Limits   `yaml:"limits"`
	Rate       Rate     `yaml:"rate"`
	Auth       Auth     `yaml:"auth"`
	Server     Server   `yaml:"server"`
	Metrics    Page     `yaml:"metrics"`
	Docs       Page     `yaml:"docs"`
	Log        Log      `yaml:"log"`

	// File is the configuration file that was read, or "".
	File string `yaml:"-"`
	// Warnings are for people: what looks like a mistake and is not an error.
	Warnings []string `yaml:"-"`
}

// Expert names one expert to load. Experts are a list, and not a map from
// name to settings, because viper lower-cases the keys of maps and splits them
// at dots.
type Expert struct {
	Name     string `yaml:"name"`
	Bundle   string `yaml:"bundle"`             // folder; "" means Config.Bundles/Name
	Provider string `yaml:"provider,omitempty"` // "" means Encoder.Provider
	Threads  int    `yaml:"threads,omitempty"`  // 0 means Encoder.Threads
}

// Encoder says how questions are turned into vectors.
type Encoder struct {
	Provider     string `yaml:"provider"`      // "cpu", "cuda" or "auto"
	Threads      int    `yaml:"threads"`       // of one inference; 0: the cores, divided among the experts
	Queue        int    `yaml:"queue"`         // waiting questions per expert before callers are turned away
	BatchTokens  int    `yaml:"batch_tokens"`  // padded tokens of one pass
	CacheEntries int    `yaml:"cache_entries"` // question vectors kept per expert; 0: none
}

// Index says what kind of vector index is built and how good it has to be.
type Index struct {
	Kind   string `yaml:"kind"`
	Floors Floors `yaml:"floors"`
}

// Floors are the lowest recall@10 against exact search, 0…1, with which the
// server starts, for each kind of index.
type Floors struct {
	HNSW  float64 `yaml:"hnsw"`
	Flat  float64 `yaml:"flat"`
	Coder float64 `yaml:"coder"`
}

// Ingest says how passages that come in while the collection is served become
// visible to searches.
type Ingest struct {
	FlushAfter    time.Duration `yaml:"flush_after"`    // how long a change waits for others
	FlushPassages int           `yaml:"flush_passages"` // made visible at once, at most
	Backlog       int           `yaml:"backlog"`        // changes that may wait before writers do
	Threads       int           `yaml:"threads"`        // that build and merge graphs
}

// Search holds what a request gets when it does not say otherwise.
type Search struct {
	Fusion     string        `yaml:"fusion"`
	K          int           `yaml:"k"`
	Candidates int           `yaml:"candidates"` // per source
	Missing    string        `yaml:"missing"`    // "exact" or "min"
	Alpha      float64       `yaml:"alpha"`      // weight of BM25 in the hybrid, before anything is calibrated
	Timeout    time.Duration `yaml:"timeout"`
}

// Limits bound what one request may ask for.
type Limits struct {
	BodyBytes     ByteSize      `yaml:"body_bytes"`
	QuestionBytes ByteSize      `yaml:"question_bytes"`
	EmbedBytes    ByteSize      `yaml:"embed_bytes"`  // of one text to embed
	EmbedInputs   int           `yaml:"embed_inputs"` // texts to embed
	K             int           `yaml:"k"`
	Candidates    int           `yaml:"candidates"`
	Batch         int           `yaml:"batch"`          // searches
	BatchParallel int           `yaml:"batch_parallel"` // searches of a batch that run at once
	AnswerBytes   ByteSize      `yaml:"answer_bytes"`   // of one answer, of a batch's together
	Timeout       time.Duration `yaml:"timeout"`
	Concurrency   int           `yaml:"concurrency"` // requests worked on at once

	UploadBytes   ByteSize `yaml:"upload_bytes"`   // of one bulk upload
	UploadRate    ByteSize `yaml:"upload_rate"`    // a second, at least
	Uploads       int      `yaml:"uploads"`        // at once
	LineBytes     ByteSize `yaml:"line_bytes"`     // of one passage as JSON
	PassageBytes  ByteSize `yaml:"passage_bytes"`  // of its text
	Tags          int      `yaml:"tags"`           // of one passage
	MetadataBytes ByteSize `yaml:"metadata_bytes"` // of one passage
	// UploadAnswerBytes bounds what of an upload's answer waits for its end.
	UploadAnswerBytes ByteSize `yaml:"upload_answer_bytes"`
}

// Rate bounds the requests of one caller: of its key, or of its address.
type Rate struct {
	Requests int           `yaml:"requests"` // per window; 0: no bound
	Window   time.Duration `yaml:"window"`
}

// Auth says who may call.
type Auth struct {
	Disabled bool  `yaml:"disabled"`
	Keys     []Key `yaml:"keys"`
}

// Key is one API key, known by its SHA-256 alone.
type Key struct {
	Name    string   `yaml:"name"`
	SHA256  string   `yaml:"sha256"` // 64 hex digits
	Scopes  []string `yaml:"scopes"`
	Expires Instant  `yaml:"expires,omitempty"`
}

// Server holds what concerns connections.
type Server struct {
	AllowedHosts      []string      `yaml:"allowed_hosts"`
	CORSOrigins       []string      `yaml:"cors_origins"`
	TrustedProxies    []string      `yaml:"trusted_proxies"` // address blocks
	Connections       int           `yaml:"connections"`     // open at once; 0: what the descriptors allow
	HeaderBytes       ByteSize      `yaml:"header_bytes"`
	ReadHeaderTimeout time.Duration `yaml:"read_header_timeout"`
	ReadTimeout       time.Duration `yaml:"read_timeout"`
	WriteTimeout      time.Duration `yaml:"write_timeout"` // of a whole exchange, from the end of its header
	IdleTimeout       time.Duration `yaml:"idle_timeout"`
	DrainDelay        time.Duration `yaml:"drain_delay"`   // between "not ready" and closing the listener
	DrainTimeout      time.Duration `yaml:"drain_timeout"` // for requests under way at shutdown
}

// Page is something served beside the API.
type Page struct {
	Open bool `yaml:"open"` // needs no key
}

// Log says what is written to standard error.
type Log struct {
	Level     string `yaml:"level"`
	Format    string `yaml:"format"`
	Questions bool   `yaml:"questions"` // the text of questions too
}

// Defaults is the configuration of a machine that has none: loopback, no keys.
func Defaults() Config { return defaults().derived() }

// defaults is Defaults before what is left at 0 has been worked out.
func defaults() Config {
	return Config{
		Listen:     "127.0.0.1:8080",
		Collection: "index",
		Bundles:    "experts",
		Experts:    []Expert{},
		Encoder:    Encoder{Provider: "cpu", Queue: 1024, BatchTokens: 16384, CacheEntries: 10000},
		Index:      Index{Kind: "hnsw", Floors: Floors{HNSW: 0.95, Flat: 0.999}},
		Ingest:     Ingest{FlushAfter: time.Second, FlushPassages: 4096, Backlog: 1_000_000, Threads: 1},
		Search:     Search{Fusion: "auto", K: 10, Candidates: 100, Missing: "exact", Alpha: 0.03, Timeout: 2 * time.Second},
		Limits: Limits{
			BodyBytes: 1 << 20, QuestionBytes: 8 << 10, EmbedBytes: 64 << 10, EmbedInputs: 256,
			K: 1000, Candidates: 1000, Batch: 100, BatchParallel: 8, AnswerBytes: 32 << 20, Timeout: 10 * time.Second, Concurrency: 256,
			UploadBytes: 1 << 30, UploadRate: 1 << 10, Uploads: 4, LineBytes: 1 << 20, PassageBytes: 256 << 10, Tags: 64, MetadataBytes: 16 << 10, UploadAnswerBytes: 256 << 20,
		},
		Rate: Rate{Window: time.Minute},
		Auth: Auth{Keys: []Key{}},
		Server: Server{
			AllowedHosts: []string{}, CORSOrigins: []string{}, TrustedProxies: []string{},
			HeaderBytes: 32 << 10, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
			IdleTimeout: 2 * time.Minute, DrainTimeout: 30 * time.Second,
		},
		Docs: Page{Open: true},
		Log:  Log{Level: "info", Format: "text"},
	}
}

// derived works out what is left at 0 to follow from other values.
func (cfg Config) derived() Config {
	if cfg.Server.WriteTimeout == 0 {
		// The deadline runs while the body is read and the question is answered,
		// so it has to hold both.
		cfg.Server.WriteTimeout = cfg.Server.ReadTimeout + cfg.Limits.Timeout + 30*time.Second
	}
	return cfg
}
