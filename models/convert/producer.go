package convert

// Producer is what a manifest's lineage says about who wrote the bundle. The
// number grows when the same checkpoint would become other files, so that
// `conclave setup` knows a bundle that an older version made.
const Producer = "conclave models import 3"
