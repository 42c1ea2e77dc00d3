// Package picture has the formats, the font and the colors of the pictures of the examples. The colors can
// be distinguished by everyone (Okabe and Ito 2008).
package picture

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Format is the format of a file by its ending, "" of the empty path.
func Format(path string) (string, error) {
	switch ext := strings.ToLower(filepath.Ext(path)); {
	case path == "":
		return "", nil
	case ext == ".svg", ext == ".png":
		return ext[1:], nil
	}
	return "", fmt.Errorf("-out is %q, want a name that ends in .svg or .png", path)
}

// The colors.
var (
	Blue   = color.RGBA{0, 114, 178, 255}
	Sky    = color.RGBA{86, 180, 233, 255}
	Green  = color.RGBA{0, 158, 115, 255}
	Purple = color.RGBA{204, 121, 167, 255}
	Orange = color.RGBA{230, 159, 0, 255}
	Red    = color.RGBA{213, 94, 0, 255}
	Gray   = color.RGBA{120, 120, 120, 255}
)

// Dashes are the pattern of a dashed line.
var Dashes = []vg.Length{vg.Points(4), vg.Points(3)}

// Chart is a plot with a grid and a legend at its foot. Err is the first error of its parts.
type Chart struct {
	*plot.Plot
	Keys []Key
	Err  error
}

// New returns an empty chart.
func New(title, x, y string) *Chart {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	c := &Chart{Plot: plot.New()}
	c.Title.Text, c.X.Label.Text, c.Y.Label.Text = title, x, y
	c.X.Tick.Marker, c.Y.Tick.Marker = Round{}, Round{}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{205}, color.Gray{205}
	c.Add(grid)
	return c
}

// Line adds a line and its key.
func (c *Chart) Line(name string, at plotter.XYs, hue color.Color, width float64, dashes ...vg.Length) {
	l, err := plotter.NewLine(at)
	if err != nil {
		c.Err = cmp.Or(c.Err, err)
		return
	}
	l.Color, l.Width, l.Dashes = hue, vg.Points(width), dashes
	c.Add(l)
	c.Keys = append(c.Keys, Key{l, name})
}

// Level adds a horizontal dashed line and its key.
func (c *Chart) Level(name string, left, right, y float64, hue color.Color) {
	c.Line(name, plotter.XYs{{X: left, Y: y}, {X: right, Y: y}}, hue, 1, Dashes...)
}

// Points adds points, their key and vertical bars of the lengths to either side. Without lengths there are no bars.
func (c *Chart) Points(name string, at plotter.XYs, length []float64, hue color.Color, shape draw.GlyphDrawer) {
	s, err := plotter.NewScatter(at)
	if err != nil {
		c.Err = cmp.Or(c.Err, err)
		return
	}
	s.GlyphStyle = draw.GlyphStyle{Color: hue, Radius: vg.Points(3.5), Shape: shape}
	c.Add(s)
	c.Keys = append(c.Keys, Key{s, name})
	if length == nil {
		return
	}
	b, err := plotter.NewYErrorBars(bars{at, length})
	if err != nil {
		c.Err = cmp.Or(c.Err, err)
		return
	}
	b.Color = hue
	c.Add(b)
}

// Values writes the height of each point beside the point. Each value covers the lines below it.
type Values plotter.XYs

// Plot implements plot.Plotter.
func (v Values) Plot(on draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&on)
	style := p.X.Tick.Label
	style.Rotation, style.XAlign, style.YAlign, style.Font.Size = 0, draw.XLeft, draw.YCenter, vg.Points(9)
	for _, point := range v {
		value := strconv.FormatFloat(point.Y, 'f', 1, 64)
		box := style.Rectangle(value).Add(vg.Point{X: x(point.X) + vg.Points(6), Y: y(point.Y)})
		on.SetColor(color.White)
		on.Fill(box.Path())
		on.FillText(style, vg.Point{X: box.Min.X, Y: y(point.Y)}, value)
	}
}

// Names sets the labels of the horizontal axis at 0, 1, 2, ….
func (c *Chart) Names(names []string) {
	c.NominalX(names...)
	c.X.Tick.Label.Rotation = 0.6
	c.X.Tick.Label.XAlign, c.X.Tick.Label.YAlign = draw.XRight, draw.YTop
	c.X.Min, c.X.Max = -.6, float64(len(names))-.4
}

