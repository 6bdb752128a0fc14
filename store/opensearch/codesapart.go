package opensearch

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"

	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// lateExperts returns the experts of late interaction among experts; nil if there is none.
func lateExperts(experts []schema.Expert) (out []schema.Expert) {
	for _, x := range experts {
		if x.Late {
			out = append(out, x)
		}
	}
	return out
}

// readSeen reads fields of documents by their ids as searches see them, with the codes of experts from doc values.
// The result has an entry for each id; Found is false of one that searches do not see. fields may be patterns. It
// fails if the cluster does not answer within patience, or a shard has no copy.
func (s *Store) readSeen(
	ctx context.Context,
	patience time.Duration,
	ids []string,
	codesOf []schema.Expert,
	fields ...string,
) ([]schema.StoredDocument, error) {
	out := make([]schema.StoredDocument, len(ids))
	at := make(map[string]int, len(ids))
	for i, id := range ids {
		at[id] = i
	}
	var ofCodes []string
	for _, x := range codesOf {
		ofCodes = append(ofCodes, x.Field())
	}
	for some := range slices.Chunk(ids, fetchPassages) {
		header, err := json.Marshal(object{"index": s.index, "search_type": cluster.EachShard})
		if err != nil {
			return nil, err
		}
		find, err := json.Marshal(object{
			"size": len(some), "query": object{"bool": object{"filter": s.idsQuery(some)}}, "track_total_hits": false,
			"_source": append(slices.Clone(fields), schema.FieldVersion, schema.FieldExperts), "docvalue_fields": ofCodes,
			"seq_no_primary_term": true,
		})
		if err != nil {
			return nil, err
		}
		var answers []searchAnswer
		body := slices.Concat(header, []byte{'\n'}, find, []byte{'\n'})
		_, err = s.sendRepeatedFor(ctx, patience, "POST", "/_msearch", body,
			func(answer []byte) (err error) {
				answers, err = parseSearches(answer, 1)
				if err == nil {
					err = firstLostError(answers)
				}
				return err
			})
		if err != nil {
			return nil, err
		}
		for _, h := range answers[0].hits {
			if err := h.takeCodes(codesOf); err != nil {
				return nil, err
			}
			out[at[h.id]], err = schema.ParseStored(h.id, h.source, h.seqNo, h.term)
			if err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// takeCodes moves the codes of experts from the doc values of a hit into its source, in the form in which
// AppendVectors writes them. It skips an expert without codes there, and fails if codes are malformed.
func (f *searchHit) takeCodes(experts []schema.Expert) error {
	for _, x := range experts {
		if len(f.fields[x.Field()]) == 0 {
			continue
		}
		codes, err := f.codes(x)
		if err != nil {
			return err
		}
		f.source[x.Field()], err = json.Marshal(base64.StdEncoding.EncodeToString(codes))
		if err != nil {
			return err
		}
	}
	return nil
}

// addCodes adds the codes of experts to the documents there, which were read by their ids, from what searches see.
// complete is false if searches see one of them in another state: that one gets no codes. Without experts it asks
// nothing. It fails if the cluster does not answer within patience, or a shard has no copy.
func (s *Store) addCodes(
	ctx context.Context,
	patience time.Duration,
	ids []string,
	there []schema.StoredDocument,
	experts []schema.Expert,
) (complete bool, err error) {
	complete = true
	if len(experts) == 0 {
		return complete, nil
	}
	seen, err := s.readSeen(ctx, patience, ids, experts)
	if err != nil {
		return false, err
	}
	for i, has := range seen {
		switch {
		case !there[i].Found:
		case has.Found && has.SeqNo == there[i].SeqNo && has.Term == there[i].Term:
			maps.Copy(there[i].Source, has.Source)
		default:
			complete = false
		}
	}
	return complete, nil
}

// addFreshCodes adds the codes of the late-interaction experts to the documents there, which were read by their
// ids. If searches see another state of one of them, it refreshes the index and tries once more. Documents that are
// being changed may lack codes afterwards, which is no error.
func (s *Store) addFreshCodes(
	ctx context.Context,
	patience time.Duration,
	ids []string,
	there []schema.StoredDocument,
	experts []schema.Expert,
) error {
	complete, err := s.addCodes(ctx, patience, ids, there, experts)
	if err != nil || complete {
		return err
	}
	if err := s.refreshFor(ctx, patience); err != nil && !cluster.IsStatus(err, http.StatusForbidden) {
		return err
	}
	_, err = s.addCodes(ctx, patience, ids, there, experts)
	return err
}
