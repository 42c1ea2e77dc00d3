package cli

import (
	"context"
	"os"
	"path/filepath"

	"github.com/sanflow/sanflow/sources/download"
)

// Place returns the path of the data that name stands for: name itself where that is a
// path, or else the file of that name, without its ending or with it, in a folder of
// $SANFLOW_DATA. What is nowhere keeps its name, by which it is then missed.
func Place(folder, name string) string {
	data := os.Getenv("SANFLOW_DATA")
	if _, err := os.Stat(name); err == nil || data == "" || name == "" {
		return name
	}
	for _, end := range []string{"", ".zip", ".edges.gz"} {
		path := filepath.Join(data, folder, name+end)
		if _, err := os.Stat(path); err == nil && filepath.IsLocal(name) {
			return path
		}
	}
	return name
}

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
