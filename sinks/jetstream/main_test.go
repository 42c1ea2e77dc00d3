package jetstream

import (
	"testing"

	"github.com/sanflow/sanflow/internal/jet/jettest"
)

func TestMain(m *testing.M) { jettest.Main(m) }
