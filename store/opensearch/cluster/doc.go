// Package cluster is a client of an OpenSearch cluster over HTTP. A Client spreads requests over the nodes, asks
// another node where one is slow or gone, repeats what may be repeated, and tells a refusal, a block and an
// unreachable cluster apart. It knows nothing of passages.
package cluster
