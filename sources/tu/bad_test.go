package tu

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/sources/internal/reading"
	"github.com/sanflow/sanflow/sources/internal/readtest"
)

// Every file that breaks the format is refused by Open, in one line that names
// the file and, where there is one, the line.
func TestTUBadText(t *testing.T) {
	const gone = "\x00" // the file is missing
	for _, c := range []struct{ name, file, text, want string }{
		{"no edges", "A", gone, `sources: T: no file NAME_A.txt, so no TU collection: file does not exist`},
		{"no indicator", "graph_indicator", gone, `sources: T/T_graph_indicator.txt: file does not exist`},
		{"no labels", "graph_labels", gone, `sources: T/T_graph_labels.txt: file does not exist`},

		{"node 0", "A", "1, 2\n0, 1\n", `sources: T/T_A.txt:2: node 0, want 1 to 4`},
		{"node -1", "A", "1, 2\n-1, 1\n", `sources: T/T_A.txt:2: node -1, want 1 to 4`},
		{"unknown node", "A", "1, 5\n", `sources: T/T_A.txt:1: node 5, want 1 to 4`},
		{"node beyond 32 bits", "A", "4294967297, 2\n", `sources: T/T_A.txt:1: node 4294967297, want 1 to 4`},
		{"node beyond 64 bits", "A", "18446744073709551617, 2\n", `sources: T/T_A.txt:1: "18446744073709551617", want the number of a node`},
		{"two graphs", "A", "1, 2\n\n", ``},
		{"edge across graphs", "A", "1, 2\n3, 4\n", `sources: T/T_A.txt:2: edge joins node 3 of graph 1 and node 4 of graph 2`},
		{"one node", "A", "1\n", `sources: T/T_A.txt:1: "", want two nodes`},
		{"three nodes", "A", "1,2,3\n", `sources: T/T_A.txt:1: more than two nodes on a line`},
		{"a word", "A", "1,two\n", `sources: T/T_A.txt:1: "two", want the number of a node`},
		{"a fraction", "A", "1,2.0\n", `sources: T/T_A.txt:1: "2.0", want the number of a node`},
		{"binary", "A", "\x00\x01\x02 1\n", "sources: T/T_A.txt:1: \"\\x00\\x01\\x02\", want the number of a node"},
		{"an empty line", "A", "1,2\n\n\n2,1\n", `sources: T/T_A.txt:2: empty line`},
		{"no line ends", "A", strings.Repeat("1", reading.MaxLine+5), `sources: T/T_A.txt:1: line of more than 1048576 bytes`},

		{"graph 0", "graph_indicator", "0\n1\n1\n2\n", `sources: T/T_graph_indicator.txt:1: graph 0, want 1 to 2, the lines of T/T_graph_labels.txt`},
		{"graph 3 of 2", "graph_indicator", "1\n1\n1\n3\n", `sources: T/T_graph_indicator.txt:4: graph 3, want 1 to 2, the lines of T/T_graph_labels.txt`},
		{"two numbers", "graph_indicator", "1 1\n", `sources: T/T_graph_indicator.txt:1: "1 1", want the number of a graph`},
		{"no node", "graph_indicator", "", `sources: T/T_graph_labels.txt: 2 graphs, but the last has no node in T/T_graph_indicator.txt`},
		{"a node less", "graph_indicator", "1\n1\n2\n", `sources: T/T_A.txt:3: edge joins node 2 of graph 1 and node 3 of graph 2`},

		{"a target more", "graph_labels", "1\n1\n1\n", `sources: T/T_graph_labels.txt: 3 graphs, but the last has no node in T/T_graph_indicator.txt`},
		{"a target less", "graph_labels", "1\n", `sources: T/T_graph_indicator.txt:4: graph 2, want 1 to 1, the lines of T/T_graph_labels.txt`},
		{"no target", "graph_labels", "\n", `sources: T/T_graph_labels.txt: no graphs`},
		{"target NaN", "graph_labels", "1\nNaN\n", `sources: T/T_graph_labels.txt:2: "NaN", want a finite number`},
		{"target word", "graph_labels", "yes\nno\n", `sources: T/T_graph_labels.txt:1: "yes", want a number`},

		{"a label less", "node_labels", "1\n2\n3\n", `sources: T/T_node_labels.txt:3: ends after 3 of 4 nodes`},
		{"a label more", "node_labels", "1\n2\n3\n4\n5\n", `sources: T/T_node_labels.txt:5: a line more than the 4 nodes`},
		{"no label", "node_labels", "", `sources: T/T_node_labels.txt: ends after 0 of 4 nodes`},
		{"label word", "node_labels", "1\n2\nC\n4\n", `sources: T/T_node_labels.txt:3: "C", want an integer`},
		{"label missing", "node_labels", "1\n2\n3, \n4\n", ``},
		{"label field empty", "node_labels", "1\n2\n,3\n4\n", `sources: T/T_node_labels.txt:3: "", want an integer`},
		{"label column more", "node_labels", "1\n2\n3, 4\n4\n", `sources: T/T_node_labels.txt:3: 2 values, want 1 as on the first line`},

		{"attribute NaN", "node_attributes", "1,1\n2,2\n3,nan\n4,4\n", `sources: T/T_node_attributes.txt:3: "nan", want a finite number`},
		{"attribute infinite", "node_attributes", "1,1\n2,-Inf\n", `sources: T/T_node_attributes.txt:2: "-Inf", want a finite number`},
		{"attribute too large", "node_attributes", "1,1\n1e39,1\n", `sources: T/T_node_attributes.txt:2: "1e39" does not fit a float32`},
		{"attribute less", "node_attributes", "1,1\n2\n", `sources: T/T_node_attributes.txt:2: 1 values, want 2 as on the first line`},
		{"attribute line less", "node_attributes", "1,1\n2,2\n", `sources: T/T_node_attributes.txt:2: ends after 2 of 4 nodes`},
		{"attribute word", "node_attributes", "1,x\n", `sources: T/T_node_attributes.txt:1: "x", want a number`},

		{"edge label less", "edge_labels", "1\n1\n", `sources: T/T_edge_labels.txt:2: ends after 2 of 6 lines of A`},
		{"edge label more", "edge_labels", "1\n1\n1\n1\n1\n1\n1\n", `sources: T/T_edge_labels.txt:7: a line more than the 6 lines of A`},
		{"edge attribute infinite", "edge_attributes", "1\ninf\n", `sources: T/T_edge_attributes.txt:2: "inf", want a finite number`},
		{"edge attribute less", "edge_attributes", "1\n1\n1\n1\n1\n", `sources: T/T_edge_attributes.txt:5: ends after 5 of 6 lines of A`},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := triangle()
			delete(files, "T_graph_attributes.txt")
			if c.file == "A" {
				delete(files, "T_edge_labels.txt")
				delete(files, "T_edge_attributes.txt")
			}
			files["T_"+c.file+".txt"] = c.text
			if c.text == gone {
				delete(files, "T_"+c.file+".txt")
			}
			_, err := Source{FS: readtest.MapFS(files), Path: "T"}.Open(t.Context(), memory.DefaultAllocator)
			switch {
			case err == nil && c.want != "":
				t.Errorf("no error, want %s", c.want)
			case err != nil && err.Error() != c.want:
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if e := new(reading.FileError); err != nil && !errors.As(err, &e) {
				t.Errorf("%T is no FileError", err)
			}
			if c.text == gone && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v does not wrap fs.ErrNotExist", err)
			}
		})
	}
}

