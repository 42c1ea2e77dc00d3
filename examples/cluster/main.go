// Command cluster learns from fields that workers make, all of them processes of their own
// around a broker, NATS JetStream. The model is the same, byte for byte, as that of one process.
//
//	go run ./examples/cluster -workers 2                    # with a broker of its own
//	go run ./examples/cluster -workers 0                    # one process, no broker: the same model_sha256
//	go run ./examples/cluster -workers 4 -brokers 3         # a broker of three servers
//
// With -url the broker is elsewhere, a NATS server with JetStream, and each machine runs one role:
//
//	nats-server -js -a ADDRESS                                    # the broker
//	cluster -url nats://broker:4222 -role feed -data NCI1.zip
//	cluster -url nats://broker:4222 -role work -data NCI1.zip     # on any number of machines
//	cluster -url nats://broker:4222 -role train -data NCI1.zip -dir run -json result.json
//
// The model learns the classes of a collection. A large graph (-graph) has none: there it learns
// the logarithm of the core number of each node, and messages carry roots; workers map the graph,
// which they fetch once if they do not have it.
//
// The broker keeps all fields, for any number of epochs. With -bound it deletes learned rows and
// holds at most that many: a slow trainer then slows the workers, and there is one epoch.
//
// Lost and twice are counted in rows learned from, each in each epoch: graphs of a collection, nodes
// of a large graph. As many are wanted as the feed has sent. Otherwise the command writes its
// figures all the same, and fails. The streams keep the settings that decide the model; a role with
// other settings is refused.
//
// feed, work and train resume when they are started again, and so does a whole cluster with the
// same -dir; other settings of the job are refused there, and so is a second run while one is under
// way. A feed sends no data that the broker received completely before. To start over under the
// same -name, end all roles, and delete the streams and the checkpoint of the trainer, or take
// another -name and -dir. Without -url, remove -dir.
//
//	cluster -url nats://broker:4222 -reset -dir run
//
// The test of this command runs it with processes that are killed, servers of the broker among
// them, and beside one process. It takes the flags of the command, and -kill and -compare:
//
//	go test -v ./examples/cluster -args -workers 4 -brokers 3 -kill 500ms # a process dies twice a second
//	go test -v ./examples/cluster -args -workers 1 -compare -repeat 20    # processor time of a field by role
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/input"
	out "github.com/sanflow/sanflow/sinks/jetstream"
)

func main() { cli.Main("cluster", run) }

// config is the command line.
type config struct {
	data                     string
	graph                    input.Graph
	k, w                     int
	workers, brokers, epochs int
	repeat, bound            int
	seed                     uint64
	url, role, dir, json     string
	name                     string
	reset                    bool
	live                     *cli.Page
	given                    map[string]bool // flags that were set
	freePorts                func(n int) ([]int, error)
}

// flags returns the flags of a command line, which set c.
func (c *config) flags() *flag.FlagSet {
	c.freePorts = freePorts
	f := cli.Flags("cluster", `learns from fields that workers make around a broker: the same model as one process.

  cluster -workers 2                          processes on this machine, and a broker
  cluster -workers 0                          one process: the same model
  cluster -url nats://broker:4222 -role work  one role, beside others on other machines
  cluster -url nats://broker:4222 -reset      deletes the streams, and with -dir the checkpoint, to start over

Lost and twice are rows learned from, each in each epoch: graphs, or nodes of a large graph. If there are any it fails.`)
	f.StringVar(&c.data, "data", "", "TU collection, by name, zip or directory; default: generated graphs")
	f.StringVar(&c.graph.Path, "graph", "", "instead of -data one large graph: a file, or a graph to generate: "+strings.Join(input.Families, ", "))
	cli.Nodes(f, &c.graph.N)
	cli.K(f, &c.k, "")
	cli.Int(f, &c.w, "w", 20, 1, 1<<20, "receptive fields per graph of a collection")
	cli.Int(f, &c.workers, "workers", 2, 0, 256, "processes that make fields; 0 = one process for everything, without a broker, whatever -brokers and -bound say")
	cli.Int(f, &c.brokers, "brokers", 1, 1, 3, "servers of the broker, 1 or 3; with -url how many keep each stream")
	f.StringVar(&c.url, "url", "", "broker that is there, nats://… (nats-server -js starts one); needs -role or -reset")
	f.StringVar(&c.role, "role", "", "with -url: feed, work or train")
	f.BoolVar(&c.reset, "reset", false, "with -url, in place of -role: delete the streams of -name, and the checkpoint in -dir, if set; no role may run meanwhile")
	f.StringVar(&c.name, "name", "sanflow", "beginning of the names of streams")
	cli.Int(f, &c.epochs, "epochs", 2, 1, 1<<20, "how often the fields are learned from")
	cli.Int(f, &c.repeat, "repeat", 1, 1, 1<<20, "how often the data comes, as if it were so much larger: more work, for measuring")
	cli.Int(f, &c.bound, "bound", 0, 0, 1<<30, "MiB that the broker holds of fields: it forgets what was learned, and -epochs is 1; 0 = it keeps all")
	f.Uint64Var(&c.seed, "seed", 1, "seed of graphs, model and order")
	f.StringVar(&c.dir, "dir", "", "directory for checkpoints, graphs and the broker's files; a run of the same settings there is resumed; default: a temporary one")
	c.live = cli.Live(f)
	f.StringVar(&c.json, "json", "", "file for the figures")
	return f
}

