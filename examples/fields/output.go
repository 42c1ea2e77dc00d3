package main

import (
	"math"
	"strconv"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/fieldjob"
	"github.com/sanflow/sanflow/flow/record"
)

// output is where the fields go. Any number of goroutines call encode; emit is
// called with one chunk after another, in order.
type output interface {
	begin(k int, l record.Layout) error
	encode(*fieldjob.Chunk) error
	emit(*fieldjob.Chunk) error
	finish() error
}

// none is where fields go that nobody asked for.
type none struct{}

func (none) begin(int, record.Layout) error { return nil }
func (none) encode(*fieldjob.Chunk) error   { return nil }
func (none) emit(*fieldjob.Chunk) error     { return nil }
func (none) finish() error                  { return nil }

// jsonLines writes a line of JSON per field.
type jsonLines struct{ file *cli.Stream }

func (j *jsonLines) begin(int, record.Layout) error { return nil }

func (j *jsonLines) emit(c *fieldjob.Chunk) error {
	_, err := j.file.Write(c.Buf)
	return err
}

func (j *jsonLines) finish() error { return j.file.Finish() }

func (j *jsonLines) encode(c *fieldjob.Chunk) error {
	g, k, b := c.Job.Graph, c.K, c.Buf[:0]
	cats, attrs := g.NodeCats, g.NodeAttrs
	name := c.Job.Name
	if name == nil {
		name = func(v int32) int32 { return v }
	}
	for f, root := range c.Roots {
		b = append(b, `{"graph":`...)
		b = strconv.AppendInt(b, c.Job.ID, 10)
		b = append(b, `,"root":`...)
		b = strconv.AppendInt(b, int64(name(root)), 10)
		b = append(b, `,"members":`...)
		b = list(b, k, func(b []byte, i int) []byte {
			v := c.Members[f*k+i]
			if v >= 0 {
				v = name(v)
			}
			return strconv.AppendInt(b, int64(v), 10)
		})
		b = append(b, `,"dist":`...)
		b = list(b, k, func(b []byte, i int) []byte { return strconv.AppendInt(b, int64(c.Dist[f*k+i]), 10) })
		b = append(b, `,"edges":`...)
		b = list(b, k, func(b []byte, i int) []byte {
			return list(b, k, func(b []byte, j int) []byte {
				return strconv.AppendInt(b, int64(c.Edges[(f*k+i)*k+j]), 10)
			})
		})
		b = append(b, `,"nodes":`...)
		b = list(b, k, func(b []byte, i int) []byte {
			return list(b, cats+attrs, func(b []byte, a int) []byte {
				if a < cats {
					return strconv.AppendInt(b, int64(c.NodeCats[(f*k+i)*cats+a]), 10)
				}
				return number(b, c.NodeAttrs[(f*k+i)*attrs+a-cats])
			})
		})
		b = append(b, "}\n"...)
	}
	c.Buf = b
	return nil
}

func list(b []byte, n int, item func(b []byte, i int) []byte) []byte {
	b = append(b, '[')
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = item(b, i)
	}
	return append(b, ']')
}

// number writes the shortest text that reads back as x; sources refuse what
// JSON cannot say.
func number(b []byte, x float32) []byte {
	if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
		return append(b, "null"...)
	}
	return strconv.AppendFloat(b, float64(x), 'g', -1, 32)
}
