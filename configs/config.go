// Package configs is the configuration of conclave: one immutable Config, read
// once from flags over the environment (CONCLAVE_…) over conclave.yaml over
// defaults.
//
// A mistake is an error that names the place (file and line, variable or
// flag), the key, the value, and what is allowed. The package reads no
// environment and no flags by itself: both are handed to Load.
package configs

import (
	"cmp"
	_ "embed" // of the defaults
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Config is the whole configuration. Its fields are the keys of conclave.yaml;
// conclave.yaml in this folder says what each is for, and its default. A field's tag
// says what is allowed: between (two values, or keys whose values are the bounds), one of
// (words), what the text is, and whether it is unique in its list; and what the help of
// its flag is, with the name of its value in <>.
type Config struct {
	Listen     string `yaml:"listen" is:"address" help:"<address> and port to listen on"`
	Collection string `yaml:"collection" is:"path" help:"<folder> of the collection"`
	// folder of collections that are all served; "": Collection, or Store, alone is
	Data        string      `yaml:"data" is:"path" help:"<folder> of collections that are all served, in place of one"`
	Collections Collections `yaml:"collections"`
	Store       string      `yaml:"store" help:"<address> of an index of OpenSearch in place of a collection, opensearch+https://HOST:9200,HOST:9200/INDEX"`
	Cluster     Cluster     `yaml:"cluster"`
	ReadOnly    bool        `yaml:"read_only" help:"only search; another process may write"`
	Snapshots   string      `yaml:"snapshots" is:"path"` // folder; "" means Collection and "-snapshots"
	Bundles     string      `yaml:"bundles" is:"path" help:"<folder> that holds the experts' bundles"`
	Experts     []Expert    `yaml:"experts"`
	// names of the readers that mark answers; empty: the shipped one, where it is
	Readers    []string    `yaml:"readers" is:"name" unique:"true"`
	Rerankers  []Reranker  `yaml:"rerankers" short:"name"` // one that has a name alone may be written as the name
	Writing    Writing     `yaml:"writing"`
	Generators []Generator `yaml:"generators"`
	Cache      string      `yaml:"cache" is:"path"`
	Runtime    string      `yaml:"runtime" is:"path"`
	Encoder    Encoder     `yaml:"encoder"`
	Index      Index       `yaml:"index"`
	Ingest     Ingest      `yaml:"ingest"`
	Search     Search      `yaml:"search"`
	Limits     Limits      `yaml:"limits"`
	Documents  Documents   `yaml:"documents"`
	Unanswered Unanswered  `yaml:"unanswered"`
	Answered   Answered    `yaml:"answered"`
	Rate       Rate        `yaml:"rate"`
	Auth       Auth        `yaml:"auth"`
	Server     Server      `yaml:"server"`
	Metrics    Page        `yaml:"metrics"`
	Docs       Page        `yaml:"docs"`
	Log        Log         `yaml:"log"`

	// File is the configuration file that was read, or "".
	File string `yaml:"-"`
	// Warnings are for people: what looks like a mistake and is not an error.
	Warnings []string `yaml:"-"`
}

// AnyIndex ends the address of a store that stands for all indexes which begin like it, a collection each.
const AnyIndex = "*"

// Several reports whether a server of the configuration has several collections.
func (cfg Config) Several() bool { return cfg.Data != "" || strings.HasSuffix(cfg.Store, AnyIndex) }

// Passages returns where the passages of the configured collection are: the address of its index in a store, or the
// folder of the collection. For a store of several collections it is the index with the collection's name.
func (cfg Config) Passages() string {
	if prefix, several := strings.CutSuffix(cfg.Store, AnyIndex); several {
		return prefix + filepath.Base(cfg.Collection)
	}
	return cmp.Or(cfg.Store, cfg.Collection)
}

// Collections says how those of Data are served.
type Collections struct {
	Default string `yaml:"default" is:"name"`        // of requests that name none
	Open    int    `yaml:"open" between:"1 1000000"` // at a time, but for what is in use
	// OpenBytes bounds the files of those that are open, together; 0: no bound.
	OpenBytes ByteSize      `yaml:"open_bytes" between:"0 1024GiB"`
	Idle      time.Duration `yaml:"idle" between:"1s 8760h"`  // after which one is closed that nobody uses
	Labels    int           `yaml:"labels" between:"0 10000"` // of collections in the metrics; the others share one
}

// Cluster says how Store is accessed, and how a new index is laid out.
type Cluster struct {
	CA           string `yaml:"ca" is:"path"` // file of certificates to trust; "": those of the system
	User         string `yaml:"user"`
	PasswordFile string `yaml:"password_file" is:"path"` // in the place of Password
	APIKeyFile   string `yaml:"api_key_file" is:"path"`  // in the place of APIKey
	Password     Secret `yaml:"-"`                       // of the environment: CONCLAVE_CLUSTER_PASSWORD
	APIKey       Secret `yaml:"-"`                       // in the place of a user; CONCLAVE_CLUSTER_API_KEY
	Shards       int    `yaml:"shards" between:"1 1024" help:"shards of a new index of OpenSearch"`
	Replicas     int    `yaml:"replicas" between:"0 1024" help:"further copies of each shard of a new index of OpenSearch"`
}

// rerankerTimeout is how long a model behind an interface may score the passages of a question that has the time.
const rerankerTimeout = 5 * time.Second

// Index says what kind of vector index is built and how good it has to be.
type Index struct {
	Kind string `yaml:"kind" oneof:"hnsw flat coder" help:"<kind> of vector index: hnsw, flat or coder"`
	// Analysis is how the words of new collections are analysed (forms.Analysis).
	Analysis string `yaml:"analysis" oneof:"unicode lucene"`
	Floors   Floors `yaml:"floors"`
}

// Floors are the lowest recall@10 against exact search, 0…1, with which the
// server starts, for each kind of index.
type Floors struct {
	HNSW  float64 `yaml:"hnsw" between:"0 1"`
	Flat  float64 `yaml:"flat" between:"0 1"`
	Coder float64 `yaml:"coder" between:"0 1"`
}

// Ingest says how passages that come in while the collection is served become
// visible to searches.
type Ingest struct {
	FlushAfter    time.Duration `yaml:"flush_after" between:"1ms 1h"`       // how long a change waits for others
	FlushPassages int           `yaml:"flush_passages" between:"1 1000000"` // made visible at once, at most
	Backlog       int           `yaml:"backlog" between:"1 100000000"`      // changes that may wait before writers do
	Threads       int           `yaml:"threads" between:"1 1024"`           // that build and merge graphs
}

// Search holds what a request gets when it does not say otherwise.
type Search struct {
	Fusion string `yaml:"fusion" help:"default fusion <method> of requests"`
	K      int    `yaml:"k" between:"1 limits.k"`
	// per source
	Candidates int `yaml:"candidates" between:"1 limits.candidates"`
	// "exact" or "min"
	Missing string `yaml:"missing" oneof:"exact min"`
	// weight of BM25 in the hybrid, before anything is calibrated
	Alpha   float64       `yaml:"alpha" between:"0 1000000" help:"weight of BM25 in the hybrid without a calibration"`
	Correct bool          `yaml:"correct" help:"take words of questions that nobody knows for mistyped ones"`
	Rerank  string        `yaml:"rerank" oneof:"auto true false" help:"whether a reranker scores the first passages"`
	Timeout time.Duration `yaml:"timeout" between:"1ms limits.timeout"`
}

// Limits bound what one request may ask for.
type Limits struct {
	BodyBytes     ByteSize      `yaml:"body_bytes" between:"1KiB 1GiB"`
	QuestionBytes ByteSize      `yaml:"question_bytes" between:"16 limits.body_bytes"`
	EmbedBytes    ByteSize      `yaml:"embed_bytes" between:"16 limits.body_bytes"` // of one text to embed
	EmbedInputs   int           `yaml:"embed_inputs" between:"1 100000"`            // texts to embed
	K             int           `yaml:"k" between:"1 100000"`
	Candidates    int           `yaml:"candidates" between:"1 100000"`
	Batch         int           `yaml:"batch" between:"1 10000"`          // searches
	BatchParallel int           `yaml:"batch_parallel" between:"1 10000"` // searches of a batch that run at once
	AnswerBytes   ByteSize      `yaml:"answer_bytes" between:"1KiB 1GiB"` // of one answer, of a batch's together
	Timeout       time.Duration `yaml:"timeout" between:"1ms 1h"`
	Concurrency   int           `yaml:"concurrency" between:"1 1000000"` // requests worked on at once
	// of bodies and answers together; 0: a quarter of the machine's
	Memory ByteSize `yaml:"memory" between:"0 65536GiB"`

	UploadBytes   ByteSize `yaml:"upload_bytes" between:"1KiB 1024GiB"` // of one bulk upload
	UploadRate    ByteSize `yaml:"upload_rate" between:"1 1GiB"`        // a second, at least
	Uploads       int      `yaml:"uploads" between:"1 1000"`            // at once
	LineBytes     ByteSize `yaml:"line_bytes" between:"1KiB 16MiB"`     // of one passage as JSON
	PassageBytes  ByteSize `yaml:"passage_bytes" between:"1 8MiB"`      // of its text
	Tags          int      `yaml:"tags" between:"0 256"`                // of one passage
	MetadataBytes ByteSize `yaml:"metadata_bytes" between:"0 256KiB"`   // of one passage
	// UploadAnswerBytes bounds what of an upload's answer waits for its end.
	UploadAnswerBytes ByteSize `yaml:"upload_answer_bytes" between:"1KiB 1024GiB"`
}

// Documents says how files are read and cut into passages.
type Documents struct {
	Words     int      `yaml:"words" between:"10 2000" help:"words of a passage that is cut from a document, about"`
	FileBytes ByteSize `yaml:"file_bytes" between:"1KiB 1GiB"` // of one file
	// of the parts of a file that is an archive inside
	UnpackedBytes ByteSize `yaml:"unpacked_bytes" between:"1KiB 1GiB"`
	TextBytes     ByteSize `yaml:"text_bytes" between:"1KiB 256MiB"` // of the text of one file
	// headings, paragraphs and the like of one file
	Blocks  int           `yaml:"blocks" between:"1 10000000"`
	Members int           `yaml:"members" between:"1 1000000"` // files in an archive
	Depth   int           `yaml:"depth" between:"0 1000"`      // of archives in archives, and mails in mails
	Time    time.Duration `yaml:"time" between:"100ms 1h"`     // for one file
	// processes that read files at the same time; 0: half of the processors
	Workers int `yaml:"workers" between:"0 1024"`
	// that one of them may take beyond three times its file; less than 256 MiB counts as that
	Memory ByteSize `yaml:"memory" between:"1KiB 64GiB"`
	// between two looks at folders that are followed; a file that changed since is left for the next
	Look time.Duration `yaml:"look" between:"10ms 24h"`
	// GitIgnore leaves out of folders what files called .gitignore in them name.
	GitIgnore bool `yaml:"gitignore" help:"leave out what files called .gitignore in the folders name"`
	// Keep keeps the files of documents: copies of uploaded ones, references to those of folders.
	Keep bool `yaml:"keep"`
	// Encoding is that of all texts whose encoding their file does not declare; "": it is told by the text.
	Encoding string `yaml:"encoding" help:"<encoding> of texts, such as windows-1251; else each is told by itself"`
	OCR      OCR    `yaml:"ocr"`
	// Converters make files of formats that are not read into others.
	Converters []Converter `yaml:"converters"`
	// Hosts are those whose pages callers may add over HTTP: docs.example.org, or *.example.org for all below it.
	Hosts []string `yaml:"hosts" is:"site" unique:"true"`
	// Networks are those in which sites may be that are not public.
	Networks []string `yaml:"networks" is:"block" help:"<networks> in which a site may be although they are not public, such as 10.0.0.0/8"`
	Site     Site     `yaml:"site"`
}

// Site says how the pages of websites are read.
type Site struct {
	Connections int           `yaml:"connections" between:"1 64"` // to a host at a time
	Rate        float64       `yaml:"rate" between:"0.001 1000" help:"requests a second to a site, at most; its robots.txt may ask for fewer"`
	Pages       int           `yaml:"pages" between:"1 10000000"`   // of one site
	Depth       int           `yaml:"depth" between:"0 100000"`     // links from the start address to a page
	Bytes       ByteSize      `yaml:"bytes" between:"1KiB 1024GiB"` // of all pages of a site together
	Attempts    int           `yaml:"attempts" between:"1 20"`      // at a page of a site that is busy
	Timeout     time.Duration `yaml:"timeout" between:"100ms 10m"`  // for one page
	Time        time.Duration `yaml:"time" between:"1s 720h"`       // for one reading of a site
	Look        time.Duration `yaml:"look" between:"10ms 8760h"`    // between two readings of a site that is followed
}

// OCR says how the letters of pictures are recognised, by tesseract where it is installed.
type OCR struct {
	Languages string        `yaml:"languages" help:"languages of pictures, as tesseract has them: eng+deu; \"\": pictures are not read"`
	Time      time.Duration `yaml:"time" between:"1s 24h"` // for all pictures of a file
}

// Converter is a program that converts files with an ending.
type Converter struct {
	Ending  string `yaml:"ending" unique:"true"` // with the dot
	Command string `yaml:"command"`              // with {in} and {dir}
}

// Unanswered says which questions that were not answered are kept for administrators.
type Unanswered struct {
	Keep int           `yaml:"keep" between:"0 10000"`  // of each collection; 0: none
	Age  time.Duration `yaml:"age" between:"1s 87600h"` // after which one is dropped that nobody asked again
}

// Answered says which questions that were answered are kept, to be suggested to others.
type Answered struct {
	Keep   int           `yaml:"keep" between:"0 10000"`  // of each collection; 0: none
	Age    time.Duration `yaml:"age" between:"1s 87600h"` // after which one is dropped that nobody asked again
	Askers int           `yaml:"askers" between:"2 1000"` // how many keys or addresses ask one before it is offered
}

// Rate bounds the requests of one caller: of its key, or of its address.
type Rate struct {
	Requests int           `yaml:"requests" between:"0 1000000000"` // per window; 0: no bound
	Window   time.Duration `yaml:"window" between:"1s 24h"`
}

// Auth says who may call.
type Auth struct {
	Disabled bool  `yaml:"disabled"`
	Keys     []Key `yaml:"keys"`
}

// Key is one API key, known by its SHA-256 alone.
type Key struct {
	Name    string    `yaml:"name" is:"name" unique:"true"`
	SHA256  string    `yaml:"sha256" is:"sum" unique:"true"` // 64 hex digits
	Scopes  []string  `yaml:"scopes" oneof:"search embed ingest admin"`
	Expires time.Time `yaml:"expires,omitempty"` // zero: never
	// names or patterns of the collections that it is for; empty: all
	Collections []string `yaml:"collections,omitempty" is:"pattern"`
	// Filter is a condition in JSON that passages have to meet which the key may see; "": all.
	Filter string `yaml:"filter,omitempty" is:"condition"`
	// on the mean; 0: no bound
	RequestsASecond float64 `yaml:"requests_a_second,omitempty" between:"0 1000000"`
	// Quotas bound the collections that it makes.
	Quotas KeyQuotas `yaml:"quotas,omitempty"`
}

// KeyQuotas bound the collections that a key makes; 0: no bound.
type KeyQuotas struct {
	Collections int      `yaml:"collections,omitempty" between:"0 1000000"` // of its names, whoever made them
	Passages    int      `yaml:"passages,omitempty" between:"0 2000000000"` // of each that it makes
	Bytes       ByteSize `yaml:"bytes,omitempty" between:"0 1024GiB"`       // of each that it makes
}

// Server holds what concerns connections.
type Server struct {
	AllowedHosts   []string `yaml:"allowed_hosts" is:"host"`
	CORSOrigins    []string `yaml:"cors_origins" is:"origin"`
	TrustedProxies []string `yaml:"trusted_proxies" is:"block"` // address blocks
	// under which callers reach the server; "": none
	BasePath          string        `yaml:"base_path" is:"base"`
	Connections       int           `yaml:"connections" between:"0 1000000"` // open at once; 0: what the descriptors allow
	HeaderBytes       ByteSize      `yaml:"header_bytes" between:"1KiB 1MiB"`
	ReadHeaderTimeout time.Duration `yaml:"read_header_timeout" between:"10ms 10m"`
	ReadTimeout       time.Duration `yaml:"read_timeout" between:"10ms 1h"`
	// of a whole exchange, from the end of its header
	WriteTimeout time.Duration `yaml:"write_timeout" between:"0s 2h"`
	IdleTimeout  time.Duration `yaml:"idle_timeout" between:"10ms 2h"`
	DrainDelay   time.Duration `yaml:"drain_delay" between:"0s 10m"`  // between "not ready" and closing the listener
	DrainTimeout time.Duration `yaml:"drain_timeout" between:"0s 1h"` // for requests under way at shutdown
}

// Page is something served beside the API.
type Page struct {
	Open bool `yaml:"open"` // needs no key
}

// Log says what is written to standard error.
type Log struct {
	Level     string `yaml:"level" oneof:"debug info warn error"`
	Format    string `yaml:"format" oneof:"text json" help:"text or json"`
	Questions bool   `yaml:"questions" help:"write the text of questions to the log"` // the text of questions too
	// Slow is how long a search takes that is logged with its stages; 0: none is.
	Slow time.Duration `yaml:"slow" between:"0s 1h"`
}

// defaultsFile is conclave.yaml as it is documented: every key at its default.
//
//go:embed conclave.yaml
var defaultsFile []byte

// Defaults is the configuration of a machine that has none: loopback, no keys.
var Defaults = sync.OnceValue(func() Config {
	r := resolver{places: map[string]string{}}
	err := r.readFile("conclave.yaml", defaultsFile)
	err = errors.Join(append(r.mistakes, err)...)
	if err != nil {
		panic(err) // a test reads it
	}
	return r.config
})
