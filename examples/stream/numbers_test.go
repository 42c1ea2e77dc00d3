package main

import (
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
)

func init() { clitest.Command(main) }

func TestNumbers(t *testing.T) { clitest.Numbers(t, "-graphs 100") }
