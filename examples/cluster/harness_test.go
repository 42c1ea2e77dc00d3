package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/operators"
)

// asCommand is set for a process of this binary that is the command.
const asCommand = "SANFLOW_CLUSTER_COMMAND"

// Roles of the harness alone.
const (
	roleBroker = "broker"
	roleAlone  = "alone"  // does everything
	roleFields = "fields" // makes fields and drops them
)

// fieldsEnv is set for a process that makes fields and drops them.
const fieldsEnv = "SANFLOW_CLUSTER_FIELDS"

// The processes of a cluster are this binary. With flags that are not of package testing the binary
// is a command, the harness.
func TestMain(m *testing.M) {
	var args []string
	for _, a := range os.Args[1:] {
		if !strings.HasPrefix(a, "-test.") {
			args = append(args, a)
		}
	}
	switch {
	case os.Getenv(brokerEnv) != "":
		cli.Main("cluster", broker)
	case os.Getenv(fieldsEnv) != "":
		cli.Main("cluster", fieldsOnly)
	case isChild() || os.Getenv(asCommand) != "":
		cli.Main("cluster", run)
	case len(args) > 0 && strings.HasPrefix(args[0], "-"):
		cli.Main("cluster", func(ctx context.Context, _ []string) error { return kill(ctx, args) })
	default:
		clitest.Main(m)
	}
}

// harness runs the processes of a cluster, which are killed at moments and of roles that the seed
// decides.
type harness struct {
	*config
	every   time.Duration
	compare bool
	figures figures
}

// figures are those of the harness, beside the report of the command.
type figures struct {
	report
	Kills    int                `json:"kills"`
	PerField map[string]float64 `json:"cpu_us_per_field,omitempty"` // processor time by role
	// Of -compare: the fields a CPU second of a worker over those of a process that makes and drops
	// them, and of one that does everything; and those of all roles over the latter.
	WorkerOverFields float64 `json:"worker_over_fields,omitempty"`
	WorkerOverAlone  float64 `json:"worker_over_alone,omitempty"`
	AllOverAlone     float64 `json:"all_over_alone,omitempty"`
}

// kill is the command with -kill and -compare.
func kill(ctx context.Context, args []string) error {
	h := &harness{config: &config{}}
	f := h.flags()
	f.DurationVar(&h.every, "kill", 0, "mean time between two kills, up to 100 times that while nothing more is learned; 0 = no kills")
	f.BoolVar(&h.compare, "compare", false, "before the run, run one process that does everything, and one that makes the fields and drops them: processor time beside theirs")
	if err := h.parse(f, args); err != nil {
		return err
	}
	switch {
	case h.every < 0:
		return fmt.Errorf("-kill is %v, want 0 or more", h.every)
	case h.role != "" || h.workers == 0:
		return errors.New("there are no processes of this command's to kill or to compare")
	}
	path := h.json
	if path != "" {
		h.json = path + ".report"
		defer os.Remove(h.json)
	}
	err := h.run(ctx, h.cluster)
	if h.figures.ModelSHA256 == "" {
		return err
	}
	g := h.figures
	fmt.Printf("%d kills\n", g.Kills)
	if g.WorkerOverFields > 0 {
		fmt.Printf("fields per CPU second: a worker has %.2f × those of one process that makes and drops them, %.2f × those of one that does everything; all roles together %.2f ×\n",
			g.WorkerOverFields, g.WorkerOverAlone, g.AllOverAlone)
	}
	out, e := cli.CreateAll(path)
	if e == nil {
		defer out.Cleanup()
		e = out.JSON(path, g)
	}
	return errors.Join(err, e)
}

// tasks are the processes that run, and what else does.
type tasks struct {
	sync.WaitGroup
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// start keeps a process. What ends it ends everything, unless that is its own end.
func (t *tasks) start(m *mortal, ended func()) {
	t.Go(func() {
		if err := m.keep(t.ctx); err != nil {
			t.cancel(err)
			return
		}
		ended()
	})
}

// cluster is that of the command, with processes that are started again when they were killed, and
// servers of the broker that are processes too.
func (h *harness) cluster(ctx context.Context) (*report, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t := &tasks{ctx: ctx, cancel: cancel}
	defer t.Wait()
	defer cancel(nil)
	b, err := h.startServers(t)
	if err != nil {
		return nil, err
	}
	defer b.nc.Close()
	beside, err := h.beside(ctx)
	if err != nil {
		return nil, err
	}
	_, fresh := os.Stat(h.checkpoint())
	begin, trained := time.Now(), make(chan struct{})
	var all []*mortal
	for _, p := range h.roles() {
		all = append(all, &mortal{process: p})
	}
	train := all[0]
	for _, m := range all {
		t.start(m, func() {
			if m == train {
				close(trained)
			}
		})
	}
	if h.every > 0 {
		k := &killer{harness: h, js: b.js, brokers: b.all, all: all}
		t.Go(func() { k.run(ctx, trained) })
	}
	show(ctx, train.process, trained)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	took := time.Since(begin)
	cancel(nil)
	t.Wait()
	if fresh != nil {
		train.earlier = nil // of a trainer that was killed
	}
	r, err := h.result(took, train.process)
	if err != nil {
		return nil, err
	}
	for _, m := range append(all, b.all...) {
		r.add(m.process)
		h.figures.Kills += m.kills
	}
	h.compared(r, beside)
	return r, nil
}

// beside runs, for -compare, the same job in one process, and its fields alone.
func (h *harness) beside(ctx context.Context) (all []*process, err error) {
	if !h.compare {
		return nil, nil
	}
	all = []*process{
		{role: roleAlone, name: "one process", args: h.job("-workers", "0", "-dir", filepath.Join(h.dir, roleAlone))},
		{role: roleFields, name: "fields alone", args: h.job("-dir", h.dir), env: []string{fieldsEnv + "=1"}},
	}
	for _, p := range all {
		if err := p.run(ctx); err != nil {
			return nil, err
		}
	}
	return all, context.Cause(ctx)
}

// compared sets what -compare asks for.
func (h *harness) compared(r *report, beside []*process) {
	sum := 0.0
	for _, s := range r.CPU {
		sum += s
	}
	r.add(beside...)
	h.figures.report, h.figures.PerField = *r, map[string]float64{}
	for role, s := range r.CPU {
		h.figures.PerField[role] = s / float64(r.Fields) * 1e6
	}
	if len(beside) > 0 {
		h.figures.WorkerOverFields = r.CPU[roleFields] / r.CPU["work"]
		h.figures.WorkerOverAlone = r.CPU[roleAlone] / r.CPU["work"]
		h.figures.AllOverAlone = r.CPU[roleAlone] / sum
	}
}

// fieldsOnly is the work of all workers, in one process, which drops the fields.
func fieldsOnly(ctx context.Context, args []string) error {
	c := &config{}
	if err := c.parse(c.flags(), args); err != nil {
		return err
	}
	ctx, stop := withParent(ctx)
	defer stop()
	src, _, err := c.source(ctx)
	if err != nil {
		return err
	}
	recipe, err := c.recipe(ctx, src)
	if err != nil {
		return err
	}
	p := flow.From(src)
	if !c.large() {
		p = p.Via(operators.Batch{Size: perMessage})
	}
	_, err = watch(ctx, recipe.Onto(p), roleFields, nil)
	return err
}
