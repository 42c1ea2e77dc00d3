package dot

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// dotText makes texts of the language, and some that are not quite. It leaves out what gonum does not
// read: lists of nodes, texts joined by + and attributes of a subgraph.
type dotText struct {
	*rand.Rand
	op      string
	depth   int
	damaged bool // the last text may be none
}

func (d *dotText) one(of ...string) string { return of[d.IntN(len(of))] }

func (d *dotText) id() string {
	return d.one("a", "b", "c", "_d1", "7", "-.5", "2.", `"a"`, `"x y"`, `"q\"r"`, `"s\\"`, "\"l\\\nm\"", "<h<i>j>", "Ünï", "nodes", `"node"`)
}

func (d *dotText) blank() string {
	return d.one(" ", " ", " ", "\n", "\t", " /* - */ ", " // x\n", "\n# x\n", "\r\n")
}

func (d *dotText) attributes() string {
	switch d.IntN(8) {
	case 0:
		return "[]"
	case 1:
		return "[" + d.id() + "=" + d.id() + d.one("", ",", ";") + d.blank() + d.id() + "=" + d.id() + "]"
	case 2:
		return "[k=v]" + d.blank() + "[" + d.id() + "=" + d.id() + d.one("", ",", ";") + "]"
	}
	return ""
}

// end is an end of an edge. At most one of a statement is a subgraph with a name:
// a -- subgraph s {b} -- subgraph s {c} is a, b and c, b, c to Graphviz, which
// makes edges when the statement ends, and here a, b and b, b, c.
func (d *dotText) end(named *bool) string {
	if d.depth < 3 && d.IntN(3) == 0 {
		head := d.one("", "subgraph ")
		if !*named && d.IntN(2) == 0 {
			head, *named = d.one("subgraph s ", "subgraph t ", "SubGraph "+d.id()+" "), true
		}
		return head + "{" + d.statements() + "}"
	}
	return d.id() + d.one("", "", ":p", ":p:n", `:"w"`)
}

func (d *dotText) statements() string {
	d.depth++
	defer func() { d.depth-- }()
	var b strings.Builder
	for range d.IntN(4) {
		b.WriteString(d.blank())
		switch d.IntN(8) {
		case 0:
			b.WriteString(d.one("node", "edge", "graph", "Node") + d.blank() + d.one("[]", "[a=b]", "[a=b;c=d]"))
		case 1:
			b.WriteString(d.id() + d.blank() + "=" + d.id())
		default:
			named := false
			end := d.end(&named)
			alone := strings.HasSuffix(end, "}")
			b.WriteString(end)
			for d.IntN(2) == 0 {
				alone = false
				b.WriteString(d.blank() + d.op + d.blank() + d.end(&named))
			}
			if b.WriteString(d.blank()); !alone {
				b.WriteString(d.attributes())
			}
		}
		b.WriteString(d.one(";", "\n", " ;"))
	}
	return b.String()
}

func (d *dotText) text() string {
	var b strings.Builder
	for range 1 + d.IntN(2) {
		kind := "graph"
		if d.op = "--"; d.IntN(2) == 0 {
			kind, d.op = "Digraph", "->"
		}
		b.WriteString(d.one("", "strict ") + kind + d.blank() + d.one("", "g", `"g h"`) + "{" + d.statements() + "}" + d.blank())
	}
	text := b.String()
	if d.damaged = d.IntN(3) == 0; d.damaged {
		at := d.IntN(strings.LastIndexByte(text, '}')) // what is behind it Graphviz does not always read
		text = text[:at] + d.one("", "{", "}", ";", "[", "]", "=", ",", "--", "->", ":", "+", "node ", `"`, "<", "a") + text[min(len(text), at+d.IntN(3)):]
	}
	return text
}

