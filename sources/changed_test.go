package sources_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/dot"
	"github.com/sanflow/sanflow/sources/graph6"
)

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// An error that wraps io.EOF is not the end of a file.
func TestLostIsNoEnd(t *testing.T) {
	lost := fmt.Errorf("connection lost: %w", io.EOF)
	cut := func(text string) io.Reader { return io.MultiReader(strings.NewReader(text), failing{lost}) }
	for _, s := range []flow.Source{
		sources.EdgeList{Path: "x", Reader: cut("0 1\n1 2\n")},
		sources.EdgeList{Path: "x", Reader: cut("")},
		graph6.Source{Path: "x", Reader: cut("Bw\nBw\n"), Rows: 1},
		graph6.Source{Path: "x", Reader: cut("")},
		dot.Source{Path: "x", Reader: cut("graph {}")},
		sources.IPC{Path: "x", Reader: cut("")},
	} {
		err := flow.From(s).To(sources.Nowhere{}).Run(t.Context())
		if !errors.Is(err, lost) {
			t.Errorf("%v: the error is %v", s, err)
		}
	}
}
