package server

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"example.org/conclave/bm25/forms"
	"example.org/conclave/configs"
	"example.org/conclave/handlers"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/collections"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/languages"
	"example.org/conclave/internal/stores"
	"example.org/conclave/search"
	"example.org/conclave/shipped"
	"example.org/conclave/store"
)

// Create makes an empty collection and returns its description, for which it opens the collection. Empty fields of s
// get the configured defaults. The error is a *collections.Error for invalid settings and experts that cannot be
// used; after an error of these, nothing is left. If only the description fails, the collection exists.
func (r *registry) Create(ctx context.Context, name string, s collections.Settings) (info collections.Info, err error) {
	catalogue, err := r.openedCatalogue()
	if err != nil {
		return info, err
	}
	if err := r.completeSettings(&s); err != nil {
		return info, err
	}
	set, failed, err := r.pool.OpenSome(r.encodingConfig(), r.log, s.Experts, nil)
	if err != nil {
		return info, err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	for _, expert := range s.Experts {
		if why := failed[expert]; why != nil {
			return info, &collections.Error{
				Code: "unknown_bundle", Cause: why,
				Detail: fmt.Sprintf("the expert %q cannot be used: %s", expert, handlers.WithoutPaths(why.Error())),
			}
		}
	}
	words, err := store.NewWords(true, s.Analysis)
	if err != nil {
		return info, &collections.Error{Code: collections.NoValue, Detail: err.Error()}
	}
	options := store.BuildOptions{
		Shared: experts.SharedPasses(set.Searched), Words: words, Index: store.Index{Kind: s.Index},
		Threads: r.config.Ingest.Threads, New: true, Empty: true,
	}
	for _, e := range set.Searched {
		options.Experts = append(options.Experts, e)
	}
	if err := catalogue.Create(ctx, name, s, options); err != nil {
		return info, err
	}
	r.tellWorks(name)
	r.log.Info("made", "collection", name, "experts", strings.Join(s.Experts, ","))
	return r.Describe(ctx, name)
}

// completeSettings sets the fields of a new collection's settings that are empty to the configured defaults, and
// replaces names such as default by those of experts. It returns a *collections.Error if a setting is invalid or
// above the server's limits.
func (r *registry) completeSettings(s *collections.Settings) error {
	if err := chooseByLanguage(&r.config, s); err != nil {
		return err
	}
	if len(s.Experts) == 0 {
		for _, x := range r.config.Bundled() { // texts are sent to no other server unless a request names an expert for that
			s.Experts = append(s.Experts, x.Name)
		}
	}
	if err := assembly.CheckSettings(s); err != nil {
		return &collections.Error{Code: "out_of_range", Detail: err.Error()}
	}
	chosen, err := shipped.Chosen(strings.Join(s.Experts, ","))
	if err != nil {
		return &collections.Error{Code: collections.NoValue, Detail: err.Error()}
	}
	s.Experts = chosen
	if s.Index == "" && r.config.Data != "" { // a cluster has one kind
		s.Index = r.config.Index.Kind
	}
	if s.Analysis == "" {
		s.Analysis = r.config.Index.Analysis
	}
	for _, bound := range []struct {
		name        string
		value, most int
	}{
		{"search.k", s.Search.K, r.config.Limits.K},
		{"search.candidates", s.Search.Candidates, r.config.Limits.Candidates},
	} {
		if bound.value < 0 || bound.value > bound.most {
			return &collections.Error{
				Code: "out_of_range", Detail: fmt.Sprintf("%s has to be from 1 to %d", bound.name, bound.most),
			}
		}
	}
	if m := s.Search.Fusion; m != "" && m != search.MethodAuto && !slices.Contains(search.MethodNames(), m) {
		return &collections.Error{
			Code:   "unknown_method",
			Detail: fmt.Sprintf("search.fusion is %q; the methods are %s", m, strings.Join(search.MethodNames(), ", ")),
		}
	}
	return nil
}

// chooseByLanguage sets the experts and the analysis of a new collection's settings by its languages, where these are
// empty. It does nothing without languages. The error is a *collections.Error for a code that is not known.
func chooseByLanguage(config *configs.Config, s *collections.Settings) error {
	if len(s.Languages) == 0 {
		return nil
	}
	for _, code := range s.Languages {
		if languages.NameOf(code) == code {
			return &collections.Error{Code: collections.NoValue, Detail: fmt.Sprintf(
				"languages has %q, which is not known: write codes such as en, de, fr or zh (ISO 639-1)", code)}
		}
	}
	if len(s.Experts) == 0 && slices.ContainsFunc(s.Languages, func(code string) bool { return code != shipped.English }) {
		has := func(name string) bool { return experts.HasBundle(*config, name) }
		s.Experts = []string{shipped.ChooseForLanguages(s.Languages, has)}
	}
	if s.Analysis == "" && config.Index.Analysis == forms.Unicode.String() {
		s.Analysis = forms.OfLanguages(s.Languages).String()
	}
	return nil
}

// List returns descriptions of all collections, in the order of their names, without opening any. It fails if the
// catalogue is not open yet or cannot be read.
func (r *registry) List(ctx context.Context) ([]collections.Info, error) {
	catalogue, err := r.openedCatalogue()
	if err != nil {
		return nil, err
	}
	all, err := catalogue.List(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]collections.Info, 0, len(all))
	for i := range all {
		out = append(out, r.describeClosed(&all[i]))
	}
	return out, nil
}

