package configs

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Expert names one expert to load: a bundle or, with Address, a model behind an HTTP interface, to which passages and
// questions are sent.
type Expert struct {
	Name     string `yaml:"name" is:"expert" unique:"true"`
	Bundle   string `yaml:"bundle,omitempty" is:"path"`               // folder; "" means Config.Bundles/Name
	Provider string `yaml:"provider,omitempty" oneof:"cpu cuda auto"` // "" means Encoder.Provider
	Threads  int    `yaml:"threads,omitempty" between:"0 1024"`       // 0 means Encoder.Threads

	Address     string `yaml:"address,omitempty" is:"endpoint"` // "": a bundle
	Interface   string `yaml:"interface,omitempty" oneof:"openai tei cohere"`
	Model       string `yaml:"model,omitempty" is:"model"` // its name there
	KeyFile     string `yaml:"key_file,omitempty" is:"path"`
	KeyVariable string `yaml:"key_variable,omitempty" is:"variable"` // of the environment, in the place of KeyFile
	// that the server is asked for; 0: the model's own
	Dimension int `yaml:"dimension,omitempty" between:"0 4096"`
	CutTo     int `yaml:"cut_to,omitempty" between:"0 4096"` // of a vector's numbers, here; 0: vectors are not cut
	// "false": vectors keep their length; else they are scaled to length 1
	Normalise string       `yaml:"normalise,omitempty" oneof:"true false"`
	Question  EndpointSide `yaml:"question,omitempty"`
	Passage   EndpointSide `yaml:"passage,omitempty"`
	// that the model reads of a passage
	PassageTokens   int           `yaml:"passage_tokens,omitempty" between:"0 131072"`
	Batch           int           `yaml:"batch,omitempty" between:"0 2048"`             // texts of a request
	RequestTokens   int           `yaml:"request_tokens,omitempty" between:"0 1000000"` // of a request
	Concurrency     int           `yaml:"concurrency,omitempty" between:"0 256"`        // requests at once
	Timeout         time.Duration `yaml:"timeout,omitempty" between:"0s 30m"`           // of a request for passages
	QuestionTimeout time.Duration `yaml:"question_timeout,omitempty" between:"0s 1m"`   // for the vector of a question
	Price           float64       `yaml:"price,omitempty" between:"0 1000000"`          // of a million tokens
	Languages       []string      `yaml:"languages,omitempty" is:"language"`            // that it reads; empty: many
	// Ensemble is a file of ONNX with an ensemble on the vectors of questions; "": the expert has none.
	Ensemble string `yaml:"ensemble,omitempty" is:"path"`

	Key Secret `yaml:"-"` // of KeyVariable
}

// What an Expert with an Address has that does not say otherwise.
const (
	endpointPassageTokens   = 512
	endpointBatch           = 64
	endpointRequestTokens   = 8192
	endpointConcurrency     = 4
	endpointTimeout         = 30 * time.Second
	endpointQuestionTimeout = time.Second
)

// EndpointSide says how questions, or passages, are sent to an Expert with an Address.
type EndpointSide struct {
	Model     string `yaml:"model,omitempty"` // "": Expert.Model
	Prefix    string `yaml:"prefix,omitempty"`
	InputType string `yaml:"input_type,omitempty"`
}

// Endpoint returns the configured expert of this name that is behind an interface, completed; false if there is none.
func (cfg Config) Endpoint(name string) (x Expert, ok bool) {
	at := slices.IndexFunc(cfg.Experts, func(x Expert) bool { return x.Name == name && x.Address != "" })
	if at < 0 {
		return x, false
	}
	x = cfg.Experts[at]
	x.Interface = cmp.Or(x.Interface, "openai")
	x.PassageTokens = cmp.Or(x.PassageTokens, endpointPassageTokens)
	x.Batch = cmp.Or(x.Batch, endpointBatch)
	x.RequestTokens = cmp.Or(x.RequestTokens, endpointRequestTokens)
	x.Concurrency = cmp.Or(x.Concurrency, endpointConcurrency)
	x.Timeout = cmp.Or(x.Timeout, endpointTimeout)
	x.QuestionTimeout = cmp.Or(x.QuestionTimeout, endpointQuestionTimeout)
	return x, true
}

// Bundled returns the configured experts that are bundles. If there are any, no others of a collection are searched but
// those behind interfaces (Searches).
func (cfg Config) Bundled() []Expert {
	return slices.DeleteFunc(slices.Clone(cfg.Experts), func(x Expert) bool { return x.Address != "" })
}

// Searches reports whether an expert of a collection is searched, by its name: one that is configured, and any if no
// bundles are.
func (cfg Config) Searches(name string) bool {
	bundle, _, _ := strings.Cut(name, "@") // without the granularity
	isNamed := func(x Expert) bool { return x.Name == name || x.Address != "" && x.Name == bundle }
	return len(cfg.Bundled()) == 0 || slices.ContainsFunc(cfg.Experts, isNamed)
}

