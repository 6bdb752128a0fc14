// Package indexing builds a collection with experts, and says before what that will take.
package indexing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	"example.org/conclave/configs"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/questions"
	"example.org/conclave/internal/stores"
	"example.org/conclave/shipped"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// Options are what is indexed, and how.
type Options struct {
	Config configs.Config
	Log    *slog.Logger
	// Inputs are read into a new collection, or into one that is there. None: the
	// passages of the collection get vectors of Add or of Granularities, too.
	Inputs []corpus.Input
	// Experts are those of a new collection, as shipped.Chosen reads them.
	Experts string
	// Language is the language of the passages of a new collection: a code (ISO 639-1), LanguageAuto or "" for what the
	// first passages are in, or LanguageMulti. It chooses experts, unless Experts does, and how words are analysed,
	// unless Build.Words has another analysis than forms.Unicode.
	Language string
	// Chosen is called before anything is encoded with what the language chose, if it is not English alone. May be nil.
	Chosen func(LanguageChoice)
	// Add is an expert that the collection has no vectors of; "": none.
	Add string
	// Granularities are those of the first expert that finds passages: "1" for a vector
	// of every sentence (granules.Parse).
	Granularities []string
	// Questions tell whether parts of passages need the title before them: each of
	// Granularities is tried with it and without, on a sample, and the better one is made.
	// Nil: parts have the title, unless their granularity says otherwise.
	Questions []questions.Domain
	// Tried is called with each trial of Questions, before anything else is encoded. May be nil.
	Tried func(TitleTrial)
	// Build is completed with the opened experts.
	Build store.BuildOptions
	// Estimated is called before anything is encoded, with what that takes and, for a new collection, what it takes
	// with other experts. May be nil.
	Estimated func(passages int64, choices []Choice, err error)
	// Sent is called before anything is encoded, for each expert behind an HTTP interface. May be nil.
	Sent func(expert string, to experts.RemoteInfo)
	// Resumed is called before anything is encoded, for each expert of which an interrupted run left vectors of this
	// collection, with their number: they are not made again. May be nil.
	Resumed func(expert string, vectors int)
	// Foreign is called before anything is encoded if some of the passages are in other languages than English and none
	// of the experts reads more: with the codes of all their languages and the names of the experts. May be nil.
	Foreign func(codes, experts []string)
	// Crowded is called once, soon after indexing into a store began, if its shards are too few. May be nil.
	Crowded func(Crowding)
	// Free returns the free bytes on the disk of a path; nil: the system's answer.
	Free func(path string) (bytes int64, known bool)
}

// isForeign reports whether a language is another one than English.
func isForeign(code string) bool { return code != shipped.English }

// readsMore reports whether an expert may read other languages than English: all but the base and those made of it.
func readsMore(e *experts.Expert) bool { return !shipped.IsOfBase(&e.Bundle.Manifest) }

// IndexReport is the report of Index.
type IndexReport struct {
	store.BuildReport
	Titles    []TitleTrial     `json:"titles,omitempty"`
	Truncated map[string]int64 `json:"truncated,omitempty"`
	Unread    map[string]int64 `json:"unread,omitempty"`       // by expert, passages that it can hardly read
	LeftOut   map[string]int64 `json:"left_out,omitempty"`     // by expert, passages that only others encode
	Untexted  int64            `json:"without_text,omitempty"` // passages with a title alone
	// Fields says what the metadata of the passages hold.
	Fields map[string]FieldFound `json:"fields,omitempty"`
	// Rows counts, by file, the rows of tables that a remark was made of.
	Rows  map[string]map[corpus.Remark]int64 `json:"rows,omitempty"`
	Reads map[string]int                     `json:"-"` // tokens of a passage, by expert of Truncated
}

