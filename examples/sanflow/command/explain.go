package command

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/flow/graph"
	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sinks/page"
)

// explaining is the flags of explain.
type explaining struct {
	*asking
	of    cli.List
	class string
}

func explain(ctx context.Context, args []string) error {
	c := &explaining{asking: newAsking(cli.NewCommand("sanflow explain", about("explain")+`

What is explained is a graph by -of, its id, or of -data by -graph, its number from 0, a node or a row by -of,
its id, or a link by the ids of its ends, with a second -of. Ids of graphs are those that predict writes. Several
-of, or -graph 0,7,10-19, explain several: -html is one page with an index, and -json a list. Without -of it is the
first graph, node or link, or the latest row. A pair is explained without the edge
that joins it. -class is the class to explain, by default the predicted one. Weights are in nats,
those of the logit of the class minus the mean over all classes, or in the unit of the number that
was learned. The method is exact for the systems linear, neighbours, words, trees, forest and their means; occlusion for cnn
and cnn-edges: what the answer is without a node or an edge; and votes where ensemble smooths:
what the answer is without that for another node.`))}
	f := c.FlagSet
	c.targetFlag()
	f.Var(&c.of, "of", "what is explained: the id of a graph, a node or a row, or, given twice, the ids of both ends of a link; again for each other one")
	c.Output("html", "file for the explanations as a page of HTML")
	c.Output("csv", "file for the parts of the explanations as CSV: id, kind, name, value, weight, target, class")
	check := func() error { return c.reread("explain") }
	return c.ask(ctx, args, check, func(ctx context.Context) (cli.Result, error) {
		if slices.Contains(cli.Given(f), "class") { // the class to explain, in place of the column of the model
			c.class, c.Class = c.Class, c.trained.Class
		}
		subjects, end, err := c.subjects(ctx)
		if err != nil {
			return nil, err
		}
		defer end.Close()
		all := &explanations{name: c.name()}
		for _, s := range subjects {
			r, err := s.explain(ctx)
			if err != nil {
				return nil, c.in(err)
			}
			one := &explanation{Of: s.of, Target: c.ofTarget, Explanation: r.Explanation, Earlier: r.Earlier, page: pageOf(s.id, r, s.layout, c.Times)}
			one.page.Title, one.page.Target = s.name, c.ofTarget
			if c.several != nil {
				a, err := c.answer(ctx, s)
				if err != nil {
					return nil, c.in(err)
				}
				one.page.Tables = append(one.page.Tables, a.table("-of-target names the one that is explained"))
			}
			if err := all.add(one); err != nil {
				return nil, err
			}
		}
		return all, nil
	})
}

// answer is that about all targets.
func (c *explaining) answer(ctx context.Context, s *subject) (a answer, err error) {
	var p *sinks.Predictor
	var said []sinks.Answer
	if s.roots == nil {
		if p, err = c.several.For(s.layout); err == nil {
			said, err = p.PredictAll(ctx, s.graph)
		}
	} else if p, err = c.several.Knowing(s.graph.N(), s.ids); err == nil {
		said, err = p.PredictRoots(ctx, s.graph, s.roots...)
	}
	if err != nil {
		return a, err
	}
	if p != c.several {
		defer p.Close()
	}
	return tell(nil, said[0], c.several, 0), nil
}

// guessed says what is explained where no flag does.
func (c *explaining) guessed(what, which, id string) {
	fmt.Fprintf(os.Stderr, "guessed: %s %s, the %s, is explained; -of, of graphs also -graph, names others\n", what, cli.Printable(id), which)
}

// pageOf is an explanation for people. id is that of what is explained, and times the kind of times of rows, as in columns.
func pageOf(id string, r *choose.Reasons, l record.Layout, times string) page.Explanation {
	e := page.Explanation{ID: id, Graph: r.Graph, Reasons: r.Explanation, Layout: l, Seconds: times == "dates"}
	if r.IDs.Kind() != graph.NoIDs {
		e.Name = r.IDs.Name
	}
	parts, _ := e.Parts() // of roots, which is no error
	adds := map[string]float64{}
	for _, part := range parts {
		if part.Kind == page.Node {
			adds[part.Name] = part.Weight
		}
	}
	for _, k := range r.Earlier {
		t := page.Table{Title: fmt.Sprintf("Earlier rows with %s: %d", keyOf(k), k.Count), Head: []string{"row", "time", "class", "adds"}}
		for _, r := range k.Rows {
			text := ""
			if w := adds[r.ID]; w != 0 {
				text = fmt.Sprintf("%+.4f", w)
			}
			at := strconv.FormatFloat(r.Time, 'f', -1, 64)
			if e.Seconds {
				at = time.UnixMicro(int64(r.Time * 1e6)).UTC().Format(time.DateTime)
			}
			t.Rows = append(t.Rows, []string{r.ID, at, r.Class, text})
		}
		e.Tables = append(e.Tables, t)
	}
	return e
}

