package cli

import (
	"errors"
	"fmt"

	"github.com/sanflow/sanflow/flow/file/store"
)

// OpenStore opens the directory of -checkpoint for a run with these settings, which
// -resume resumes. The directory "" gives nil, which keeps nothing.
func OpenStore(dir string, resume bool, settings []store.Setting) (*store.Store, error) {
	if dir == "" {
		return nil, nil
	}
	s, err := store.Open(nil, dir)
	if err != nil {
		return nil, fmt.Errorf("-checkpoint: %w", err)
	}
	err = s.Begin(settings, resume)
	switch {
	case err == nil:
		return s, nil
	case errors.Is(err, store.ErrBegun):
		err = fmt.Errorf("-checkpoint: %w; resume it by -resume, or name another directory", err)
	default:
		err = fmt.Errorf("-resume: %w", err)
	}
	return nil, errors.Join(err, s.Close())
}

// Setting is one of the values that decide the results of a run.
func Setting(name string, value any) store.Setting {
	return store.Setting{Name: name, Value: fmt.Sprint(value)}
}
