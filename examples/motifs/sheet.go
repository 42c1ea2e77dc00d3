package main

import (
	"context"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/sanflow/sanflow/examples/internal/picture"
)

// Colours: the root is yellow as in the paper, the rest is quiet.
var (
	ink   = color.Gray{Y: 45}
	faint = color.Gray{Y: 130}
	rule  = color.Gray{Y: 222}
	line  = picture.Gray
	node  = picture.Blue
	root  = picture.Yellow
)

// Lengths of the sheet, in points.
const (
	margin  = 28
	cell    = 92 // side of a picture
	gap     = 16 // between pictures
	between = 34 // between groups of pictures
	head    = 96 // title and heads of columns
	caption = 18 // below a picture
	large   = 250
)

// sheet is the figure.
type sheet struct {
	title, subtitle string
	k               int
	portrait        *drawing // nil: the graph is too large
	note            string   // below the portrait
	legend          []string
	lines           []sheetLine
}

// sheetLine is one hidden unit.
type sheetLine struct {
	name    string
	weights []float64
	on      []float64 // probabilities of the edges
	samples []*drawing
	fields  []*drawing
	below   []string // captions of fields
}

func newSheet(c *config, in *input, f *fields, l *learned, motifs []*motif) (*sheet, error) {
	s := &sheet{
		k:     c.k,
		title: fmt.Sprintf("%s: features of its receptive fields", in.name),
		subtitle: fmt.Sprintf("%d nodes, %d edges; k = %d, 1-WL; RBM of %d hidden units, %d epochs at %v; reconstruction error %.4f",
			in.graph.N(), in.graph.M(), c.k, c.hidden, c.epochs, c.rate, l.last),
	}
	if in.portrait != nil {
		s.portrait = portrait(in.portrait, func(v int32) string { return fmt.Sprint(in.id(v)) })
		if s.note = "the graph"; in.portrait != in.graph {
			s.note = fmt.Sprintf("one of %d nodes, by the same rule", in.portrait.N())
		}
	}
	s.legend = []string{
		"Row and column 1 of a matrix are the root, yellow in the graphs.",
		"weights: white for 0 and less, black for the largest.",
		"edges: their probability while that unit alone is on,",
		"    from which the graphs beside it are drawn.",
		fmt.Sprintf("alike: units whose weights point the same way (cosine > %v).", alike),
		"+ n: so many more nodes have a field with the same edges.",
	}
	if len(motifs) > 0 && len(motifs[0].fields) == 1 {
		s.legend = append(s.legend, "", "All fields are equal: the biases know them, the units add nothing.")
	}
	for _, m := range motifs {
		line := sheetLine{name: fmt.Sprintf("unit %d", m.unit), weights: m.weights}
		for _, p := range m.on {
			line.on = append(line.on, float64(p))
		}
		if m.alike > 1 {
			line.name += fmt.Sprintf(", %d alike", m.alike)
		}
		for _, x := range m.samples {
			d, err := ofMatrix(x, c.k, nil)
			if err != nil {
				return nil, err
			}
			line.samples = append(line.samples, d)
		}
		for _, e := range m.fields {
			d, err := ofMatrix(e.matrix, c.k, func(place int) string {
				return fmt.Sprint(in.id(f.member(e.field)[place]))
			})
			if err != nil {
				return nil, err
			}
			line.fields = append(line.fields, d)
			below := fmt.Sprintf("node %d", in.id(f.member(e.field)[0]))
			if e.count > 1 {
				below += fmt.Sprintf(", + %d", e.count-1)
			}
			line.below = append(line.below, below)
		}
		s.lines = append(s.lines, line)
	}
	return s, nil
}

// draw returns the sheet as an SVG or PNG file.
func (s *sheet) draw(ctx context.Context, format string) ([]byte, error) {
	const left = margin + large + between
	width := left + 2*cell + gap + between + vg.Length(samplesShown*(cell+gap)-gap+between+fieldsShown*(cell+gap)-gap) + margin
	height := max(head+vg.Length(len(s.lines))*(cell+caption+gap), head+large+(4+vg.Length(len(s.legend)))*caption) + margin/2
	var w vg.CanvasWriterTo = vgsvg.New(width, height)
	if format == "png" {
		w = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(144))}
	}
	p := &painter{Canvas: draw.New(w), top: height}
	p.box(0, 0, width, height, color.White)
	p.text(margin, 34, 17, ink, 0, s.title)
	p.text(margin, 54, 10.5, faint, 0, s.subtitle)

	weights := vg.Length(left)
	probability := weights + cell + gap
	samples := probability + cell + between
	fields := samples + samplesShown*(cell+gap) - gap + between
	for _, h := range []struct {
		x    vg.Length
		text string
	}{{weights, "weights"}, {probability, "edges"}, {samples, "drawn with that unit alone on"}, {fields, "fields that excite it most"}} {
		p.text(h.x, head-12, 10.5, ink, 0, h.text)
	}
	p.stroke(left, head-5, width-margin, head-5, rule, 0.8)
	y := vg.Length(head)
	if s.portrait != nil {
		p.graph(s.portrait, margin, y, large, 2.6, 0.5)
		p.text(margin+large/2, y+large+12, 9.5, faint, -0.5, s.note)
		y += large + 2.5*caption
	}
	for _, l := range s.legend {
		y += 0.8 * caption
		p.text(margin, y, 9, faint, 0, l)
	}
	y = head + 4
	for _, l := range s.lines {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		p.matrix(l.weights, s.k, weights, y, cell, slices.Max(l.weights))
		p.matrix(l.on, s.k, probability, y, cell, 1)
		p.text(weights, y+cell+11, 9, faint, 0, l.name)
		for i, d := range l.samples {
			p.graph(d, samples+vg.Length(i)*(cell+gap), y, cell, s.dot(), 1)
		}
		for i, d := range l.fields {
			x := fields + vg.Length(i)*(cell+gap)
			p.graph(d, x, y, cell, s.dot(), 1)
			p.text(x+cell/2, y+cell+11, 9, faint, -0.5, l.below[i])
		}
		y += cell + caption + gap
	}
	return picture.Bytes(w)
}

