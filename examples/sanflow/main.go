// Command sanflow trains models on your own graphs, nodes or links, and serves them:
//
//	sanflow train -task graphs -data MUTAG -budget 30s -out mutag.model -json train.json
//	sanflow evaluate -model mutag.model -data MUTAG
//	sanflow predict -model mutag.model -data MUTAG -out scores.csv
//	sanflow explain -model mutag.model -data MUTAG -graph 17 -html why.html
//	sanflow atlas -model mutag.model -data MUTAG -html atlas.html
//	sanflow serve -model mutag.model -listen localhost:8080
//	sanflow export -data MUTAG -k 10 -out mutag
//	sanflow inspect mutag.model
//
//	sanflow train -task nodes -edges payments.parquet -source from -target to -type type \
//		-nodes people.csv -id name -class role -out people.model
//	sanflow predict -model people.model -edges … -nodes … -out scores.parquet
//	sanflow explain -model people.model -edges … -nodes … -of alice -without nodes,types -html why.html
//
// train deals the rows whose class is known into two thirds to learn from, a sixth to
// choose by and a sixth to test on, or takes the parts of -part. It tries the systems of
// its list in order, as long as -budget lasts, and keeps the model that is best on the
// rows to choose by. -systems with those that were tried repeats the model byte for byte.
// If classes are unbalanced, -score auc, ap or balanced chooses by that in place of the
// accuracy, which the largest class alone makes high. Of two classes auc and ap are about the
// rarer one, or that of -positive. -balance keeps the shares of the classes
// in the model, and answers are then as if classes were equally frequent: more of each class is
// right on average, less of all rows. The AUC of two classes stays. Use it if an error in a
// rare class costs more; leave it if each row counts the same or rows are ranked.
//
// A train that was killed is resumed by the same command: FILE.train beside -out holds the
// progress.
//
// The exit code is 0 on success, 1 on failure, 2 for an invalid command line and 130 after
// an interrupt.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
)

func main() { cli.Main("sanflow", run) }

// command is a word behind sanflow.
type command struct {
	name, about string
	run         func(ctx context.Context, args []string) error
}

var commands []command

func init() { // not above: commands tell about themselves by it
	commands = []command{
		{"train", "chooses and trains a model, tests it, and writes it with its recipe into one file", train},
		{"evaluate", "tests a model on rows whose class is known", evaluate},
		{"predict", "writes the predictions of a model for all rows as CSV, JSON lines or Parquet", predict},
		{"explain", "says what speaks for the prediction for a graph, a node or a link, as JSON and as HTML", explain},
		{"atlas", "lists what a model looks for in graphs, with subgraphs of the data, as JSON and as HTML", atlas},
		{"serve", "answers requests over HTTP with the predictions of a model", serve},
		{"export", "writes the receptive fields of graphs, or the graphs, as Parquet, Arrow or text for other tools", export},
		{"inspect", "describes a model, a graph, an export or a checkpoint", inspect},
	}
}

func run(ctx context.Context, args []string) error {
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
		fmt.Print("\nsanflow COMMAND -h lists the flags of a command. The exit code is 0 on success, 1 on\nfailure, 2 for an invalid command line, 130 after an interrupt.\n")
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

// about is what -h says of a command.
func about(name string) string {
	at := slices.IndexFunc(commands, func(c command) bool { return c.name == name })
	return commands[at].about + "."
}

// isDir reports whether a path is a directory.
func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
