package main

import (
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
)

func init() { clitest.Command(main) }

func TestNumbers(t *testing.T) {
	clitest.Numbers(t, "-workers 0 -epochs 1", "-workers 1 -graph torus -n 300 -k 4")
}
