package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/sanflow/sanflow/examples/internal/picture"
)

var (
	ink  = color.Gray{Y: 60}
	pale = color.Gray{Y: 225}
)

// drawTable draws a line per labeling, the best on top: a dot at θ̂ and a bar of
// two standard errors to either side.
func drawTable(t *table, format string) ([]byte, error) {
	var rows []row
	for _, r := range t.Estimates {
		if r.Theta != nil {
			rows = append(rows, r)
		}
	}
	p := picture.New()
	p.Title.Text = fmt.Sprintf("%s: receptive fields of %d nodes, %d pairs%s", t.Dataset, t.K, t.Pairs, t.cropNote())
	p.Title.Padding = vg.Points(10)
	p.X.Label.Text = "mean Hamming distance of two fields, ± 2 standard errors (smaller is better)"
	p.X.Label.Padding = vg.Points(6)
	p.X.Padding, p.Y.Padding = vg.Points(6), vg.Points(6)
	p.Y.LineStyle.Width, p.Y.Tick.Length = 0, 0
	for _, s := range []*draw.TextStyle{(*draw.TextStyle)(&p.Title.TextStyle), &p.X.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label} {
		s.Color = ink
	}
	p.X.LineStyle.Color, p.X.Tick.LineStyle.Color = ink, ink

	// One faint line per labeling leads the eye from the name to the dot.
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = pale, pale
	p.Add(grid)
	names := make([]plot.Tick, len(rows))
	for i, r := range rows {
		y := float64(len(rows) - 1 - i)
		names[i] = plot.Tick{Value: y, Label: r.Labeling}
		c := color.Color(picture.Blue)
		if r.Labeling == t.Best {
			c = picture.Red
		}
		at := interval{*r.Theta, y, 2 * *r.SE}
		bar, err := plotter.NewXErrorBars(at)
		if err != nil {
			return nil, err
		}
		bar.LineStyle.Color, bar.LineStyle.Width, bar.CapWidth = c, vg.Points(1.5), vg.Points(7)
		dot, err := plotter.NewScatter(at)
		if err != nil {
			return nil, err
		}
		dot.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(3.5), Shape: draw.CircleGlyph{}}
		p.Add(bar, dot)
	}
	p.Y.Tick.Marker = plot.ConstantTicks(names)
	p.Y.Min, p.Y.Max = -0.5, float64(len(rows))-0.5
	if p.X.Min == p.X.Max { // nothing differs
		p.X.Min, p.X.Max = p.X.Min-1, p.X.Max+1
	}
	room := 0.03 * (p.X.Max - p.X.Min)
	p.X.Min, p.X.Max = p.X.Min-room, p.X.Max+room
	p.X.Tick.Marker = plot.TickerFunc(roundTicks)

	canvas, err := draw.NewFormattedCanvas(vg.Points(600), vg.Points(110+24*float64(len(rows))), format)
	if err != nil {
		return nil, err
	}
	all := draw.New(canvas)
	p.Draw(draw.Crop(all, vg.Points(14), vg.Points(-18), vg.Points(12), vg.Points(-12)))
	var b bytes.Buffer
	_, err = canvas.WriteTo(&b)
	return b.Bytes(), err
}

// roundTicks are at most seven multiples of 1, 2 or 5 times a power of ten.
func roundTicks(low, high float64) (ticks []plot.Tick) {
	decade := math.Pow(10, math.Floor(math.Log10(high-low))-1)
	step := decade
	for _, f := range []float64{1, 2, 5, 10, 20, 50} {
		if step = f * decade; (high-low)/step <= 7 {
			break
		}
	}
	for i := math.Ceil(low / step); i*step <= high; i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: strconv.FormatFloat(i*step, 'g', 6, 64)})
	}
	return ticks
}

// interval is one point with its error, as the plotters want it.
type interval struct{ x, y, err float64 }

func (v interval) Len() int                       { return 1 }
func (v interval) XY(int) (x, y float64)          { return v.x, v.y }
func (v interval) XError(int) (low, high float64) { return v.err, v.err }
