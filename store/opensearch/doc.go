// Package opensearch keeps a collection in an index of an OpenSearch cluster: passages,
// their vectors and their words, sharded and replicated there. Analysis, encoding and the
// codes of late interaction are ours; the cluster gets terms and numbers.
//
// Words used here:
//
//   - store: an index that holds a collection;
//   - manifest: how it was made, under _meta of the index's mapping;
//   - plan: a manifest of what is being made, which becomes the manifest when all of it
//     is there;
//   - mark: what a passage says of an expert whose vectors it has.
//
// A request that got no answer may have been carried out. So everything that changes
// something has a condition or may be done twice, and is sent again until the cluster
// says what became of it.
package opensearch
