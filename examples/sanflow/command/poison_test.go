package command

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/sanflow/sanflow/examples/internal/clitest"
)

func TestMain(m *testing.M) {
	if os.Getenv("SANFLOW_TEST_COMMAND") != "" {
		Main()
		os.Exit(0)
	}
	debug.SetGCPercent(400) // many small models are learned: a tenth of the time would go to the collector
	clitest.Main(m)
}

var run = Run
