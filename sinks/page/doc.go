// Package page writes explanations as pages of HTML. A page is one file: it loads nothing, runs no
// script, follows the light or dark colours of the reader, prints, and can be read by keyboard and
// screen reader. Names are escaped by html/template, and the size of a page is bounded: it names
// omissions. The same input gives the same bytes.
//
//	e, err := predictor.Explain(ctx, g, sinks.ExplainOptions{})
//	…
//	err = page.Explanation{Title: "Molecule 17", Graph: g, Reasons: e}.Write(file)
package page
