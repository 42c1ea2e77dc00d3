package main

import (
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
)

func init() { clitest.Command(main) }

func TestNumbers(t *testing.T) {
	clitest.Numbers(t, "-graphs torus -n 300 -k 5 -seconds 0.01", "-graphs preferential,rmat -n 300 -k 5 -seconds 0.01")
}
