// Package command is the command sanflow. A program that links more formats, and the schemes of more URLs,
// runs the same command:
//
//	import (
//		"github.com/sanflow/sanflow/examples/sanflow/command"
//		_ "…" // which calls sources.Register
//	)
//
//	func main() { command.Main() }
//
// The package of the program examples/connect does so for NATS, Kafka and object stores.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/sources"
)

// Main runs the command line and exits. At the end it removes local copies of files in buckets.
func Main() {
	cli.Main("sanflow", func(ctx context.Context, args []string) error {
		return errors.Join(Run(ctx, args), sources.RemoveCopies())
	})
}

// command is a subcommand of sanflow.
type command struct {
	name, about string
	run         func(ctx context.Context, args []string) error
}

var commands []command

// More is a text of -h after the commands, such as the URL schemes of a program.
var More string

func init() { // an initializer would refer to itself: the commands read the list
	commands = []command{
		{"train", "chooses and trains a model, tests it, and writes it with its recipe into one file", train},
		{"evaluate", "tests a model on rows whose class is known", evaluate},
		{"predict", "writes the predictions of a model for all rows as CSV, JSON lines or Parquet", predict},
		{"explain", "says what speaks for the prediction for a graph, a node or a link, as JSON and as HTML", explain},
		{"atlas", "lists what a model looks for in graphs, with subgraphs of the data, as JSON and as HTML", atlas},
		{"serve", "answers requests over HTTP with the predictions of a model", serve},
		{"forget", "erases a person from the store of serve -events", forget},
		{"export", "writes the receptive fields of graphs, or the graphs, as Parquet, Arrow or text for other tools", export},
		{"inspect", "describes a model, a graph, an export or a checkpoint", inspect},
	}
}

// Run runs a command line, such as "train", "-data", "MUTAG". The error of -h is flag.ErrHelp.
func Run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return cli.Usage(fmt.Errorf("want one of %s (-h tells about them)", names()))
	}
	for _, c := range commands {
		if c.name == args[0] {
			return c.run(ctx, args[1:])
		}
	}
	if args[0] == "-h" || args[0] == "-help" || args[0] == "--help" || args[0] == "help" {
		fmt.Print("sanflow: learns from graphs, nodes or links, and serves what it learned.\n\n")
		for _, c := range commands {
			fmt.Printf("  sanflow %-9s %s\n", c.name, c.about)
		}
		fmt.Print("\nsanflow COMMAND -h lists the flags of a command. The exit code is 0 on success, 1 on\nfailure, 2 for an invalid command line, 130 after an interrupt.\n" + More)
		return flag.ErrHelp
	}
	return cli.Usage(fmt.Errorf("unknown command %q, want one of %s", args[0], names()))
}

func names() string {
	var all []string
	for _, c := range commands {
		all = append(all, c.name)
	}
	return strings.Join(all, ", ")
}

// about is the first sentence of the help of a command.
func about(name string) string {
	at := slices.IndexFunc(commands, func(c command) bool { return c.name == name })
	return commands[at].about + "."
}

// isDir reports whether a path is a directory.
func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
