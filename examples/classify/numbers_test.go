package main

import (
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
)

func init() { clitest.Command(main) }

func TestNumbers(t *testing.T) {
	clitest.Numbers(t, "-epochs 1 -folds 2", "-epochs 1 -folds 2 -field-edges -pretrain rbm", "-epochs 1 -folds 2 -model-kind best")
}