// explanation is what explain writes as JSON.
type explanation struct {
	Of     string `json:"of,omitempty"`     // the id of the graph, or its number, if a graph is explained
	Target string `json:"target,omitempty"` // of several targets
	Text   string `json:"text"`             // the answer and its largest parts in a sentence
	*sinks.Explanation
	// Earlier are the latest rows before a row, by key.
	Earlier []choose.EarlierRows `json:"earlier,omitempty"`
	page    page.Explanation
}

// explanations are one or several, of data.
type explanations struct {
	list []*explanation
	name string
}

// add adds one, with its sentence.
func (e *explanations) add(one *explanation) (err error) {
	e.list = append(e.list, one)
	one.Text, err = one.page.Summary()
	return err
}

// MarshalJSON writes the only one, or a list.
func (e *explanations) MarshalJSON() ([]byte, error) {
	if len(e.list) == 1 {
		return json.Marshal(e.list[0])
	}
	return json.Marshal(e.list)
}

// File is the page of -html, or the table of -csv.
func (e *explanations) File(flag, _ string) ([]byte, error) {
	var b bytes.Buffer
	if flag == "html" {
		all := page.Explanations{}
		if len(e.list) > 1 {
			all.Title = fmt.Sprintf("Reasons of %d answers about %s", len(e.list), e.name)
		}
		for _, one := range e.list {
			all.All = append(all.All, one.page)
		}
		err := all.Write(&b)
		return b.Bytes(), err
	}
	w := csv.NewWriter(&b)
	_ = w.Write([]string{"id", "kind", "name", "value", "weight", "target", "class"}) // into memory
	for _, one := range e.list {
		parts, err := one.page.Parts()
		if err != nil {
			return nil, err
		}
		for _, p := range parts {
			_ = w.Write([]string{one.page.ID, p.Kind, p.Name, p.Value, strconv.FormatFloat(p.Weight, 'g', -1, 64), one.Target, one.Class})
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// keyOf names the key of some earlier rows by its space, in any column of which they have it, and by the column of the row.
func keyOf(k choose.EarlierRows) string {
	if k.Space == k.Key {
		return fmt.Sprintf("the %s %s", k.Key, k.Value)
	}
	return fmt.Sprintf("the %s %s (%s of the row)", k.Space, k.Value, k.Key)
}

// Print writes the only answer with its largest parts, or each answer in a line.
func (e *explanations) Print(out io.Writer) error {
	const most = 20 // parts
	for _, one := range e.list {
		if fmt.Fprintf(out, "%s: %s\n", one.page.Title, cli.Printable(one.Text)); len(e.list) > 1 {
			continue
		}
		parts, err := one.page.Parts()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%+10.4f  is the sum of, %s:\n", one.Sum, one.Method)
		for _, p := range parts[:min(most, len(parts))] {
			fmt.Fprintf(out, "%+10.4f  %-8s %s\n", p.Weight, p.Kind, cli.Printable(clip(p.Text())))
		}
		if n := len(parts) - most; n > 0 {
			fmt.Fprintf(out, "left out: %d smaller parts, which -html and -csv have\n", n)
		}
		for _, k := range one.Earlier {
			fmt.Fprintf(out, "%d earlier rows with %s", k.Count, cli.Printable(keyOf(k)))
			for i, r := range k.Rows[:min(5, len(k.Rows))] {
				fmt.Fprintf(out, "%s %s %s", map[bool]string{true: ", the latest", false: ","}[i == 0], cli.Printable(r.ID), cli.Printable(r.Class))
			}
			fmt.Fprintln(out)
		}
	}
	return nil
}
