package main

import (
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
)

func init() { clitest.Command(main) }

func TestNumbers(t *testing.T) { clitest.Numbers(t, "-learn 60", "-learn 60 -listen localhost:0") }
