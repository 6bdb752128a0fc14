package opensearch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/storage"
	"example.org/conclave/search/turn"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// JoinedCorpus is several indexes of one cluster as one corpus: each request is one over all of them, with the
// statistics of words of all. Inside, the id of a passage ends with the number of its index, since an id may be in
// several.
type JoinedCorpus struct {
	*Corpus
	members []*Corpus
	names   []string
	joined  []memberState // of the members, in their order
}

// memberState is what Join reads of one index. Two equal ones are of an index that has not changed.
type memberState struct {
	store  *Store
	counts Statistics
	sample *placedSample
}

// memberStateOf returns the present state of an index, by which Join reads it and by which a later change is noticed:
// its store, counts and sample.
func memberStateOf(c *Corpus) memberState {
	return memberState{c.Store(), c.Known(), c.shared.Load().sample}
}

// ofMember separates the id of a passage from the number of its index. No id contains it.
const ofMember = "\x00"

// Join returns several indexes of one cluster as one corpus, by the names of their collections. It has the experts
// that all of them have, and their samples and counts as they are known now, without a request. It fails if their
// words are analysed differently, or they are in different clusters. It panics if all is empty.
func Join(all []*Corpus, names []string) (*JoinedCorpus, error) {
	first := all[0].Store()
	m := *first.Manifest()
	m.Experts = slices.Clone(m.Experts)
	s := &Store{client: first.client, fields: first.fields}
	var known Statistics
	var indexes []string
	var states []memberState
	for i, c := range all {
		states = append(states, memberStateOf(c))
		member := c.Store()
		has := member.Manifest()
		switch {
		case member.client != s.client:
			return nil, errors.New("these collections are in several clusters")
		case has.Words != m.Words:
			return nil, fmt.Errorf("%s and %s analyse words differently, so that scores of one cannot be compared with those of the other",
				names[i], names[0])
		}
		m.Experts = slices.DeleteFunc(m.Experts, func(x schema.Expert) bool {
			other, ok := has.Expert(x.Name)
			return !ok || other != x
		})
		s.shards += member.shards
		s.members = append(s.members, member)
		indexes = append(indexes, member.index)
		known.add(c.Known())
	}
	m.Experts = slices.DeleteFunc(m.Experts, func(x schema.Expert) bool {
		_, ok := m.Expert(x.Owner)
		return x.Owner != "" && !ok
	})
	s.index = strings.Join(indexes, ",")
	s.about = schema.Meta{Manifest: &m}
	j := &JoinedCorpus{Corpus: &Corpus{members: all, renew: renewEvery, gather: all[0].gather},
		members: all, names: names, joined: states}
	j.store.Store(s)
	j.counts.Store(&known)
	table := newTable(mostKnown)
	j.shared.Store(&shared{table: table, sample: joinSamples(all).placeIn(table)})
	return j, nil
}

// add adds the numbers of another index to these, in place.
func (n *Statistics) add(more Statistics) {
	n.Passages += more.Passages
	n.Deleted += more.Deleted
	n.Cut += more.Cut
	n.Unread += more.Unread
	n.Bytes += more.Bytes
	n.inCopies += more.inCopies
	n.changes += more.changes
}

// joinSamples returns the sample of several indexes together, with the vectors and codes of its passages: those with
// the lowest sample keys of all, at most `sampled`. Their ids are those of memberID. It returns nil if the sample of an
// index was not read.
func joinSamples(all []*Corpus) *sample {
	out := &sample{vectors: map[string]map[string][]float32{}, codes: map[string]map[string][]byte{}}
	for i, c := range all {
		member := c.shared.Load().sample
		if member == nil {
			return nil
		}
		for _, p := range member.passages {
			own := p.id
			p.id = memberID(own, i)
			out.passages = append(out.passages, p)
			for name, vectors := range member.vectors {
				if vectors[own] != nil {
					out.keep(schema.Expert{Name: name}, p.id, vectors[own], nil)
				}
			}
			for name, codes := range member.codes {
				if codes[own] != nil {
					out.keep(schema.Expert{Name: name, Late: true}, p.id, nil, codes[own])
				}
			}
		}
	}
	slices.SortFunc(out.passages, func(a, b samplePassage) int {
		return cmp.Or(cmp.Compare(corpus.SampleKey(plainID(a.id)), corpus.SampleKey(plainID(b.id))), cmp.Compare(a.id, b.id))
	})
	out.passages = out.passages[:min(sampled, len(out.passages))]
	return out
}

// memberID returns the id that a passage has in the joined sample of several indexes: its own id, ofMember, and the
// number of its index in two digits.
func memberID(id string, number int) string { return id + ofMember + fmt.Sprintf("%02d", number) }

// plainID returns the id of a passage in its own index: id without what memberID appended. An id of a single index is
// returned as it is.
func plainID(id string) string {
	plain, _, _ := strings.Cut(id, ofMember)
	return plain
}

// memberOf returns the number of the member index that an id ends with (memberID); 0 if it has none.
func memberOf(id string) int {
	_, number, _ := strings.Cut(id, ofMember)
	n, _ := strconv.Atoi(number)
	return n
}

// memberIDLike returns plain, an id without a member number, with the member number of id appended (memberID). In a
// store of a single index it returns plain.
func (s *Store) memberIDLike(id, plain string) string {
	if s.members == nil {
		return plain
	}
	return memberID(plain, memberOf(id))
}

// Acquire returns a view of all indexes for one question, which knows the collection of each passage.
func (j *JoinedCorpus) Acquire() storage.View {
	return &joinedView{j.Corpus.Acquire().(*view), j.names}
}

