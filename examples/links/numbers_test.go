package main

import (
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
)

func init() { clitest.Command(main) }

func TestNumbers(t *testing.T) {
	clitest.Numbers(t, "-model-kind words -epochs 1 -repeats 1", "-model-kind pooled -epochs 1 -repeats 1 -nets 1")
}
