// Package picture is what the pictures of the examples have in common: formats, a
// font, and colors that can be told apart by everyone (Okabe and Ito 2008).
package picture

import (
	"fmt"
	"image/color"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
)

// New returns an empty plot in the font of all pictures.
func New() *plot.Plot {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	return plot.New()
}

// Format is the format that the name of a file asks for.
func Format(path string) (string, error) {
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".svg", ".png":
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
