package org.opensearch.transport.grpc.spi;

/** Stands in for a type of the gRPC module, which opensearch-knn names and does not carry. */
public interface QueryBuilderProtoConverterRegistry {}