// describeClosed describes a collection without opening it: its status and settings, why it cannot be opened, and, if
// it is open, its experts and number of passages.
func (r *registry) describeClosed(l *stores.ListedCollection) collections.Info {
	name := l.Name
	info := collections.Info{Name: name, Status: collections.Closed, Default: name == r.config.Collections.Default}
	r.mu.Lock()
	h, failed := r.held[name], r.failed[name]
	var c *collection
	switch {
	case h != nil && h.c != nil && h.gone == nil:
		c = h.c
	case h != nil && h.gone == nil:
		info.Status = collections.Opening
	case h == nil && failed.err != nil:
		info.Status = collections.Failed
		info.Detail = handlers.WithoutPaths(failed.err.Error())
	case h == nil && l.Err != nil:
		info.Status = collections.Failed
		info.Detail = handlers.WithoutPaths(l.Err.Error())
	}
	r.mu.Unlock()
	if c != nil {
		info.Status = collections.Opened
		generation, passages := c.assembly.Engine.Generation()
		info.Generation, info.Passages = &generation, &passages
		for _, x := range c.assembly.Engine.Experts() {
			info.Experts = append(info.Experts, x.Name)
		}
	}
	if l.Err == nil && !l.Created.IsZero() {
		info.Settings, info.Created = &l.Settings, &l.Created
	}
	return info
}

// Describe opens a collection and returns its settings, experts and size. Of a damaged collection it returns what is
// known without opening it, and no error. The error is a *collections.Error if the collection is unknown or cannot be
// opened now, or ctx's.
func (r *registry) Describe(ctx context.Context, name string) (info collections.Info, err error) {
	h, err := r.takeCollection(ctx, name)
	var refused *collections.Error
	damaged := errors.As(err, &refused) && refused.Code == collections.Damaged
	if err != nil && !damaged {
		return info, err
	}
	if !damaged {
		defer r.giveBack(h)
	}
	found, err := r.catalogue.Find(ctx, name)
	switch {
	case err != nil:
		return info, damagedError(name, err)
	case found == nil:
		return info, collections.UnknownError(name)
	}
	info = r.describeClosed(found)
	if damaged {
		return info, nil
	}
	if bytes, err := r.catalogue.Bytes(ctx, name); err == nil {
		info.Bytes = &bytes
	}
	return info, nil
}

// encodingConfig returns the configuration with which the pool loads encoders. If the number of threads is not
// configured, it divides the processors among as many encoders as a collection has by default.
func (r *registry) encodingConfig() (config configs.Config) {
	config = r.config
	config.Encoder.Threads = experts.ThreadsOfOne(config, min(len(shipped.Default()), runtime.GOMAXPROCS(0)))
	return config
}
