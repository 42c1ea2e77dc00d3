package sources_test

import (
	"testing"

	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/sources"
)

// A directory of the first version that had manifests is read as it was written.
func TestOldDirectory(t *testing.T) {
	rows, _, err := drain(sources.IPC{Path: "../flow/manifest/testdata/v1"}, flowtest.Mem(t))
	if err != nil || len(rows) != 12 {
		t.Fatalf("%d rows, want 12; %v", len(rows), err)
	}
}
