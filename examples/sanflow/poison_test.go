package main

import (
	"os"
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
)

func TestMain(m *testing.M) {
	if os.Getenv("SANFLOW_TEST_COMMAND") != "" {
		main()
		os.Exit(0)
	}
	clitest.Main(m)
}
