package main

import (
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
)

func init() { clitest.Command(main) }

func TestNumbers(t *testing.T) {
	clitest.Numbers(t, "-epochs 1 -nets 1 -decay 0", "-epochs 1 -nets 1 -protocol prequential", "-epochs 1 -nets 1 -model-kind cnn -decay 0 -words on")
}
