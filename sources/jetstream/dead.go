package jetstream

import (
	"context"

	"github.com/sanflow/sanflow/internal/jet"
)

// Dead says where messages go that cannot be worked on.
type Dead = jet.Dead

func openDead(ctx context.Context, c *jet.Client, d Dead) (*jet.Letters, error) {
	return c.OpenLetters(ctx, d)
}