// Experts returns the names of the experts that all have.
func (j *JoinedCorpus) Experts() []string { return schema.ExpertNames(j.Store().Manifest().Experts) }

// Current reports whether no member has changed since Join read it.
func (j *JoinedCorpus) Current() bool {
	for i, c := range j.members {
		if memberStateOf(c) != j.joined[i] {
			return false
		}
	}
	return true
}

// Close does nothing: the members belong to the caller.
func (j *JoinedCorpus) Close() {}

// joinedView is a view that knows which collection a passage is of.
type joinedView struct {
	*view
	names []string
}

// CollectionOf returns the name of the collection that a passage is of.
func (v *joinedView) CollectionOf(ordinal rank.Ordinal) string {
	return v.names[memberOf(v.table.idsOf([]rank.Ordinal{ordinal})[0])]
}

// Among returns the indexes for searching the passages that a filter lets through, and a function that waits for their
// number. Each reference in f.Hidden hides passages of its own collection only, and nothing if that was not joined. It
// returns a *conditions.MisfitError if the filter's condition does not fit the fields.
func (v *joinedView) Among(
	ctx context.Context, f storage.Filter,
) (storage.Indexes, func(context.Context) (int, error), error) {
	return v.amongIn(ctx, f, v.names)
}

// nobody is an id that no passage has. The cluster takes no statistics of words from the shards of an index where
// nothing is left of a query, such as one of the ids of another index: with this id something is left.
const nobody = "\x00"

// LookupIn returns an entry for each id with the ordinal of the passage of that collection; There is false if it has
// none. It takes one request, and fails if no collection of this name was joined.
func (v *joinedView) LookupIn(ctx context.Context, collection string, ids []string) ([]storage.Found, error) {
	number := slices.Index(v.names, collection)
	if number < 0 {
		return nil, fmt.Errorf("collection %q is not among those that are searched: %q", collection, v.names)
	}
	own := make([]string, len(ids))
	for i, id := range ids {
		own[i] = memberID(id, number)
	}
	there, err := v.store.readStored(ctx, own, schema.FieldBytes)
	if err != nil {
		return nil, err
	}
	return texts{v.request}.found(own, there)
}

// idsQuery returns the query that finds the passages with these ids. In a joined store, each id is looked for only in
// the index whose number it ends with (memberID).
func (s *Store) idsQuery(ids []string) object {
	if s.members == nil {
		return object{"ids": object{"values": ids}}
	}
	byMember := make([][]string, len(s.members))
	for _, id := range ids {
		byMember[memberOf(id)] = append(byMember[memberOf(id)], plainID(id))
	}
	ways := []any{object{"ids": object{"values": []string{nobody}}}}
	for i, own := range byMember {
		if len(own) > 0 {
			ways = append(ways, object{"bool": object{"filter": []any{
				object{"term": object{"_index": s.members[i].concrete}}, object{"ids": object{"values": own}},
			}}})
		}
	}
	return object{"bool": object{"should": ways}}
}

// tagHits adds the number of the member to the id of each hit, by the index that the hit is of. It does nothing if the
// index is read alone, and fails for a hit of another index.
func (s *Store) tagHits(answers []searchAnswer) error {
	if s.members == nil {
		return nil
	}
	for _, a := range answers {
		for i, h := range a.hits {
			at := slices.IndexFunc(s.members, func(m *Store) bool { return m.concrete == h.index })
			if at < 0 {
				return fmt.Errorf("%w: passage %q is of index %q", cluster.ErrAnswer, h.id, h.index)
			}
			a.hits[i].id = memberID(h.id, at)
		}
	}
	return nil
}

// findIDs looks passages up by ids as users write them. For each id, found has it with the number of the first member
// that has the passage, and there has that member's document. If no member has it, there[i].Found is false and
// found[i] has the number of the last. It fails if the cluster does not answer.
func (s *Store) findIDs(
	ctx context.Context,
	ids []string,
	fields ...string,
) (found []string, there []schema.StoredDocument, err error) {
	found = slices.Clone(ids)
	there = make([]schema.StoredDocument, len(ids))
	for number := range max(1, len(s.members)) {
		var missing []int
		var ask []string
		for i, id := range ids {
			if !there[i].Found {
				missing = append(missing, i)
				ask = append(ask, s.memberIDLike(memberID(id, number), id))
			}
		}
		if len(ask) == 0 {
			break
		}
		has, err := s.readStored(ctx, ask, fields...)
		if err != nil {
			return nil, nil, err
		}
		for n, i := range missing {
			found[i] = ask[n]
			there[i] = has[n]
		}
	}
	return found, there, nil
}

// askMembers calls ask for all members at the same time, waits for all, and calls add with each answer, in the order
// of the members. If one fails it returns the errors, and add is not called. ask has to use the context that it gets,
// which has no turn to compute.
func askMembers[T any](
	ctx context.Context,
	members []*Corpus,
	ask func(context.Context, *Corpus) (T, error),
	add func(T),
) error {
	answers, failed := make([]T, len(members)), make([]error, len(members))
	beside := turn.WithoutTurn(ctx)
	err := turn.Elsewhere(ctx, func() error {
		var asking sync.WaitGroup
		for i, c := range members {
			asking.Go(func() { answers[i], failed[i] = ask(beside, c) })
		}
		asking.Wait()
		return nil
	})
	if err != nil {
		return err
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	for _, answer := range answers {
		add(answer)
	}
	return nil
}

// add adds the counts of another index to these, in place: those of each entry, and those of each field's documents.
// t.inexact stays as it is.
func (t *termCounts) add(more *termCounts) {
	for e, n := range more.byEntry {
		t.byEntry[e] += n
	}
	for field, n := range more.all {
		t.all[field] += n
	}
}
