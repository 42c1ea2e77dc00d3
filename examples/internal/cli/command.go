package cli

import (
	"context"
	"flag"
	"io"
	"os"
)

// Command is a command that does some work and writes what came of it: flags, a page, and files.
type Command struct {
	*flag.FlagSet
	Live    *Page
	outputs []string // flags that name files, -json first
}

// Result is what comes of the work: the JSON object of -json, a text for people, and other files.
type Result interface {
	Print(out io.Writer) error
	// File returns the content of the file of a flag, at that path.
	File(flag, path string) ([]byte, error)
}

// NewCommand returns a command with the flags -live and -json.
func NewCommand(name, about string) *Command {
	c := &Command{FlagSet: Flags(name, about)}
	c.Live = Live(c.FlagSet)
	c.Output("json", "file for the results")
	return c
}

// Output adds a flag for a file that is written.
func (c *Command) Output(name, usage string) {
	c.String(name, "", usage)
	c.outputs = append(c.outputs, name)
}

// Path is the value of such a flag, "" where the command does not have it.
func (c *Command) Path(name string) string {
	if one := c.Lookup(name); one != nil {
		return one.Value.String()
	}
	return ""
}

// Read parses the flags, of which each names a file of its own.
func (c *Command) Read(args []string) error {
	if err := Parse(c.FlagSet, args); err != nil {
		return err
	}
	return Distinct(c.FlagSet, c.outputs, nil)
}

// Run does the work, writes the files and prints. Places that cannot be written to are found
// before the work, not after it.
func (c *Command) Run(ctx context.Context, work func(context.Context) (Result, error)) (err error) {
	ctx, end, err := c.Live.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { end(err) }()
	var paths []string
	for _, name := range c.outputs {
		paths = append(paths, c.Path(name))
	}
	files, err := CreateAll(paths...)
	if err != nil {
		return err
	}
	defer files.Cleanup()
	r, err := work(ctx)
	if err != nil {
		return err
	}
	for i, name := range c.outputs[1:] {
		path := paths[1+i]
		if err := files.Finish(path, func() ([]byte, error) { return r.File(name, path) }); err != nil {
			return err
		}
	}
	if err := files.JSON(paths[0], r); err != nil {
		return err
	}
	return r.Print(os.Stdout)
}
