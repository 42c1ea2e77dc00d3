package cli

import (
	"context"
	"errors"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/flowtest/leak"
	"github.com/sanflow/sanflow/sources"
)

// A page begins and ends with the command, and without an address there is none.
func TestLive(t *testing.T) {
	defer leak.VerifyNone(t)
	for _, address := range []string{"", "localhost:0"} {
		f := Flags("x", "")
		p := Live(f)
		if err := Parse(f, []string{"-live", address}); err != nil {
			t.Fatal(err)
		}
		below, end, err := p.Start(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if p.Wanted() == (address == "") {
			t.Errorf("-live %q: wanted is %v", address, p.Wanted())
		}
		end(flow.From(sources.Families{Graphs: 3}).Run(below))
	}
	var none *Page
	if _, _, err := none.Start(context.Background()); err != nil || none.Wanted() {
		t.Error("no page is a page")
	}
	var usage *usageError
	if _, _, err := (&Page{address: "localhost:99999"}).Start(context.Background()); !errors.As(err, &usage) {
		t.Errorf("a port of 99999: %v", err)
	}
}