// TestGraphviz compares with what Graphviz reads: whether a text is one at all,
// the names of the nodes and the edges.
func TestGraphviz(t *testing.T) {
	program, err := exec.LookPath("gvpr")
	if err != nil {
		t.Skip("Graphviz, which this compares with, is not installed:", err)
	}
	texts := 150
	if long, err := time.ParseDuration(os.Getenv("SANFLOW_LONG")); err == nil || os.Getenv("SANFLOW_LONG") != "" {
		texts = 1000 * max(1, int(long.Minutes()))
	}
	d := dotText{Rand: rand.New(rand.NewPCG(1, 2))}
	refused, ours := 0, 0
	for i := range texts {
		text := d.text()
		c := exec.Command(program, `BEG_G{print("G", isDirect($G))} N{print("N", $.name)} E{print("E", $.tail.name, "`+"\x01"+`", $.head.name)}`)
		c.Stdin = strings.NewReader(text)
		var failed strings.Builder
		c.Stderr = &failed
		out, err := c.Output()
		theirs := err == nil && !strings.Contains(failed.String(), "rror")
		graphs, err := Source{Reader: strings.NewReader(text)}.Read(t.Context())
		if theirs && err != nil && d.damaged {
			ours++ // a list of nodes, a text without its end, which the end of the file ends to Graphviz, …
			continue
		}
		if (err == nil) != theirs {
			t.Errorf("text %d, %q: %v, and Graphviz says %q", i, text, err, failed.String())
			continue
		}
		if !theirs {
			refused++
			continue
		}
		if slices.ContainsFunc(graphs, func(g Graph) bool { return strings.Contains(strings.Join(g.Names, ""), "\n") }) {
			continue // such names are not told apart from lines
		}
		if got, want := graphvizOf(graphs), graphvizSorted(string(out)); got != want {
			t.Errorf("text %d, %q:\n%s\nand Graphviz says\n%s", i, text, got, want)
		}
	}
	t.Logf("%d texts, %d refused by both, %d here alone", texts, refused, ours)
}

// graphvizOf lists nodes and edges as the program above does.
func graphvizOf(graphs []Graph) string {
	var b strings.Builder
	for _, g := range graphs {
		b.WriteString("G\n")
		var lines []string
		for v, from := range g.Names {
			lines = append(lines, "N"+bare(from))
			for _, u := range g.Graph.Adj(int32(v)) {
				lines = append(lines, "E"+bare(from)+"\x01"+bare(g.Names[u]))
			}
		}
		slices.Sort(lines)
		for _, l := range lines {
			fmt.Fprintln(&b, strconv.Quote(l))
		}
	}
	return b.String()
}

// bare takes the brackets of an HTML name away, which gvpr does not print, and the
// quotes that a text keeps if it looks like one.
func bare(name string) string {
	if strings.HasPrefix(name, "<") {
		return name[1 : len(name)-1]
	}
	if strings.HasPrefix(name, `"<`) {
		return name[1 : len(name)-1]
	}
	return name
}

// graphvizSorted brings its output into the form of graphvizOf: edges of a graph
// stand both ways, and so do those of graphs among digraphs.
func graphvizSorted(out string) string {
	type list struct {
		directed bool
		lines    []string
	}
	var graphs []*list
	anyDirected := false
	for _, l := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
		switch {
		case strings.HasPrefix(l, "G"):
			graphs = append(graphs, &list{directed: l == "G1"})
			anyDirected = anyDirected || l == "G1"
		case strings.HasPrefix(l, "E"):
			from, to, _ := strings.Cut(l[1:], "\x01")
			if g := graphs[len(graphs)-1]; from != to {
				if g.lines = append(g.lines, l); !g.directed {
					g.lines = append(g.lines, "E"+to+"\x01"+from)
				}
			}
		case l != "":
			graphs[len(graphs)-1].lines = append(graphs[len(graphs)-1].lines, l)
		}
	}
	var b strings.Builder
	for _, g := range graphs {
		b.WriteString("G\n")
		slices.Sort(g.lines)
		for _, l := range slices.Compact(g.lines) {
			fmt.Fprintln(&b, strconv.Quote(l))
		}
	}
	return b.String()
}
