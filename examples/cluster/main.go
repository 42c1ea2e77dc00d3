// Command cluster makes the fields of a collection in many processes, and learns from them while
// they are made. The model is the same, byte for byte, as that of one process.
//
//	go run . -data NCI1.zip -workers 2    # two workers and a broker in this process
//	go run . -data NCI1.zip -workers 0    # one process, no broker: the same model_sha256
//
// A worker takes the number of a part from a queue (NATS JetStream), makes the part, publishes it as
// a file in -dir, and then acknowledges the number. The number of a worker that dies is delivered
// again after a few seconds. A number that fails -tries times becomes a dead letter, and ends the run.
// Fields never pass through the broker.
//
// With -nats each machine runs one role, and -dir is a directory that all share:
//
//	nats-server -js                                                                # the broker
//	cluster -nats nats://broker:4222 -role train -data NCI1.zip -dir /shared/run -json result.json
//	cluster -nats nats://broker:4222 -role work -data NCI1.zip -dir /shared/run    # on any number of machines
//
// Any role can be killed and started again. A new run needs another -dir and another -name.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
)

func main() { cli.Main("cluster", run) }

// config is the command line.
type config struct {
	data                    string
	k, w, parts             int
	workers, epochs, repeat int
	seed                    uint64
	nats, name, role        string
	dir, json               string
	ackWait                 time.Duration
	tries                   int
}

func (c *config) flags() *flag.FlagSet {
	f := cli.Flags("cluster", `makes fields in many processes and learns from them: the same model as one process.

  cluster -workers 2                                 two workers, and a broker in this process
  cluster -workers 0                                 one process
  cluster -nats nats://broker:4222 -role work …      one role of many machines that share -dir`)
	f.StringVar(&c.data, "data", "", "TU collection, by name, zip or directory; default: generated graphs")
	cli.K(f, &c.k, "")
	cli.Int(f, &c.w, "w", 20, 1, 1<<20, "receptive fields per graph")
	cli.Int(f, &c.parts, "parts", 64, 1, 100_000, "parts that the work is divided into")
	cli.Int(f, &c.workers, "workers", 2, 0, 256, "processes that make fields; 0 = this process does everything, without a broker")
	cli.Int(f, &c.epochs, "epochs", 2, 1, 1<<20, "how often the fields are learned from")
	cli.Int(f, &c.repeat, "repeat", 1, 1, 1<<20, "how often the data comes, as if it were so much larger: more work, for measuring")
	f.Uint64Var(&c.seed, "seed", 1, "seed of graphs, model and order")
	f.StringVar(&c.nats, "nats", "", "broker that is there, nats://…; needs -role and -dir")
	f.StringVar(&c.name, "name", "sanflow", "name of the queue")
	f.StringVar(&c.role, "role", "", "with -nats: work or train")
	f.DurationVar(&c.ackWait, "ackwait", 3*time.Second, "silence of a worker after which its part is given to another")
	cli.Int(f, &c.tries, "tries", 10, 1, 1000, "failures of a part after which it is a dead letter")
	f.StringVar(&c.dir, "dir", "", "directory of the parts and of the checkpoint; a run of the same settings there is resumed; default: a temporary one")
	f.StringVar(&c.json, "json", "", "file for the figures")
	return f
}

func (c *config) check() error {
	switch {
	case (c.nats == "") != (c.role == "") || c.role != "" && c.dir == "":
		return errors.New("-nats, -role and -dir belong together: one of them is missing")
	case c.role != "" && c.role != "work" && c.role != "train":
		return fmt.Errorf("-role is %q, want work or train", c.role)
	}
	return nil
}

func run(ctx context.Context, args []string) error {
	c := &config{}
	if err := cli.Parse(c.flags(), args); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	if c.dir == "" {
		dir, err := os.MkdirTemp("", "cluster")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		c.dir = dir
	}
	files, err := cli.CreateAll(c.json)
	if err != nil {
		return err
	}
	defer files.Cleanup()
	var r *report
	switch {
	case c.role == "work":
		return cli.Cause(ctx, c.work(withParent(ctx)))
	case c.role == "train":
		r, err = c.train(ctx)
	case c.workers == 0:
		r, err = c.alone(ctx)
	default:
		r, err = c.cluster(ctx)
	}
	if err != nil {
		return cli.Cause(ctx, err)
	}
	if err := files.JSON(c.json, r); err != nil {
		return err
	}
	r.print(os.Stdout)
	return r.err()
}