// Reranker names a reranker to load: a bundle or, with Address, a model behind an HTTP interface.
type Reranker struct {
	Name        string        `yaml:"name" is:"name" unique:"true"`
	Address     string        `yaml:"address,omitempty" is:"endpoint"` // "": a bundle; ADDRESS/rerank is asked
	Interface   string        `yaml:"interface,omitempty" oneof:"cohere tei"`
	Model       string        `yaml:"model,omitempty" is:"model"` // its name there
	KeyFile     string        `yaml:"key_file,omitempty" is:"path"`
	KeyVariable string        `yaml:"key_variable,omitempty" is:"variable"` // in the place of KeyFile
	Timeout     time.Duration `yaml:"timeout,omitempty" between:"0s 1m"`

	Key Secret `yaml:"-"` // of KeyVariable
}

// MarshalYAML returns the name alone for a reranker that has nothing else, and else its keys.
func (x Reranker) MarshalYAML() (any, error) {
	if x == (Reranker{Name: x.Name}) {
		return x.Name, nil
	}
	type keys Reranker // without this method
	return keys(x), nil
}

// CompleteRerankers returns a copy of the rerankers in which values that are not set are the defaults.
func (cfg Config) CompleteRerankers() []Reranker {
	out := slices.Clone(cfg.Rerankers)
	for i := range out {
		if out[i].Address != "" {
			out[i].Interface = cmp.Or(out[i].Interface, "cohere")
			out[i].Timeout = cmp.Or(out[i].Timeout, rerankerTimeout)
		}
	}
	return out
}

// Generator names a model behind OpenAI's chat interface, which writes answers.
type Generator struct {
	Name      string        `yaml:"name" is:"generator" unique:"true"`
	Address   string        `yaml:"address" is:"endpoint"` // such as http://127.0.0.1:11434/v1
	Model     string        `yaml:"model" is:"model"`      // its name there
	KeyFile   string        `yaml:"key_file,omitempty" is:"path"`
	Timeout   time.Duration `yaml:"timeout,omitempty" between:"0s 30m"`    // 0: Writing.Timeout
	MaxTokens int           `yaml:"max_tokens,omitempty" between:"0 8192"` // 0: Writing.MaxTokens
	Passages  int           `yaml:"passages,omitempty" between:"0 50"`     // 0: Writing.Passages
	// PromptBytes bounds the passages together; 0: Writing.PromptBytes.
	PromptBytes ByteSize `yaml:"prompt_bytes,omitempty" between:"0 16MiB"`
	// Rewrites says that it makes a question that stands alone of the last message of a conversation.
	Rewrites bool `yaml:"rewrites,omitempty"`
}

// Writing holds what a generator has that does not say otherwise.
type Writing struct {
	Timeout     time.Duration `yaml:"timeout" between:"100ms 30m"` // beside that of the search
	MaxTokens   int           `yaml:"max_tokens" between:"1 8192"`
	Passages    int           `yaml:"passages" between:"1 50"`
	PromptBytes ByteSize      `yaml:"prompt_bytes" between:"256 16MiB"` // of the passages together
	// what becomes of a sentence that the passages which it cites do not support
	Unsupported string `yaml:"unsupported" oneof:"mark drop"`
}

// CompleteGenerators returns a copy of the generators in which values that are not set are those of Writing.
func (cfg Config) CompleteGenerators() []Generator {
	out := slices.Clone(cfg.Generators)
	for i := range out {
		g := &out[i]
		g.Timeout = cmp.Or(g.Timeout, cfg.Writing.Timeout)
		g.MaxTokens = cmp.Or(g.MaxTokens, cfg.Writing.MaxTokens)
		g.Passages = cmp.Or(g.Passages, cfg.Writing.Passages)
		g.PromptBytes = cmp.Or(g.PromptBytes, cfg.Writing.PromptBytes)
	}
	return out
}

// LongestWriting returns the longest timeout of the generators; 0 if there are none.
func (cfg Config) LongestWriting() (longest time.Duration) {
	for _, g := range cfg.CompleteGenerators() {
		longest = max(longest, g.Timeout)
	}
	return longest
}

// Encoder says how questions are turned into vectors.
type Encoder struct {
	// "cpu", "cuda" or "auto"
	Provider string `yaml:"provider" oneof:"cpu cuda auto" help:"where to run models: cpu, cuda or auto"`
	// Precision of the graphs: "auto" is full precision with CUDA, and else that of the bundle; "fp32" is full
	// precision everywhere
	Precision string `yaml:"precision" oneof:"auto fp32" help:"precision of graphs: auto (full on a GPU) or fp32"`
	// the number of the GPU
	Device int `yaml:"device" between:"0 255" help:"number of the GPU that models run on with cuda"`
	// of the GPU's memory, that each graph may take; 0: no bound
	DeviceMemory ByteSize `yaml:"device_memory" between:"0 65536GiB"`
	Threads      int      `yaml:"threads" between:"0 1024" help:"threads of one inference (0: the cores divided among the experts)"` // of one inference; 0: the cores, divided among the experts
	// waiting questions per expert before callers are turned away
	Queue int `yaml:"queue" between:"1 1000000"`
	// padded tokens of one pass
	BatchTokens int `yaml:"batch_tokens" between:"512 16777216"`
	// question vectors kept per expert; 0: none
	CacheEntries int `yaml:"cache_entries" between:"0 100000000"`
}
