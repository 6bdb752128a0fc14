// Package schema is the form of an index that holds a collection: its manifest under _meta, its settings and fields,
// the document of a passage, and how both are read again. It asks no cluster.
package schema
