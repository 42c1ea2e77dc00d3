package page

import (
	"math"
	"regexp"
	"strconv"
	"testing"
)

// luminance is the relative luminance of WCAG 2 of a colour of sRGB.
func luminance(rgb [3]float64) float64 {
	sum := 0.0
	for i, x := range rgb {
		if x /= 255; x <= 0.04045 {
			x /= 12.92
		} else {
			x = math.Pow((x+0.055)/1.055, 2.4)
		}
		sum += x * [3]float64{0.2126, 0.7152, 0.0722}[i]
	}
	return sum
}

func contrast(a, b [3]float64) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// Text is legible on circles of all weights, light and dark, by the ratio that WCAG 2 asks of text.
func TestContrast(t *testing.T) {
	palettes := regexp.MustCompile(`:root \{ color-scheme: (\w+);([^}]*)\}`).FindAllStringSubmatch(html, -1)
	if len(palettes) != 2 {
		t.Fatalf("%d palettes, want 2", len(palettes))
	}
	fills := regexp.MustCompile(`circle\.(\w+) \{ fill: var\(--(\w+)\)`).FindAllStringSubmatch(html, -1)
	texts := map[string]string{}
	for _, m := range regexp.MustCompile(`text\.(\w+) \{ fill: (?:var\(--)?([#\w]+)`).FindAllStringSubmatch(html, -1) {
		texts[m[1]] = m[2]
	}
	checked := 0
	for _, palette := range palettes {
		colours := map[string][3]float64{"#000": {}}
		for _, m := range regexp.MustCompile(`--(\w+): #([0-9a-f]+)`).FindAllStringSubmatch(palette[2], -1) {
			hex := m[2]
			if len(hex) == 3 {
				hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
			}
			x, err := strconv.ParseUint(hex, 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			colours[m[1]] = [3]float64{float64(x >> 16), float64(x >> 8 & 255), float64(x & 255)}
		}
		back := colours["back"]
		for _, fill := range fills {
			kind, text := fill[1], texts[fill[1]]
			if kind == "back" || kind == "asked" {
				continue
			}
			if text == "" {
				text = "ink"
			}
			for opacity := 0.08; opacity <= 1.001; opacity += 0.02 {
				if kind == "member" || kind == "root" {
					opacity = 1
				}
				on, of := colours[fill[2]], [3]float64{}
				for i := range on {
					of[i] = opacity*on[i] + (1-opacity)*back[i]
				}
				checked++
				if c := contrast(colours[text], of); c < 4.5 {
					t.Errorf("%s: text %s on a circle %s of opacity %.2f has a contrast of %.2f", palette[1], text, kind, opacity, c)
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("%d pairs of colours, want more", checked)
	}
}
