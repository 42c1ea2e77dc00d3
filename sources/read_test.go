package sources

import (
	"testing"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sources/internal/readtest"
)

// What tests of the readers share.
var (
	readAll      = readtest.All
	checkFailure = readtest.Failure
	pack         = readtest.Pack
	sameGraph    = readtest.Same
	cloneGraph   = readtest.Clone
)

type readItem = readtest.Item

func values[T record.Value](t testing.TB, rec arrow.Record, name string) []T {
	t.Helper()
	v, err := record.Values[T](rec, name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func pos(t testing.TB, rec arrow.Record, row int) int64 {
	t.Helper()
	return values[int64](t, rec, record.Pos)[row]
}
