package input

import (
	"fmt"
	"strings"
	"testing"
)

// The first refused molecules are told one by one, and their number, once for each row however
// often the file is read.
func TestRefused(t *testing.T) {
	var b strings.Builder
	r := &Refused{To: &b}
	for range 2 {
		for row := range int64(25) {
			r.Add(2*row, fmt.Errorf("sources: row %d", row))
		}
	}
	r.Total()
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != toldRefused+1 || lines[0] != "left out: row 0" || lines[toldRefused] != "molecules left out: 25" {
		t.Errorf("%q", lines)
	}
	b.Reset()
	(&Refused{To: &b}).Total()
	(*Refused)(nil).Total()
	if b.Len() > 0 {
		t.Errorf("%q of nothing", b.String())
	}
}
