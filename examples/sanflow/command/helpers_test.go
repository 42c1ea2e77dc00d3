package command

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sinks/collect"
	"github.com/sanflow/sanflow/sinks/ipc"
	"github.com/sanflow/sanflow/sources"
)

// edgeLists writes edge lists to one Arrow file, a record of graph 0 each, and returns
// its path.
func edgeLists(t *testing.T, texts ...string) string {
	t.Helper()
	var graphs collect.Sink
	for _, text := range texts {
		src := sources.EdgeList{Path: "list", Reader: strings.NewReader(text)}
		if err := flow.From(src).To(&graphs).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	defer graphs.Release()
	path := filepath.Join(t.TempDir(), "lists.arrow")
	if err := flow.From(sources.Records{Records: graphs.Records()}).To(ipc.Sink{Path: path}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return path
}
