package field

// General makes z compute every field on lists, which is the reference for all other
// ways.
func General(z *Normalizer) { z.general = true }

// Without makes z do without one of the paths that are there for speed alone; see
// BenchmarkPaths.
func Without(z *Normalizer, path string) {
	switch path {
	case "engine on words, cut":
		z.general = true
	case "memo":
		z.Cache = nil
	case "order of trees":
		z.words.noTree = true
	case "ends at the cut":
		z.cut.noEnding = true
	case "third round":
		z.cut.noThird = true
	}
}
