package input

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/internal/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m) }

// The generation of a large graph can be interrupted.
func TestGeneratedInterrupt(t *testing.T) {
	for _, family := range Families {
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, _, err := Generate(ctx, family, 1_000_000, 1)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", family, err)
		}
		stop()
	}
}
