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
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/posener/complete"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/sources"
)

// Main runs the command line and exits. At the end it removes local copies of files in buckets.
func Main() {
	cli.Main("sanflow", func(ctx context.Context, args []string) error {
		if answered(ctx) {
			return nil
		}
		return errors.Join(Run(ctx, args), sources.RemoveCopies())
	})
}

// command is a subcommand of sanflow. examples is the command lines that its -h shows.
type command struct {
	name, about string
	run         func(ctx context.Context, args []string) error
	examples    string
}

var commands []command

// More is a text of -h after the commands, such as the URL schemes of a program.
var More string

func init() { // an initializer would refer to itself: the commands read the list
	commands = []command{
		{"train", "chooses and trains a model, tests it, and writes it with its recipe into one file", train, `sanflow train -task rows -rows payments.csv -key account,shop -time time -class class -score auc
sanflow train -task nodes -edges sent.csv -source from -target to -nodes people.csv -class role
sanflow train -data molecules.csv -smiles smiles -class active -out molecules.model`},
		{"evaluate", "tests a model on rows whose class is known", evaluate, `sanflow evaluate -model molecules.model -data molecules.csv
sanflow evaluate -model people.model -edges sent.csv -nodes people.csv
sanflow evaluate -model payments.model -rows payments.csv -score ap -json figures.json`},
		{"predict", "writes the predictions of a model for all rows as CSV, JSON lines or Parquet", predict, `sanflow predict -model molecules.model -data molecules.csv -out scores.csv
sanflow predict -model people.model -edges sent.csv -nodes people.csv -out scores.parquet
sanflow predict -model payments.model -rows payments.csv -labels all -out scores.jsonl`},
		{"explain", "says what speaks for the prediction for a graph, a node or a link, as JSON and as HTML", explain, `sanflow explain -model molecules.model -data molecules.csv -of 17 -html why.html
sanflow explain -model people.model -edges sent.csv -nodes people.csv -of alice -html why.html
sanflow explain -model payments.model -rows payments.csv -labels all -of P2986`},
		{"atlas", "lists what a model looks for in graphs, with subgraphs of the data, as JSON and as HTML", atlas, `sanflow atlas -model molecules.model -data molecules.csv -html atlas.html
sanflow atlas -model molecules.model -data molecules.csv -motifs 10 -json atlas.json`},
		{"serve", "answers requests over HTTP with the predictions of a model", serve, `sanflow serve -model molecules.model -listen localhost:8080
sanflow serve -model people.model -edges sent.csv -nodes people.csv
sanflow serve -model payments.model -rows payments.csv -labels all -events post -store live`},
		{"forget", "erases a person from the store of serve -events", forget, `sanflow forget -store live -id account:A185`},
		{"export", "writes the receptive fields of graphs, or the graphs, as Parquet, Arrow or text for other tools", export, `sanflow export -graph power.edges.gz -k 5 -out power.jsonl
sanflow export -data MUTAG -k 10 -w 18 -select betweenness -as arrow -out mutag
sanflow export -graph web.edges.gz -graphs -as arrow -out web
sanflow export -graph web -k 10 -out fields -parts 64 -shard 3/8`},
		{"inspect", "describes a model, a graph, an export or a checkpoint", inspect, `sanflow inspect molecules.model
sanflow inspect fields mutag
sanflow inspect molecules.model.train`},
		{"init", "looks at tables and prints the command that trains on them", initial, `sanflow init payments.csv
sanflow init sent.csv people.csv
sanflow init molecules.csv`},
		{"completion", "prints the lines that make a shell complete commands and flags", completion, `source <(sanflow completion bash)
source <(sanflow completion zsh)
sanflow completion fish | source`},
		{"version", "prints the versions of the module and of Go, the revision, and the kernels in use", version, ""},
	}
}

// groups are the groups of flags of -h. The last has also the flags of serve, which no group names.
var groups = []cli.Group{
	{Title: "data", Flags: "task data edges nodes graphs rows smiles format directed spaces separator missing types skip part before future n scope graph"},
	{Title: "columns", Flags: "source target type weight time repeated id class value ignore key windows label-delay labels"},
	{Title: "learning", Flags: "budget systems score positive balance portable live-only seed workers learn learn-rate curve k w stride select normalize bound"},
	{Title: "output", Flags: "out model json html csv live of of-target"},
}

