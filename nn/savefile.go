package nn

import (
	"fmt"
	"io"

	"github.com/sanflow/sanflow/flow/file"
)

// SaveFile saves a model, or anything else that has Save, under that name. The
// file appears whole or not at all: see package flow/file.
func SaveFile(name string, m interface{ Save(io.Writer) error }) error {
	return SaveFileOn(nil, name, m)
}

// SaveFileOn is SaveFile on a file system; nil is that of this machine.
func SaveFileOn(fsys file.FS, name string, m interface{ Save(io.Writer) error }) error {
	f, err := file.Create(fsys, name)
	if err != nil {
		return fmt.Errorf("nn: save: %w", err)
	}
	defer f.Discard()
	if err := m.Save(f); err != nil {
		return err
	}
	if err := f.Publish(); err != nil {
		return fmt.Errorf("nn: save: %w", err)
	}
	return nil
}
