// Package input is what commands share that read graphs which a command line names.
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

// Options are those of sources.Open in a command: a terminal shows how much was read.
func Options() sources.Options {
	return sources.Options{Progress: cli.Stages()}
}