// Run runs a command line, such as "train", "-data", "MUTAG". The error of -h is flag.ErrHelp.
func Run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return cli.Usage(fmt.Errorf("want one of %s (-h tells about them)", strings.Join(names(), ", ")))
	}
	if args[0] == "help" && len(args) > 1 {
		args = []string{args[1], "-h"}
	}
	for _, c := range commands {
		if c.name != args[0] {
			continue
		}
		err := c.run(ctx, args[1:])
		if help := new(cli.Help); errors.As(err, &help) {
			help.Print(os.Stdout, c.examples, groups...)
			return flag.ErrHelp
		}
		return err
	}
	if slices.Contains([]string{"-h", "-help", "--help", "help"}, args[0]) {
		fmt.Print("sanflow: learns from graphs, nodes or links, and serves what it learned.\n\n")
		for _, c := range commands {
			fmt.Printf("  sanflow %-10s %s\n", c.name, c.about)
		}
		fmt.Print("\n" + cli.Wrap("sanflow help COMMAND lists the flags of a command. The exit code is 0 on success, 1 on failure, 2 for an invalid command line, 130 after an interrupt.", "") + More)
		return flag.ErrHelp
	}
	if args[0] == "-version" || args[0] == "--version" {
		return version(ctx, nil)
	}
	return cli.Usage(fmt.Errorf("unknown command %q, want one of %s%s", args[0], strings.Join(names(), ", "), cli.Meant(args[0], "", names())))
}

// names are the names of the commands.
func names() (all []string) {
	for _, c := range commands {
		all = append(all, c.name)
	}
	return all
}

// about is the first sentence of the help of a command.
func about(name string) string {
	return commands[slices.Index(names(), name)].about + "."
}

// version prints what the binary was built from, and what decides the bytes of a model.
func version(_ context.Context, args []string) error {
	if err := cli.Parse(cli.Flags("sanflow version", about("version")), args); err != nil {
		return err
	}
	module, revision := "unknown", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) { // another program links the module
			if m.Path == "github.com/sanflow/sanflow" {
				module = m.Version
			}
		}
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				revision = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				revision += ", with changes"
			}
		}
	}
	fmt.Printf("sanflow %s\nrevision: %s\nbuilt by: %s for %s/%s\nkernels: %s\n", module, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH, nn.Kernels())
	return nil
}

// shells are the lines by which a shell asks the command what may follow: the variable COMP_LINE has the
// line so far. The shells parse the command of complete -C again, so its path is quoted twice. bashcompinit of zsh wants compinit.
var shells = map[string]string{
	"bash": "complete -o default -C '%[1]q' sanflow\n",
	"zsh":  "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\nautoload -U +X bashcompinit && bashcompinit\ncomplete -o default -C '%[1]q' sanflow\n",
	"fish": "function __sanflow_complete\n\tset -lx COMP_LINE (commandline -cp)\n\tset -lx COMP_POINT (string length $COMP_LINE)\n\t%[1]q\nend\ncomplete -c sanflow -a '(__sanflow_complete)'\n",
}

// completion prints the lines of a shell.
func completion(_ context.Context, args []string) error {
	f := cli.Flags("sanflow completion", about("completion")+"\n\n  sanflow completion bash|zsh|fish")
	if err := cli.ParseArgs(f, args); err != nil {
		return err
	}
	if f.NArg() != 1 || shells[f.Arg(0)] == "" {
		return cli.Usage(fmt.Errorf("%q, want one shell: bash, zsh or fish%s", f.Args(), cli.Meant(f.Arg(0), "", slices.Sorted(maps.Keys(shells)))))
	}
	path, err := os.Executable()
	if err != nil {
		return err
	}
	fmt.Printf(shells[f.Arg(0)], path)
	return nil
}

// answered answers a shell that asks what may follow, in COMP_LINE, and reports whether one did.
func answered(ctx context.Context) bool {
	if os.Getenv("COMP_LINE") == "" {
		return false
	}
	all := complete.Command{Sub: complete.Commands{"help": {Args: complete.PredictSet(names()...)}}}
	for _, c := range commands {
		one := complete.Command{Flags: complete.Flags{}, Args: complete.PredictFiles("*")}
		if c.name == "completion" {
			one.Args = complete.PredictSet(slices.Sorted(maps.Keys(shells))...)
		}
		cli.FlagsOf(func(args []string) error { return c.run(ctx, args) }).VisitAll(func(f *flag.Flag) {
			one.Flags["-"+f.Name] = complete.PredictFiles("*")
			if b, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
				one.Flags["-"+f.Name] = complete.PredictNothing
			} else if f.Name == "task" {
				one.Flags["-task"] = complete.PredictSet(tasks...)
			}
		})
		all.Sub[c.name] = one
	}
	return complete.New("sanflow", all).Complete()
}
