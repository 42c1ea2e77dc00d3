package sources

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow"
)

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// An error that wraps io.EOF is not the end of a file.
func TestLostIsNoEnd(t *testing.T) {
	lost := fmt.Errorf("connection lost: %w", io.EOF)
	cut := func(text string) io.Reader { return io.MultiReader(strings.NewReader(text), failing{lost}) }
	for _, s := range []flow.Source{
		EdgeList{Path: "x", Reader: cut("0 1\n1 2\n")},
		EdgeList{Path: "x", Reader: cut("")},
		Graph6{Path: "x", Reader: cut("Bw\nBw\n"), Rows: 1},
		Graph6{Path: "x", Reader: cut("")},
		DOT{Path: "x", Reader: cut("graph {}")},
		IPC{Path: "x", Reader: cut("")},
	} {
		err := flow.From(s).To(nowhere{}).Run(t.Context())
		if !errors.Is(err, lost) {
			t.Errorf("%v: the error is %v", s, err)
		}
	}
}
