package main

import (
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m) }