// Index reads the inputs, encodes their passages and publishes them: in a new collection, or in the existing one.
// Without inputs it encodes the passages of the collection with further experts. With Questions it also tries the
// granularities with and without titles. It loads the experts and closes them at the end. It returns what it did,
// also with some errors; these are *ExpertChoiceError for experts that cannot be chosen, and *RoomError for a disk
// that is too small, before anything is encoded.
func Index(ctx context.Context, o Options) (made IndexReport, err error) {
	at, err := stores.At(o.Config)
	if err != nil {
		return made, err
	}
	stored, err := at.Experts(ctx)
	if err != nil {
		return made, err
	}
	names, err := o.expertNames(stored)
	if err != nil {
		return made, err
	}
	if err := checkParts(at, names); err != nil {
		return made, err
	}
	if o.Questions != nil {
		names, err = withUntitled(names, stored)
		if err != nil {
			return made, err
		}
		if len(o.Inputs) > 0 {
			return indexThenTry(ctx, o)
		}
	}
	var source corpus.Stream
	if len(o.Inputs) > 0 {
		source, err = corpus.OpenSeries(o.Inputs)
		if err != nil {
			return made, err
		}
		defer func() { err = errors.Join(err, source.Close()) }()
	}
	var told []string // the languages of the collection's passages
	var first []corpus.Passage
	if source != nil {
		source, first = peek(source, mostPeeked)
	}
	if stored != nil && source != nil {
		told, err = languagesOf(ctx, at, first)
		if err != nil {
			return made, err
		}
	}
	if stored == nil && source != nil {
		choice, chosen, err := o.chooseByLanguage(first)
		if err != nil {
			return made, err
		}
		if chosen {
			o.Experts = cmp.Or(strings.Join(choice.Experts, ","), shipped.ChooseNone)
			o.Build.Words.Analysis = choice.Analysis
			told = choice.Languages
			names, err = o.expertNames(stored)
			if err != nil {
				return made, err
			}
			if o.Chosen != nil {
				choice.Experts = names
				o.Chosen(choice)
			}
		}
	}
	if len(told) > 1 {
		source = &toldStream{source, told}
	}
	o.Config.Encoder.Threads = experts.ThreadsOfOne(o.Config, runtime.GOMAXPROCS(0)) // nobody waits for a single vector
	loaded, err := experts.OpenFor(o.Config, o.Log, names, stored)
	if err != nil {
		return made, err
	}
	defer func() { err = errors.Join(err, loaded.Close()) }()
	if o.Questions != nil {
		made.Titles, err = o.chooseTitles(ctx, loaded)
		if err != nil {
			return made, err
		}
		for _, t := range made.Titles {
			if o.Tried != nil {
				o.Tried(t)
			}
		}
	}
	unfinished, err := o.openUnfinished(at)
	if err != nil {
		return made, err
	}
	defer func() { err = errors.Join(err, unfinished.close(err == nil)) }()
	for _, e := range loaded.Searched {
		if to := e.Remote(); to != nil && o.Sent != nil {
			o.Sent(e.Name(), *to)
		}
		encoder, err := unfinished.keep(e, o.Resumed)
		if err != nil {
			return made, err
		}
		o.Build.Experts = append(o.Build.Experts, encoder)
	}
	o.Build.Progress = withTokens(loaded, o.Build.Progress)
	o.Build.Shared = unfinished.keepShared(experts.SharedPasses(loaded.Searched))

	type passagesRead struct{ cut, unread int64 }
	ofSample := map[*experts.Expert]passagesRead{}
	defer func() {
		made.Truncated, made.Unread, made.Reads = map[string]int64{}, map[string]int64{}, map[string]int{}
		for _, e := range experts.WithEncoders(loaded.Searched) {
			if e.Granularity != nil {
				continue
			}
			n := e.Encoder.CutPassages() - ofSample[e].cut
			if !e.Sparse() {
				n = max(n, int64(made.Cut)) // behind the windows, and those of an interrupted run
			}
			if n > 0 {
				made.Truncated[e.Name()] = n
				made.Reads[e.Name()] = e.Bundle.Manifest.Vectors.MaxTokens.Passage
			}
			if n := e.Encoder.UnreadPassages() - ofSample[e].unread; n > 0 {
				made.Unread[e.Name()] = n
			}
		}
	}()
	// weigh says what encoding takes. The error is for what does not fit the disk, beside
	// the bytes that are there already.
	weigh := func(sample *Sample, exists int64) error {
		codes := sample.languages()
		told := stored == nil && o.Chosen != nil // by that
		if o.Foreign != nil && !told && len(names) > 0 && slices.ContainsFunc(codes, isForeign) &&
			!slices.ContainsFunc(loaded.Searched, readsMore) {
			o.Foreign(codes, names)
		}
		all := sample.shapeOf(loaded.Searched)
		need := estimate{passages: sample.passages, text: sample.text}.choiceOf(all).Bytes - exists
		if o.Estimated != nil {
			found, err := sample.estimateExperts(ctx, loaded.Searched)
			choices := []Choice{found.choiceOf(all)}
			if stored == nil {
				choices = found.listChoices(loaded.Searched, all)
			}
			for i := range choices {
				if choices[i].Chosen || stored != nil {
					choices[i].Sent = sample.sentBy(loaded.Searched)
				}
			}
			o.Estimated(sample.passages, choices, err)
			for _, e := range loaded.Searched {
				ofSample[e] = passagesRead{e.Encoder.CutPassages(), e.Encoder.UnreadPassages()}
			}
		}
		return checkRoom(o.freeOf(), at.Folder(), need)
	}
	if len(o.Inputs) == 0 {
		if at.Folder() != "" {
			sample, err := SampleOf(at.Folder())
			if err != nil {
				return made, err
			}
			if err := weigh(sample, textShare*sample.text); err != nil {
				return made, err
			}
		}
		for _, x := range o.Build.Experts {
			added, err := at.AddExpert(ctx, x, o.Build)
			if err != nil {
				return made, err
			}
			maps.Copy(added.Recall, made.Recall)
			added.Bytes += made.Bytes
			made.BuildReport = added
		}
		return made, nil
	}
	made.LeftOut = map[string]int64{}
	source = &leavingStream{source, experts.WithVectors(loaded.Searched), made.LeftOut}
	stream, err := typedBy(ctx, at, source, o.Build)
	if err != nil {
		return made, err
	}
	sample := &Sample{Stream: stream}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	whenRead := sync.OnceFunc(func() {
		if err := weigh(sample, sample.text); err != nil { // the texts are stored
			stop(err)
		}
	})
	crowded, err := o.watchCrowding(ctx, at, sample)
	if err != nil {
		return made, err
	}
	progress := o.Build.Progress
	o.Build.Progress = func(p store.Progress) {
		if p.Stage == store.Words { // all is read, and nothing is encoded
			whenRead()
		}
		crowded()
		if progress != nil {
			progress(p)
		}
	}
	o.Build.New = stored == nil
	made.BuildReport, err = at.Index(ctx, sample, o.Build)
	if room := new(RoomError); err != nil && errors.As(context.Cause(ctx), &room) {
		return made, room
	}
	made.Untexted = sample.untexted
	made.Fields = stream.fieldsFound()
	return made, err
}

