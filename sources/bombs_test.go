package sources_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/dot"
	"github.com/sanflow/sanflow/sources/graph6"
	"github.com/sanflow/sanflow/sources/internal/readtest"
	"github.com/sanflow/sanflow/sources/tu"
)

// bomb is a small text that stands for much, or is written to break its reader.
type bomb struct {
	name string
	open func(memory int64) flow.Source
	want string // of the error; empty: it is read
	more int64  // times as much memory
}

// repeat is n times a text, followed by an end.
func repeat(text string, n int, end string) io.Reader {
	return io.MultiReader(&repeated{[]byte(strings.Repeat(text, 1+(64<<10)/len(text))), len(text) * n, 0}, strings.NewReader(end))
}

type repeated struct {
	text     []byte
	left, at int
}

func (r *repeated) Read(p []byte) (n int, err error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	for n < len(p) && r.left > 0 {
		k := copy(p[n:min(len(p), n+r.left)], r.text[r.at:])
		n, r.left, r.at = n+k, r.left-k, (r.at+k)%len(r.text)
	}
	return n, nil
}

func headed(head string, r io.Reader) io.Reader { return io.MultiReader(strings.NewReader(head), r) }

// many is a text of n lines made by a function.
func many(n int, line func(b *bytes.Buffer, i int)) string {
	var b bytes.Buffer
	for i := range n {
		line(&b, i)
	}
	return b.String()
}

const tooMuch = "more than 16777216 bytes of memory up to here; raise Memory if that is right"

