//go:build !windows

package file

import (
	"errors"
	"os"
)

// movesOpen means that an open file can be renamed and removed.
const movesOpen = true

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
