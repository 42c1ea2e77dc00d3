//go:build !windows

package nn

import (
	"fmt"
	"io"

	"github.com/google/renameio/v2"
)

// SaveFile saves a model, or anything else that has Save, under that name. The
// file appears whole or not at all: it is written beside it, brought to disk and
// renamed. It is not there on Windows, which cannot replace a file in one step.
func SaveFile(name string, m interface{ Save(io.Writer) error }) error {
	f, err := renameio.NewPendingFile(name, renameio.WithPermissions(0o644))
	if err != nil {
		return fmt.Errorf("nn: save: %w", err)
	}
	defer f.Cleanup()
	if err := m.Save(f); err != nil {
		return err
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return fmt.Errorf("nn: save: %w", err)
	}
	return nil
}