func bombs() []bomb {
	dotOf := func(r func() io.Reader) func(int64) flow.Source {
		return func(m int64) flow.Source { return dot.Source{Path: "x", Reader: r(), Memory: m} }
	}
	tu := func(files func() map[string]string) func(int64) flow.Source {
		return func(m int64) flow.Source {
			all := map[string]string{"B_A.txt": "", "B_graph_indicator.txt": "1\n", "B_graph_labels.txt": "1\n"}
			for name, text := range files() {
				all["B_"+name+".txt"] = text
			}
			return tu.Source{Path: "x", FS: readtest.MapFS(all), Memory: m}
		}
	}
	edges := func(r func() io.Reader) func(int64) flow.Source {
		return func(m int64) flow.Source { return sources.EdgeList{Path: "x", Reader: r(), Memory: m} }
	}
	distinct := func(n int) string { return many(n, func(b *bytes.Buffer, i int) { fmt.Fprintln(b, 7*i) }) }
	return []bomb{
		{"DOT nested 12 MB deep", dotOf(func() io.Reader { return headed("graph ", repeat("{", 12<<20, "")) }), "x:1: subgraphs nested more than 1000 deep", 4},
		{"DOT of a chain of 36 MB", dotOf(func() io.Reader { return headed("graph {a", repeat("--a", 12<<20, "}")) }), "x: " + tooMuch, 1},
		{"DOT of a chain", dotOf(func() io.Reader { return headed("graph {a", repeat("--a", 1<<18, "}")) }), "x:1: " + tooMuch, 1},
		// The tree takes some hundred bytes for each token.
		{"DOT of a long chain", dotOf(func() io.Reader { return headed("graph {a", repeat("--a", 1<<18, "}")) }), "", 9},
		{"DOT of a chain of subgraphs", dotOf(func() io.Reader { return headed("graph {a", repeat("--{a}", 1<<18, "}")) }), "", 12},
		{"DOT of attributes", dotOf(func() io.Reader { return headed("graph {a", repeat("[a=b]", 1<<18, "}")) }), "", 10},
		{"DOT of a product", dotOf(func() io.Reader { return strings.NewReader(readtest.DOTProduct(10000)) }), "x: " + tooMuch, 1},
		{"DOT of nodes", dotOf(func() io.Reader {
			return strings.NewReader("graph {" + many(1<<18, func(b *bytes.Buffer, i int) { fmt.Fprintf(b, "n%x;", i) }) + "}")
		}), "x:1: " + tooMuch, 1},
		{"DOT of named subgraphs", dotOf(func() io.Reader {
			return strings.NewReader("graph {" + many(1<<18, func(b *bytes.Buffer, i int) { fmt.Fprintf(b, "subgraph %d{}", i) }) + "}")
		}), "x:1: " + tooMuch, 1},
		{"graph6 of a dense line", func(m int64) flow.Source {
			n := 2500
			return graph6.Source{Path: "x", Memory: m, Reader: headed(fmt.Sprintf("Bw\n~%c%c%c", 63+n>>12, 63+n>>6&63, 63+n&63), repeat("~", (n*(n-1)/2+5)/6, "\n"))}
		}, "x:2: " + tooMuch, 1},
		{"graph6 of many large lines", func(m int64) flow.Source {
			n := 500
			line := fmt.Sprintf("~%c%c%c", 63+n>>12, 63+n>>6&63, 63+n&63) + strings.Repeat("~", (n*(n-1)/2+5)/6) + "\n"
			return graph6.Source{Path: "x", Memory: m, Reader: repeat(line, 100, "")}
		}, "", 1},
		{"graph6 of a wide line", func(m int64) flow.Source {
			return graph6.Source{Path: "x", Memory: m, Reader: repeat("~", 40<<20, "\n")}
		}, "x: ", 1},
		{"TU of many graphs", tu(func() map[string]string {
			return map[string]string{"graph_labels": strings.Repeat("1\n", 4<<20), "graph_indicator": "1\n4194304\n"}
		}), "x/B_graph_labels.txt:", 1},
		// Some bytes for each graph and each node, not some dozens.
		{"TU of graphs without nodes", tu(func() map[string]string {
			return map[string]string{"graph_labels": strings.Repeat("1\n", 2<<20), "graph_indicator": "1\n2097152\n"}
		}), "", 3},
		{"TU of nodes without edges", tu(func() map[string]string {
			return map[string]string{"graph_indicator": strings.Repeat("1\n", 2<<20)}
		}), "", 3},
		{"TU of many classes", tu(func() map[string]string { return map[string]string{"graph_labels": distinct(1 << 19)} }), "x/B_graph_labels.txt", 1},
		{"TU of many nodes", tu(func() map[string]string { return map[string]string{"graph_indicator": strings.Repeat("1\n", 6<<20)} }), "x/B_graph_indicator.txt:", 1},
		{"TU of many edges", tu(func() map[string]string {
			return map[string]string{"graph_indicator": "1\n1\n", "A": strings.Repeat("1 2\n", 2<<20)}
		}), "x/B_A.txt", 1},
		{"TU of many edges, not grouped", tu(func() map[string]string {
			return map[string]string{
				"graph_labels": "1\n1\n", "graph_indicator": "1\n1\n2\n2\n", "A": strings.Repeat("3 4\n1 2\n", 1<<20)}
		}), "x/B_A.txt", 1},
		{"TU of many node labels", tu(func() map[string]string {
			return map[string]string{"node_labels": distinct(1 << 18),
				"graph_indicator": strings.Repeat("1\n", 1<<18)}
		}), "x/B_node_labels.txt:", 1},
		{"TU of many columns", tu(func() map[string]string { return map[string]string{"node_attributes": strings.Repeat("1 ", 500_000)} }), "x/B_node_attributes.txt:1: " + tooMuch, 1},
		{"TU of many columns of labels", tu(func() map[string]string { return map[string]string{"node_labels": strings.Repeat("1 ", 500_000)} }), "x/B_node_labels.txt:1: " + tooMuch, 1},
		{"TU of a wide collection", tu(func() map[string]string {
			return map[string]string{"node_attributes": strings.Repeat(strings.Repeat("1 ", 1000)+"\n", 2000),
				"graph_indicator": strings.Repeat("1\n", 2000)}
		}), "x/B_A.txt", 1},
		{"edge list of many lines", edges(func() io.Reader { return repeat("1 2\n", 2<<20, "") }), "x:", 1},
		{"edge list of distinct ids", edges(func() io.Reader {
			return strings.NewReader(many(1<<19, func(b *bytes.Buffer, i int) { fmt.Fprintln(b, 3*i, 1000*i) }))
		}), "x:", 1},
		{"edge list that declares nodes", edges(func() io.Reader { return strings.NewReader("# 16000000 nodes\n0 1\n") }), "x:", 1},
		{"nodes of many classes", func(m int64) flow.Source {
			return sources.Nodes{Path: "x", Memory: m, FS: readtest.MapFS(map[string]string{"edges.txt": "0 1\n", "labels.txt": distinct(1 << 18)})}
		}, "x/labels.txt:", 1},
	}
}

func (b bomb) memory() int64 { return 16 << 20 * b.more }

// drainSource reads all records of a source and forgets them.
func drainSource(ctx context.Context, s flow.Source) error {
	r, err := s.Open(ctx, memory.NewGoAllocator())
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		rec, err := r.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		rec.Release()
	}
}

