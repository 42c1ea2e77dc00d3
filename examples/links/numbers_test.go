package main

import (
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
)

func init() { clitest.Command(main) }

func TestNumbers(t *testing.T) {
	clitest.Numbers(t, "-net words -epochs 1 -repeats 1", "-net pooled -epochs 1 -repeats 1 -nets 1")
}