func TestTUBadSettings(t *testing.T) {
	two := triangle()
	for name, text := range triangle() {
		two["other/S"+name[1:]] = text
	}
	files := readtest.MapFS(triangle())
	for _, c := range []struct {
		tu   Source
		want string
	}{
		{Source{}, "sources: TU: no Path"},
		{Source{FS: files, Rows: -1}, "sources: TU: Rows is -1, want at least 0"},
		{Source{FS: files, MaxBytes: -1}, "sources: TU: MaxBytes is -1, want at least 0"},
		{Source{FS: readtest.MapFS(two), Path: "p"}, "sources: p: several collections, T_A.txt and other/S_A.txt, want one"},
		{Source{FS: files, MaxBytes: 20}, "sources: T_A.txt: 30 bytes unpacked, want at most 20; raise MaxBytes if that is right"},
		{Source{Path: "no/such.zip"}, "sources: no/such.zip: no such file or directory"},
	} {
		_, err := c.tu.Open(t.Context(), memory.DefaultAllocator)
		if err == nil || err.Error() != c.want {
			t.Errorf("%v: got  %v\nwant %s", c.tu, err, c.want)
		}
	}
}

func TestTUBadZip(t *testing.T) {
	whole, err := os.ReadFile(readtest.Zip(t, triangle()))
	if err != nil {
		t.Fatal(err)
	}
	edit := func(do func(b []byte) []byte) []byte { return do(bytes.Clone(whole)) }
	// Entries are found in the central directory by the name of the member.
	central := func(b []byte, name string) []byte {
		return b[bytes.LastIndex(b, []byte(name))-46:]
	}
	bomb := triangle()
	bomb["T_node_labels.txt"] = strings.Repeat("0\n", 1<<20)

	for _, c := range []struct {
		name string
		zip  []byte
		max  int64
		want string
	}{
		{"text", []byte("hello"), 0, "zip: not a valid zip file: damaged, cut short, or something else"},
		{"empty", nil, 0, "zip: not a valid zip file: damaged, cut short, or something else"},
		{"cut in half", whole[:len(whole)/2], 0, "zip: not a valid zip file: damaged, cut short, or something else"},
		{"cut at the end", whole[:len(whole)-3], 0, "zip: not a valid zip file: damaged, cut short, or something else"},
		{"wrong checksum", edit(func(b []byte) []byte {
			// Fields of an entry: checksum at 16, packed size at 20, size at 24.
			central(b, "T_A.txt")[16] ^= 1
			return b
		}), 0, "/T_A.txt: zip: checksum error"},
		{"larger than told", edit(func(b []byte) []byte {
			binary.LittleEndian.PutUint32(central(b, "T_A.txt")[24:], 5)
			return b
		}), 0, "/T_A.txt: zip: not a valid zip file"},
		{"smaller than told", edit(func(b []byte) []byte {
			binary.LittleEndian.PutUint32(central(b, "T_A.txt")[24:], 500)
			return b
		}), 0, "/T_A.txt: unexpected EOF"},
		{"claims terabytes", edit(func(b []byte) []byte {
			binary.LittleEndian.PutUint32(central(b, "T_A.txt")[24:], 1<<32-2)
			return b
		}), 0, "/T_A.txt: 4294967294 bytes unpacked, want at most 1073741824; raise MaxBytes if that is right"},
		{"bomb", nil, 1 << 20, "/T_node_labels.txt: 2097152 bytes unpacked, want at most 1048576; raise MaxBytes if that is right"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "T.zip")
			if c.name == "bomb" {
				path = readtest.Zip(t, bomb)
			} else if err := os.WriteFile(path, c.zip, 0o644); err != nil {
				t.Fatal(err)
			}
			_, _, _, err := readtest.All(t, Source{Path: path, MaxBytes: c.max})
			if err == nil || !strings.HasSuffix(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "sources: "+path) {
				t.Errorf("got  %v\nwant sources: %s…%s", err, path, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("%q has several lines", err)
			}
		})
	}
}

// Legal, if odd.
func TestTUOdd(t *testing.T) {
	for _, c := range []struct {
		name   string
		files  map[string]string
		graphs int
	}{
		{"no edges at all", map[string]string{"E_A.txt": "", "E_graph_indicator.txt": "1\n2\n", "E_graph_labels.txt": "0\n1\n"}, 2},
		{"graphs without nodes", map[string]string{"E_A.txt": "1 2\n", "E_graph_indicator.txt": "3\n3\n", "E_graph_labels.txt": "0\n1\n2\n"}, 3},
		{"one graph of one node", map[string]string{"E_A.txt": "1 1", "E_graph_indicator.txt": "1", "E_graph_labels.txt": "5"}, 1},
		{"a folder and litter", map[string]string{"E/E_A.txt": "", "E/E_graph_indicator.txt": "1\n", "E/E_graph_labels.txt": "0\n", "__MACOSX/._E_A.txt": "\x00"}, 1},
	} {
		got, _, _, err := readtest.All(t, Source{FS: readtest.MapFS(c.files)})
		if err != nil || len(got) != c.graphs {
			t.Errorf("%s: %d graphs, %v, want %d", c.name, len(got), err, c.graphs)
		}
	}
}