// TestTextBombs reads each bomb in a process of its own, which must live, keep to its
// memory, and say what is wrong in one line that names the place.
func TestTextBombs(t *testing.T) {
	if name := os.Getenv("SANFLOW_BOMB"); name != "" {
		for _, b := range bombs() {
			if b.name == name {
				s := b.open(b.memory())
				debug.FreeOSMemory()
				before := peak(t, true)
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				debug.SetMemoryLimit(int64(m.Sys-m.HeapReleased) + b.memory()) // so that garbage does not count
				err := drainSource(t.Context(), s)
				fmt.Printf("grew %d\nerror %v\n", peak(t, false)-before, err)
			}
		}
		return
	}
	if testing.Short() || race.Enabled {
		t.Skip("memory is measured")
	}
	for _, b := range bombs() {
		t.Run(b.name, func(t *testing.T) {
			grew, got := 0, ""
			// The collector falls behind where the processors are busy with other
			// work: what a bomb takes each time is what it takes.
			for try := 0; try == 0 || try < 6 && int64(grew) > b.memory()*3/2; try++ {
				c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTextBombs$")
				c.Env = append(os.Environ(), "SANFLOW_BOMB="+b.name)
				out, err := c.CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %.2000s", err, out)
				}
				m := regexp.MustCompile(`grew (-?\d+)\nerror (.*)\n`).FindSubmatch(out)
				if m == nil {
					t.Fatalf("%.2000s", out)
				}
				grew, _ = strconv.Atoi(string(m[1]))
				got = string(m[2])
			}
			t.Logf("%d MiB, %s", grew>>20, got)
			if int64(grew) > b.memory()*3/2 {
				t.Errorf("takes %d MiB, and Memory is %d", grew>>20, b.memory()>>20)
			}
			want := "sources: " + b.want
			if b.want == "" && got != "<nil>" || b.want != "" && (!strings.HasPrefix(got, want) || !strings.HasSuffix(got, "if that is right") && !strings.Contains(want, "deep")) {
				t.Errorf("the error is %s, want %s", got, want)
			}
		})
	}
}

// peak returns the most memory that this process has had, or 0 where the system
// does not say; reset forgets what was before.
func peak(t *testing.T, reset bool) int {
	if reset {
		if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
			t.Log(err)
		}
	}
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Log(err)
		return 0
	}
	_, line, _ := bytes.Cut(b, []byte("VmHWM:"))
	kb, err := strconv.Atoi(string(bytes.Fields(line)[0]))
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

// Whatever is read, it stops within a second of its context, in the middle of a
// line, of a product or of the building of rows too.
func TestCancel(t *testing.T) {
	n := 25000
	big := map[string]func() flow.Source{
		"graph6": func() flow.Source {
			return graph6.Source{Reader: headed(fmt.Sprintf("~%c%c%c", 63+n>>12, 63+n>>6&63, 63+n&63), repeat("T", (n*(n-1)/2+5)/6, "\n"))}
		},
		"DOT of a product": func() flow.Source {
			return dot.Source{Reader: strings.NewReader(readtest.DOTProduct(4000)), Memory: 8 << 30}
		},
		"DOT of a chain": func() flow.Source { return dot.Source{Reader: headed("graph {a", repeat("--a", 1<<18, "}"))} },
		"DOT of subgraphs": func() flow.Source {
			return dot.Source{Reader: strings.NewReader("graph {" + many(900, func(b *bytes.Buffer, i int) { fmt.Fprintf(b, "{%d", i) }) + strings.Repeat("}", 901))}
		},
		"edge list": func() flow.Source { return sources.EdgeList{Reader: repeat("1 2\n3 4\n77 1\n", 4<<20, "")} },
		"TU": func() flow.Source {
			return tu.Source{FS: readtest.MapFS(map[string]string{"B_A.txt": strings.Repeat("1 2\n", 8<<20), "B_graph_indicator.txt": "1\n1\n", "B_graph_labels.txt": "1\n"})}
		},
		"families": func() flow.Source { return sources.Families{Graphs: 1 << 20} },
		"nodes": func() flow.Source {
			return sources.Nodes{FS: readtest.MapFS(map[string]string{"edges.txt": strings.Repeat("1 2\n", 8<<20), "labels.txt": "a\na\na\n"})}
		},
	}
	for name, open := range big {
		for _, after := range []time.Duration{0, 30 * time.Millisecond, 300 * time.Millisecond} {
			s := open()
			ctx, stop := context.WithCancel(t.Context())
			stopped := make(chan time.Time, 1)
			timer := time.AfterFunc(after, func() { stopped <- time.Now(); stop() })
			err := drainSource(ctx, s)
			ended := time.Now()
			if timer.Stop() { // it was faster than that
				stop()
				continue
			}
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
			if took := ended.Sub(<-stopped); took > leak.Patience {
				t.Errorf("%s goes on for %v", name, took)
			}
			stop()
		}
	}
}
