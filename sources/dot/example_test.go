package dot_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/sanflow/sanflow/sources/dot"
)

func ExampleSource() {
	text := `graph { water -- ice; water -- {steam ice} ; rock }`
	graphs, err := dot.Source{Reader: strings.NewReader(text)}.Read(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	g := graphs[0]
	for v, name := range g.Names {
		fmt.Println(name, g.Graph.Adj(int32(v)))
	}
	// Output:
	// water [1 2]
	// ice [0]
	// steam [0]
	// rock []
}
