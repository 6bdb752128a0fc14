"""Finding passages with conclave itself: all sources of a collection, fused as it answers its users."""