// withTokens returns a function that passes progress on, with the tokens in its unit that were sent for an expert
// behind an interface, and their price where it is known. progress may be nil.
func withTokens(loaded *experts.Set, progress func(store.Progress)) func(store.Progress) {
	return func(p store.Progress) {
		if e := loaded.Named(p.Expert); e != nil && e.Remote() != nil && p.Stage == store.Encoding {
			p.Unit += ", " + costText(e.RemoteStats().Tokens, e.Remote().Price) + " so far"
		}
		if progress != nil {
			progress(p)
		}
	}
}

// costText returns a number of tokens and, if the price of a million of them is known, what they cost.
func costText(tokens int64, price float64) string {
	text := fmt.Sprintf("%d tokens", tokens)
	if price > 0 {
		text += fmt.Sprintf(" for %.4g", float64(tokens)*price/1e6)
	}
	return text
}

// indexThenTry indexes new passages without granularities, and then tries the granularities on them and adds the better
// ones. Its report is of both steps. If the second step fails, the passages stay indexed, and it returns the report of
// the first step with the error.
func indexThenTry(ctx context.Context, o Options) (made IndexReport, err error) {
	whole, parts := o, o
	whole.Granularities, whole.Questions = nil, nil
	made, err = Index(ctx, whole)
	if err != nil {
		return made, err
	}
	parts.Inputs = nil
	added, err := Index(ctx, parts)
	if err != nil {
		return made, fmt.Errorf("the passages are indexed, but their parts are not: %w", err)
	}
	made.Generation, made.Titles = added.Generation, added.Titles
	made.Bytes += added.Bytes
	maps.Copy(made.Recall, added.Recall)
	return made, nil
}

// IndexOnce indexes the inputs into a new collection with the named experts. A collection that exists with these
// experts stays as it is, whatever the inputs are; one with others is an error.
func IndexOnce(ctx context.Context, o Options, experts []string) error {
	stored, err := stores.Experts(ctx, o.Config)
	if err != nil {
		return err
	}
	var names []string
	for _, x := range stored {
		names = append(names, x.Name)
	}
	switch {
	case shipped.SameNames(names, experts):
		return nil
	case stored != nil:
		return fmt.Errorf(
			"%s was indexed with %s, and this version of conclave has %s: remove that folder or name another one, and run the command again",
			o.Config.Passages(), strings.Join(names, ", "), strings.Join(experts, ", "),
		)
	}
	o.Experts = strings.Join(experts, ",")
	_, err = Index(ctx, o)
	return err
}

// RebuildWords indexes the words of the collection in the folder dir anew, with its own constants of BM25, with or
// without phrases, and with the named analysis. It reads the manifest only, so that it mends words that another
// version analysed. It fails for an unknown analysis.
func RebuildWords(
	ctx context.Context,
	dir string,
	phrases bool,
	analysis string,
	o store.BuildOptions,
) (store.BuildReport, error) {
	params, err := folder.WordParams(dir)
	if err != nil {
		return store.BuildReport{}, err
	}
	as, err := store.NewWords(phrases, analysis)
	if err != nil {
		return store.BuildReport{}, err
	}
	params.Phrases, params.Analysis = as.Phrases, as.Analysis
	return folder.RebuildWords(ctx, dir, params, o)
}
