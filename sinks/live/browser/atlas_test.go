package browser

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/page"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/generate"
)

// The atlas of a model opens, and a motif of its table leads to the drawings of its subgraphs;
// the page of an explanation opens. Both are read by keyboard, in the dark, on paper and on a phone.
func TestAtlas(t *testing.T) {
	b := newTab(t)
	ctx := context.Background()
	graphs := flow.From(sources.Families{Graphs: 60})
	schema, err := graphs.Schema(ctx)
	if err != nil {
		t.Fatal(err)
	}
	layout, err := record.LayoutOf(schema)
	if err != nil {
		t.Fatal(err)
	}
	net := nn.Best()
	recipe := operators.Recipe{operators.Expect{Layout: layout}, operators.Count{Of: count.Standard()}}
	if _, err := (sinks.Fit{Net: net, Epochs: 3}).Run(ctx, recipe.Onto(graphs)); err != nil {
		t.Fatal(err)
	}
	p, err := sinks.NewPredictor(net, recipe)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	atlas, err := p.Atlas(ctx, graphs, sinks.AtlasOptions{Motifs: 10})
	if err != nil {
		t.Fatal(err)
	}
	torus, err := generate.Torus(3, 4)
	if err != nil {
		t.Fatal(err)
	}
	reasons, err := p.Explain(ctx, torus, sinks.ExplainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	explanation := &page.Explanation{Title: "graph 0", Graph: torus, Reasons: reasons}
	var pages [2]bytes.Buffer
	if err := (page.Atlas{Title: "atlas", Atlas: atlas}).Write(&pages[0]); err != nil {
		t.Fatal(err)
	}
	if err := explanation.Write(&pages[1]); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Path {
		case "/atlas":
			_, _ = w.Write(pages[0].Bytes())
		case "/explanation":
			_, _ = w.Write(pages[1].Bytes())
		default: // a page asks for nothing else; Chromium wants an icon
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	defer server.Close()
	do(b, chromedp.Navigate(server.URL+"/atlas"))
	b.wait(`document.querySelectorAll("section.motif").length === 10`)
	b.shot("atlas")
	b.tabTo(`a[href="#m2"]`)
	do(b, chromedp.KeyEvent(kb.Enter))
	b.wait(`location.hash === "#m2" && Math.abs(document.querySelector("#m2").getBoundingClientRect().top) < innerHeight`)
	if n := eval[int](b, `document.querySelectorAll("#m2 svg[role=img] > title").length`); n < 2 {
		t.Errorf("motif 2 has %d drawings", n)
	}
	b.readable()
	b.fits()
	b.shot("atlas-narrow")
	do(b, chromedp.Navigate(server.URL+"/explanation"))
	b.wait(`document.querySelectorAll("svg[role=img] circle").length >= 12 && document.querySelectorAll("tbody tr").length > 0`)
	b.readable()
	b.fits()
	b.shot("explanation-narrow")
	b.clean(server.URL)
}
