package picture

import (
	"bytes"
	"encoding/xml"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Key is an entry of the legend: a sign and its meaning.
type Key struct {
	Sign plot.Thumbnailer
	Text string
}

// Sheet is a white page with a legend at its foot.
type Sheet struct {
	draw.Canvas // above the legend
	out         vg.CanvasWriterTo
}

// NewSheet returns a page. width and height are without the legend. The ending of path is the format.
func NewSheet(width, height vg.Length, path string, legend ...Key) (*Sheet, error) {
	format, err := Format(path)
	if err != nil {
		return nil, err
	}
	const line = 15 // points
	foot := vg.Points(line*float64(len(legend)) + 6)
	out, err := draw.NewFormattedCanvas(width, height+foot, format)
	if err != nil {
		return nil, err
	}
	all := draw.New(out)
	all.SetColor(color.White)
	all.Fill(all.Rectangle.Path())
	l := plot.NewLegend()
	l.TextStyle = New("", "", "").Legend.TextStyle
	l.Left, l.Top, l.Padding, l.ThumbnailWidth = true, true, vg.Points(3), vg.Points(24)
	for _, key := range legend {
		l.Add(key.Text, key.Sign)
	}
	l.Draw(draw.Crop(all, vg.Points(12), 0, 0, -height))
	return &Sheet{draw.Crop(all, 0, 0, foot, 0), out}, nil
}

// Bytes returns the page as a file. title is what an SVG says to those who do not see it.
func (s *Sheet) Bytes(title string) ([]byte, error) { return fileOf(s.out, title) }

// dark turns the colors of paper, ink and grid, which are literal, where the reader prefers that.
const dark = `<style>@media screen and (prefers-color-scheme: dark) { text { fill: #e8e8e8 } [style*="fill:#FFFFFF"] { fill: #16181b !important } ` +
	`[style*="stroke:#000000"] { stroke: #e8e8e8 !important } [style*="stroke:#CDCDCD"] { stroke: #44484d !important } }</style>`

// fileOf returns a canvas as a file. The text of an SVG has fallback fonts: some with the same widths, then
// any without serifs.
func fileOf(out vg.CanvasWriterTo, title string) ([]byte, error) {
	var b, name bytes.Buffer
	_, err := out.WriteTo(&b)
	text := bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:'Liberation Sans',Arimo,Arial,Helvetica,sans-serif;"))
	if head, body, ok := bytes.Cut(text, []byte("<g ")); ok && bytes.Contains(head, []byte("<svg ")) {
		_ = xml.EscapeText(&name, []byte(title)) // into memory
		head = bytes.Replace(head, []byte("<svg "), []byte(`<svg role="img" style="max-width:100%;height:auto" `), 1)
		text = slices.Concat(head, []byte("<title>"), name.Bytes(), []byte("</title>\n"+dark+"\n<g "), body)
	}
	return text, err
}
