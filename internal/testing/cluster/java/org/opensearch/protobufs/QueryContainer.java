package org.opensearch.protobufs;

/** Stands in for a type of the gRPC module, which opensearch-knn names and does not carry. */
public final class QueryContainer {
  public enum QueryContainerCase {
    KNN
  }
}
