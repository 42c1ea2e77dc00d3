package cli

import (
	"context"

	"github.com/sanflow/sanflow/sources/download"
)

// Find returns the path of the TU collection that name stands for: a path, or
// a name to look up and, where need be, to download, with a progress bar.
func Find(ctx context.Context, name string) (string, error) {
	var bar *Progress
	defer func() { bar.Done() }()
	return download.Find(ctx, name, download.Options{Progress: func(done, total int64) {
		if bar == nil {
			bar = NewProgress("downloading "+name, total)
		}
		bar.Set(done)
	}})
}
