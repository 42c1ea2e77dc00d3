package main

import (
	"context"
	"errors"
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/sources/generate"
)

func TestMain(m *testing.M) { clitest.Main(m) }

// It behaves as an operator has to, with rows that it refuses and without.
func TestTriangles(t *testing.T) {
	flowtest.Run(t, flowtest.Case{Op: Triangles{}})
	flowtest.Run(t, flowtest.Case{Op: Triangles{Most: 5}})
}

func TestErrors(t *testing.T) {
	for _, args := range [][]string{{"-graphs", "0"}, {"-max-nodes", "-1"}, {"stray"}} {
		if err := run(context.Background(), args); err == nil {
			t.Errorf("%v is no error", args)
		}
	}
}

func TestCount(t *testing.T) {
	g, err := generate.Torus(3, 5) // each of its 5 rings of 3 is a triangle
	if err != nil {
		t.Fatal(err)
	}
	if n, err := triangles(context.Background(), g); n != 5 || err != nil {
		t.Errorf("%d triangles, %v, want 5", n, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := triangles(ctx, g); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}
