package choose_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// Many small models are learned: a tenth of the time would go to the collector.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
