package main

import (
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
)

func init() { clitest.Command(main) }

func TestNumbers(t *testing.T) {
	clitest.Numbers(t, "-systems size,wl -folds 3 -repeats 1", "-systems pslr,k5 -folds 3 -repeats 1")
}
