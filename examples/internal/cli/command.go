package cli

import (
	"context"
	"flag"
	"io"
	"os"
)

// Command is a command with flags, a live page, and files for its results.
type Command struct {
	*flag.FlagSet
	Live    *Page
	Files   Files    // open while the work runs
	outputs []string // flags that name output files
	inputs  []string // flags that name input files
	others  []string // paths of other output files
}

// Result is the result of the work: the JSON object of -json, and a text. A Result with other files is a
// Filer.
type Result interface {
	Print(out io.Writer) error
}

// Filer returns the content of the file of a flag. path is the path of the file.
type Filer interface {
	File(flag, path string) ([]byte, error)
}

// NewCommand returns a command with the flags -live and -json.
func NewCommand(name, about string) *Command {
	c := NewService(name, about)
	c.Output("json", "file for the results")
	return c
}

// NewService returns a command with the flag -live, for work without a Result.
func NewService(name, about string) *Command {
	c := &Command{FlagSet: Flags(name, about)}
	c.Live = Live(c.FlagSet)
	return c
}

// Output adds a flag for an output file.
func (c *Command) Output(name, usage string) {
	c.String(name, "", usage)
	c.outputs = append(c.outputs, name)
}

// Inputs names flags of input files, which are not overwritten. Each flag of such a command occurs once.
func (c *Command) Inputs(names ...string) { c.inputs = append(c.inputs, names...) }

// Also adds output files that the work writes by Files.
func (c *Command) Also(paths ...string) { c.others = append(c.others, paths...) }

// Path is the value of an output flag, "" where the command does not have it.
func (c *Command) Path(name string) string {
	if one := c.Lookup(name); one != nil {
		return one.Value.String()
	}
	return ""
}

// Read parses the flags. Two flags that name one file are an error.
func (c *Command) Read(args []string) error {
	parse := Parse
	if c.inputs != nil {
		parse = ParseOnce
	}
	if err := parse(c.FlagSet, args); err != nil {
		return err
	}
	return Distinct(c.FlagSet, c.outputs, c.inputs)
}

// Run does the work, writes the files and prints, unless the result is nil. A file that cannot be written
// is an error before the work.
func (c *Command) Run(ctx context.Context, work func(context.Context) (Result, error)) (err error) {
	ctx, end, err := c.Live.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { end(err) }()
	paths := c.others
	for _, name := range c.outputs {
		paths = append(paths, c.Path(name))
	}
	if c.Files, err = CreateAll(paths...); err != nil {
		return err
	}
	defer c.Files.Cleanup()
	r, err := work(ctx)
	Stages("", 0, 0)
	if err != nil || r == nil {
		return err
	}
	if from, ok := r.(Filer); ok {
		for _, name := range c.outputs {
			if name == "json" {
				continue
			}
			if err := c.Files.Finish(c.Path(name), func() ([]byte, error) { return from.File(name, c.Path(name)) }); err != nil {
				return err
			}
		}
	}
	if err := c.Files.JSON(c.Path("json"), r); err != nil {
		return err
	}
	return r.Print(os.Stdout)
}
