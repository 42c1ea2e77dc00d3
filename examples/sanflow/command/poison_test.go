package command

import (
	"os"
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
)

func TestMain(m *testing.M) {
	if os.Getenv("SANFLOW_TEST_COMMAND") != "" {
		Main()
		os.Exit(0)
	}
	clitest.Main(m)
}

var run = Run
