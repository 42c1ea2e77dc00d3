// Package input has the code that commands share which read graphs by name.
package input

import (
	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/sources"
	_ "github.com/sanflow/sanflow/sources/dot"
	_ "github.com/sanflow/sanflow/sources/download" // collections by name
	_ "github.com/sanflow/sanflow/sources/graph6"
	_ "github.com/sanflow/sanflow/sources/molecules"
	_ "github.com/sanflow/sanflow/sources/nodelink"
	_ "github.com/sanflow/sanflow/sources/parquet"
)

// Options are the options of sources.Open in a command: a terminal shows the progress.
func Options() sources.Options {
	return sources.Options{Progress: cli.Stages}
}