// Draw draws the chart. The title and the name of the vertical axis are lines above it, so that the name
// is horizontal and may be longer than the axis.
func (c *Chart) Draw(on draw.Canvas) {
	title, name := c.Title, c.Y.Label
	defer func() { c.Title, c.Y.Label = title, name }()
	c.Title.Text, c.Y.Label.Text = "", ""
	for _, line := range []struct {
		style text.Style
		text  string
	}{{title.TextStyle, title.Text}, {name.TextStyle, name.Text}} {
		if line.text != "" {
			line.style.Rotation, line.style.XAlign, line.style.YAlign = 0, draw.XLeft, draw.YTop
			on.FillText(line.style, vg.Point{X: on.Min.X, Y: on.Max.Y}, line.text)
			on = draw.Crop(on, 0, 0, 0, -line.style.Height(line.text)-vg.Points(4))
		}
	}
	c.Plot.Draw(draw.Crop(on, 0, 0, 0, -vg.Points(4)))
}

// Logarithmic makes the scales of both axes logarithmic.
func (c *Chart) Logarithmic() {
	for _, a := range []*plot.Axis{&c.X, &c.Y} {
		a.Scale, a.Tick.Marker = plot.LogScale{}, Decades{}
		a.Label.Text += ", logarithmic"
	}
}

// Fit makes a linear axis begin at 0 where the data then take more than half of it. Else it leaves a
// margin and notes in the label that the axis does not begin at 0. File calls it.
func (c *Chart) Fit() {
	for _, a := range [2]*plot.Axis{&c.X, &c.Y} {
		_, linear := a.Scale.(plot.LinearScale)
		_, round := a.Tick.Marker.(Round)
		if !linear || !round || !(a.Min < a.Max) {
			continue
		}
		margin := (a.Max - a.Min) / 25
		switch {
		case a.Min >= 0 && a.Min < a.Max-a.Min:
			a.Min = 0
		case a.Min > 0:
			a.Label.Text += ", not from 0"
			fallthrough
		default:
			a.Min -= margin
		}
		if a == &c.Y {
			a.Max += margin
		}
	}
}

// File returns the chart as a file. width and height are without the legend.
func (c *Chart) File(width, height vg.Length, path string) ([]byte, error) {
	sheet, err := NewSheet(width, height, path, c.Keys...)
	if err = cmp.Or(c.Err, err); err != nil {
		return nil, err
	}
	c.Fit()
	c.Draw(draw.Crop(sheet.Canvas, vg.Points(10), vg.Points(-14), vg.Points(10), vg.Points(-10)))
	return sheet.Bytes(c.Title.Text + ": " + c.Y.Label.Text + " by " + c.X.Label.Text)
}

// bars are points with a length to either side.
type bars struct {
	plotter.XYs
	length []float64
}

func (b bars) YError(i int) (low, high float64) { return b.length[i], b.length[i] }

// Round are ticks at multiples of 1, 2 or 5 times a power of ten, at most seven.
type Round struct{}

// Ticks implements plot.Ticker.
func (Round) Ticks(low, high float64) (all []plot.Tick) {
	decade := math.Pow(10, math.Floor(math.Log10(high-low))-1)
	step := decade
	for _, f := range []float64{1, 2, 5, 10, 20, 50} {
		if step = f * decade; (high-low)/step <= 7 {
			break
		}
	}
	for i := math.Ceil(low / step); i*step <= high; i++ {
		all = append(all, plot.Tick{Value: i * step, Label: strconv.FormatFloat(i*step, 'g', 6, 64)})
	}
	return all
}

// Decades are ticks at powers of ten, and at 2 and 5 times these where there are few.
type Decades struct{}

// Ticks implements plot.Ticker.
func (Decades) Ticks(low, high float64) (all []plot.Tick) {
	if !(low > 0) || math.IsInf(high, 1) {
		return nil
	}
	factors := []float64{1}
	if high < 100*low {
		factors = []float64{1, 2, 5}
	}
	for decade := math.Pow(10, math.Floor(math.Log10(low))); decade <= high; decade *= 10 {
		for _, f := range factors {
			if x := f * decade; low <= x*(1+1e-9) && x <= high*(1+1e-9) {
				all = append(all, plot.Tick{Value: x, Label: short(x)})
			}
		}
	}
	return all
}

// short is a number with the suffix k, M or G.
func short(x float64) string {
	for _, unit := range []struct {
		of   float64
		name string
	}{{1e9, " G"}, {1e6, " M"}, {1e3, " k"}} {
		if x >= unit.of*(1-1e-9) {
			return strconv.FormatFloat(x/unit.of, 'g', 6, 64) + unit.name
		}
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}
