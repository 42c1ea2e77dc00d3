package sources

import "github.com/sanflow/sanflow/sources/internal/readtest"

// What tests of the readers share.
var (
	readAll      = readtest.All
	checkFailure = readtest.Failure
	pack         = readtest.Pack
	sameGraph    = readtest.Same
)