// parse reads a command line.
func (c *config) parse(f *flag.FlagSet, args []string) error {
	if err := cli.Parse(f, args); err != nil {
		return err
	}
	c.graph.Seed, c.given = c.seed, map[string]bool{}
	for _, name := range cli.Given(f) {
		c.given[name] = true
	}
	return c.check()
}

func (c *config) check() error {
	switch {
	case c.data != "" && c.graph.Path != "":
		return errors.New("-data and -graph are both set, want one of them")
	case c.graph.Path == "-":
		return errors.New("-graph is -, but each process reads it: name a file")
	case c.brokers != 1 && c.brokers != 3:
		return fmt.Errorf("-brokers is %d, want 1 or 3", c.brokers)
	case c.role != "" && c.role != "feed" && c.role != "work" && c.role != "train":
		return fmt.Errorf("-role is %q, want feed, work or train", c.role)
	case c.reset && (c.url == "" || c.role != ""):
		return errors.New("-reset wants -url and no -role; without -url, remove -dir to start over")
	case !c.reset && (c.role == "") != (c.url == ""):
		return errors.New("-url and -role belong together: one of them is missing")
	case c.name == "" || strings.ContainsAny(c.name, " \t\r\n.*>/\\"):
		return fmt.Errorf("-name is %q, want a name without spaces, dots, stars and slashes", c.name)
	case c.bound > 0 && c.epochs != 1:
		return fmt.Errorf("-bound is set, and -epochs is %d: the broker deletes learned rows, want 1", c.epochs)
	}
	if err := errors.Join(checkURL(c.url), c.idle()); err != nil {
		return err
	}
	if c.graph.Path != "" {
		if err := c.graph.Check(); err != nil {
			return fmt.Errorf("-graph is %q, want a file whose name ends as .edges, .txt, .g6, .dot or .arrow do, or one of %s", c.graph.Path, strings.Join(input.Families, ", "))
		}
	}
	return nil
}

// idle refuses flags that would change nothing. Roles compare theirs with those of others, and
// processes of this command's get all of them.
func (c *config) idle() error {
	switch {
	case c.role != "" || isChild():
	case c.given["w"] && c.large():
		return errors.New("-w is set, and is of a collection: all nodes of a large graph are roots")
	case c.given["n"] && !slices.Contains(input.Families, c.graph.Path):
		return fmt.Errorf("-n is set, and is of a graph to generate: -graph is to be one of %s", strings.Join(input.Families, ", "))
	}
	return nil
}

// look reads the schema of the data before the command waits for a broker.
func (c *config) look(ctx context.Context) error {
	if isChild() || c.role != "" && c.role != "feed" || c.role == "" && c.workers == 0 {
		return nil
	}
	src, _, err := c.source(ctx) // which a large graph is prepared for
	if err == nil {
		_, err = c.recipe(ctx, src)
	}
	return err
}

func run(ctx context.Context, args []string) error {
	c := &config{}
	if err := c.parse(c.flags(), args); err != nil {
		return err
	}
	if c.reset {
		return cli.Cause(ctx, c.deleteAll(ctx))
	}
	return c.run(ctx, c.work)
}

// run does the work of a command line, and reports it.
func (c *config) run(ctx context.Context, work func(context.Context) (*report, error)) (err error) {
	if isChild() {
		var stop context.CancelFunc
		ctx, stop = withParent(ctx)
		defer stop()
	}
	ctx, end, err := c.live.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { end(err) }()
	files, err := cli.CreateAll(c.json)
	if err != nil {
		return err
	}
	defer files.Cleanup()
	if c.dir == "" {
		if c.dir, err = os.MkdirTemp("", "cluster"); err != nil {
			return err
		}
		defer os.RemoveAll(c.dir)
	} else if err := os.MkdirAll(c.dir, 0o777); err != nil {
		return err
	}
	if !isChild() && (c.role == "" || c.role == "train") {
		job, err := c.openJob()
		if err != nil {
			return err
		}
		defer job.Close()
	}
	if err := c.look(ctx); err != nil {
		return cli.Cause(ctx, err)
	}
	r, err := work(ctx)
	if errors.Is(err, out.ErrFull) {
		err = fmt.Errorf("%w (-dir on a larger disk, less data, or -bound)", err)
	}
	if errors.Is(err, out.ErrOtherRun) && c.role != "" {
		err = fmt.Errorf("%w (%s)", err, c.startOver())
	}
	if err != nil || r == nil {
		return cli.Cause(ctx, err)
	}
	if err := files.JSON(c.json, r); err != nil {
		return err
	}
	if !isChild() {
		r.print(os.Stdout)
	} else if c.role == "train" {
		return nil // the parent says what is wrong with it
	}
	return r.err()
}

// work does what the command line asks for.
func (c *config) work(ctx context.Context) (*report, error) {
	switch {
	case c.role == "feed":
		return nil, c.feed(ctx)
	case c.role == "work":
		return nil, c.make(ctx)
	case c.role == "train":
		return c.train(ctx)
	case c.workers == 0:
		return c.alone(ctx)
	}
	return c.cluster(ctx)
}
