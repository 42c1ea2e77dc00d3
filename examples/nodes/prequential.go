package main

import (
	"context"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/nodes"
)

// prequential streams all nodes with a class past the networks, which predict
// each batch before they learn from it.
func prequential(ctx context.Context, c *config, d *dataset, r *report) error {
	// A node is known once the batch that it came in has been learned from.
	came := make([]int32, len(d.Class))
	for i := range came {
		came[i] = int32(len(d.test))
	}
	for i, v := range d.test {
		came[v] = int32(i)
	}
	p := c.fit.Fields(flow.From(d.NodeSet), d.test).Via(operators.Batch{Size: c.fit.Batch})
	if c.fit.Known == nodes.On {
		p = p.Via(operators.KnownClasses{Class: d.Class, Names: d.Classes, Known: func(first, v int32) bool { return came[v] < came[first] }})
	}
	m := newMeter(c, d)
	online := sinks.Rehearse{Steps: c.fit.Epochs, Seed: c.seed, Each: m.count}
	for i := range c.fit.Nets {
		online.Nets = append(online.Nets, c.newNet(newRand(c.seed, streamNets+uint64(i)<<8).Uint64(), c.fit.Rate, c.fit.Decays[0]))
	}
	start := time.Now()
	if _, err := cli.Run(ctx, p.To(online), "predict, then learn", int64(len(d.test)), cli.Last); err != nil {
		return err
	}
	r.roots, r.rootSeconds = len(d.test), time.Since(start).Seconds()
	r.Accuracy = m.finish()
	r.Window, r.WindowAccuracy, r.curve = m.size, m.windows, m.soFar
	return nil
}

// meter keeps the accuracy over the stream.
type meter struct {
	size        int       // of a window
	right, rows int       // so far
	was, from   int       // right and rows when the window began
	windows     []float64 // percent in each window
	soFar       []float64 // percent of all up to the end of each window
}

func newMeter(c *config, d *dataset) *meter {
	m := &meter{size: c.window}
	if m.size == 0 {
		m.size = len(d.test) / 50
	}
	// A window is some whole batches.
	m.size = max(1, (m.size+c.fit.Batch-1)/c.fit.Batch) * c.fit.Batch
	return m
}

// count adds the answers of a batch.
func (m *meter) count(said *sinks.Probabilities) error {
	m.right += said.Correct()
	if m.rows += len(said.Target); m.rows-m.from >= m.size {
		m.close()
	}
	return nil
}

func (m *meter) close() {
	m.windows = append(m.windows, 100*float64(m.right-m.was)/float64(m.rows-m.from))
	m.soFar = append(m.soFar, 100*float64(m.right)/float64(m.rows))
	m.was, m.from = m.right, m.rows
}

// finish ends the last window, and returns the accuracy of all.
func (m *meter) finish() float64 {
	if m.rows > m.from {
		m.close()
	}
	return 100 * float64(m.right) / float64(max(1, m.rows))
}