// dot is the radius of a node in the small pictures: the more, the smaller.
func (s *sheet) dot() vg.Length { return vg.Length(4.2 * math.Min(1, math.Sqrt(12/float64(s.k)))) }

// painter draws with the origin at the top left.
type painter struct {
	draw.Canvas
	top vg.Length
}

func (p *painter) at(x, y vg.Length) vg.Point { return vg.Point{X: x, Y: p.top - y} }

func (p *painter) text(x, y, size vg.Length, c color.Color, align float64, s string) {
	style := text.Style{
		Color:   c,
		Font:    font.Font{Typeface: plot.DefaultFont.Typeface, Variant: "Sans", Size: size},
		XAlign:  text.XAlignment(align),
		Handler: plot.DefaultTextHandler,
	}
	p.FillText(style, p.at(x, y), s)
}

func (p *painter) box(x, y, w, h vg.Length, c color.Color) {
	p.FillPolygon(c, []vg.Point{p.at(x, y), p.at(x+w, y), p.at(x+w, y+h), p.at(x, y+h)})
}

func (p *painter) stroke(x0, y0, x1, y1 vg.Length, c color.Color, width vg.Length) {
	p.StrokeLine2(draw.LineStyle{Color: c, Width: width}, p.at(x0, y0).X, p.at(x0, y0).Y, p.at(x1, y1).X, p.at(x1, y1).Y)
}

// matrix draws a k×k matrix in a square, white for 0 and less, black for high.
func (p *painter) matrix(w []float64, k int, x, y, side vg.Length, high float64) {
	high = math.Max(high, 1e-9)
	step := side / vg.Length(k)
	for i, v := range w {
		shade := uint8(255 - math.Round(235*math.Max(v, 0)/high))
		p.box(x+vg.Length(i%k)*step, y+vg.Length(i/k)*step, step, step, color.Gray{Y: shade})
	}
	frame := []vg.Point{p.at(x, y), p.at(x+side, y), p.at(x+side, y+side), p.at(x, y+side), p.at(x, y)}
	p.StrokeLines(draw.LineStyle{Color: faint, Width: 0.6}, frame)
}

// graph draws a graph in a square, with nodes of that radius, or larger ones that
// have room for their names.
func (p *painter) graph(d *drawing, x, y, side, radius, width vg.Length) {
	if d.names != nil {
		radius = max(radius, 5.6)
	}
	inner := side/2 - radius - 2
	place := func(v int) vg.Point {
		q := d.at[v]
		return p.at(x+side/2+vg.Length(q.X)*inner, y+side/2+vg.Length(q.Y)*inner)
	}
	for v := range d.at {
		for _, u := range d.graph.Adj(int32(v)) {
			if v < int(u) {
				a, b := place(v), place(int(u))
				p.StrokeLine2(draw.LineStyle{Color: line, Width: width}, a.X, a.Y, b.X, b.Y)
			}
		}
	}
	for v := range d.at {
		glyph := draw.GlyphStyle{Color: node, Radius: radius, Shape: draw.CircleGlyph{}}
		if v == d.root {
			p.DrawGlyph(draw.GlyphStyle{Color: ink, Radius: radius + 1.6, Shape: draw.CircleGlyph{}}, place(v))
			glyph.Color, glyph.Radius = root, radius+0.8
		}
		p.DrawGlyph(glyph, place(v))
		if d.names != nil {
			c := color.Color(color.White)
			if v == d.root {
				c = ink
			}
			size := min(1.2*radius, 3.1*radius/vg.Length(len(d.names[v])))
			q := place(v)
			p.text(q.X, p.top-q.Y+size*0.36, size, c, -0.5, d.names[v])
		}
	}
}
