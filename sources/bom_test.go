package sources_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/sources"
	"github.com/sanflow/sanflow/sources/dot"
	"github.com/sanflow/sanflow/sources/graph6"
	"github.com/sanflow/sanflow/sources/internal/readtest"
	"github.com/sanflow/sanflow/sources/molecules"
	"github.com/sanflow/sanflow/sources/nodelink"
	"github.com/sanflow/sanflow/sources/tu"
)

// A byte order mark at the beginning of a text is none of its bytes, in any format, packed or not, however few bytes
// a reader has at once.
func TestByteOrderMark(t *testing.T) {
	const mark = "\ufeff"
	one := func(text string, of func(text string, read func(string) *pieces) flow.Source) {
		t.Helper()
		var want string
		for i, text := range []string{text, mark + text, readtest.Pack(t, mark+text)} {
			for _, size := range []int{1, 2, 1 << 20} {
				s := of(text, func(text string) *pieces { return &pieces{text, size} })
				items, layout, _, err := readtest.All(t, s)
				got := fmt.Sprint(items, layout, err)
				if want == "" {
					if want = got; err != nil || len(items) == 0 {
						t.Fatalf("%v: %d graphs, %v", s, len(items), err)
					}
				}
				if got != want {
					t.Errorf("%v, way %d, %d bytes at once: %.200s\nwant %.200s", s, i, size, got, want)
				}
			}
		}
	}
	one("0 1\n1 2\n", func(text string, read func(string) *pieces) flow.Source {
		return sources.EdgeList{Path: "e", Reader: read(text)}
	})
	one("# two\n5 7 0.5\n7 9 1\n", func(text string, read func(string) *pieces) flow.Source {
		return sources.EdgeList{Path: "e", Reader: read(text), Weights: true}
	})
	one("Bw\nC~\n", func(text string, read func(string) *pieces) flow.Source {
		return graph6.Source{Path: "g", Reader: read(text)}
	})
	one("graph { a -- b }", func(text string, read func(string) *pieces) flow.Source {
		return dot.Source{Path: "d", Reader: read(text)}
	})
	one("CCO a\nCC b\n", func(text string, read func(string) *pieces) flow.Source {
		return molecules.Source{Table: molecules.SMI{Path: "s", Reader: read(text)}}
	})
	files := map[string]string{"T_A.txt": "1, 2\n2, 3\n4, 5\n", "T_graph_indicator.txt": "1\n1\n1\n2\n2\n", "T_graph_labels.txt": "7\n3\n", "T_node_labels.txt": "1\n2\n3\n4\n5\n"}
	marked := map[string]string{}
	for name, text := range files {
		marked[name] = mark + text
	}
	want, layout, _, err := readtest.All(t, tu.Source{FS: readtest.MapFS(files)})
	got, of, _, failed := readtest.All(t, tu.Source{FS: readtest.MapFS(marked)})
	if a, b := fmt.Sprint(want, layout), fmt.Sprint(got, of); a != b || err != nil || failed != nil {
		t.Errorf("TU: %s %v\nwant %s %v", b, failed, a, err)
	}
	files = map[string]string{"N/edges.txt": "0 1\n1 2\n", "N/labels.txt": "a\nb\na\n", "N/features.txt": "0:1\n1:1\n0:1\n", "N/split.txt": "train\nval\ntest\n"}
	for name, text := range files {
		marked[name] = mark + text
	}
	plain, err := sources.Nodes{FS: readtest.MapFS(files)}.Read(context.Background())
	set, failed := sources.Nodes{FS: readtest.MapFS(marked)}.Read(context.Background())
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	if a, b := fmt.Sprint(*plain.Graph, plain.Classes, plain.Class, plain.Split), fmt.Sprint(*set.Graph, set.Classes, set.Class, set.Split); a != b {
		t.Errorf("nodes: %s\nwant %s", b, a)
	}
	// Within a text it is a character like others.
	_, err = nodelink.Parse(context.Background(), []byte(`{"nodes":[`+mark+`]}`), nil)
	if err == nil || strings.Contains(err.Error(), "panic") {
		t.Error(err)
	}
	if _, _, _, err := readtest.All(t, graph6.Source{Path: "g", Reader: strings.NewReader("Bw\n" + mark + "Bw\n")}); err == nil {
		t.Error("a mark on line 2 is no error")
	}
}

// pieces returns so many bytes at once.
type pieces struct {
	text string
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	n := copy(b[:min(len(b), p.size)], p.text)
	if p.text = p.text[n:]; n == 0 {
		return strings.NewReader("").Read(b)
	}
	return n, nil
}
