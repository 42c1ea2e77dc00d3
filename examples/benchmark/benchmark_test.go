package main

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/sanflow/sanflow/examples/internal/cli"
	"github.com/sanflow/sanflow/examples/internal/clitest"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/file/store"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/graphkernel"
	"github.com/sanflow/sanflow/operators/count"
	"github.com/sanflow/sanflow/sinks/choose"
)

// asCommand is set for a process of the test binary that is the command.
const asCommand = "BENCHMARK_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	debug.SetGCPercent(400) // many small models are learned: a tenth of the time would go to the collector
	clitest.Main(m)
}

func asProcess(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	return cmd
}

// small writes a TU collection of n paths and n stars of 4 to 6 nodes, of which
// some have the label of the other class; graph 0 has no node.
func small(t *testing.T, name string, n int) string {
	t.Helper()
	var edges, indicator, labels, classes strings.Builder
	fmt.Fprintln(&classes, 0)
	first := 1
	for g := range 2 * n {
		size := 4 + g%3
		for v := range size {
			fmt.Fprintln(&indicator, g+2)
			fmt.Fprintln(&labels, v%2)
			if v > 0 {
				from := first
				if g%2 == 0 {
					from = first + v - 1
				}
				fmt.Fprintf(&edges, "%d, %d\n%d, %d\n", from, first+v, first+v, from)
			}
		}
		first += size
		class := g % 2
		if g%7 == 0 {
			class = 1 - class
		}
		fmt.Fprintln(&classes, class)
	}
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for suffix, text := range map[string]string{
		"A": edges.String(), "graph_indicator": indicator.String(), "graph_labels": classes.String(), "node_labels": labels.String(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name+"_"+suffix+".txt"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// benchmark runs the command and returns its JSON object without times.
func benchmark(t *testing.T, args ...string) report {
	t.Helper()
	r := clitest.JSON[report](t, run, args...)
	for _, one := range r.Cells {
		if one.Seconds < 0 || one.CPU < 0 {
			t.Errorf("%+v", one)
		}
		one.Seconds, one.CPU = 0, 0
	}
	return r
}

const cheap = "majority,size,labels,rw,wl,online"

// The cells are the same at any number of workers, and what they say of
// themselves agrees.
func TestWorkersDoNotMatter(t *testing.T) {
	defer leak.VerifyNone(t)
	data, repeats := []string{small(t, "MUTAG", 9), small(t, "SMALL", 12)}, 2
	if os.Getenv("SANFLOW_LONG") == "" {
		data, repeats = data[:1], 1 // a fourth of the work
	}
	args := []string{"-data", strings.Join(data, ","), "-systems", cheap + ",dgk,k5,best,best-wl", "-folds", "3", "-repeats", strconv.Itoa(repeats)}
	r := benchmark(t, append(args, "-workers", "1")...)
	if again := benchmark(t, append(args, "-workers", "3")...); !reflect.DeepEqual(r, again) {
		t.Errorf("3 workers: other cells")
	}
	if len(r.Cells) != len(data)*len(strings.Split(cheap+",dgk,k5,best,best-wl", ",")) || len(r.Collections) != len(data) || r.Collections[0].Graphs != 19 {
		t.Fatalf("%d cells, %+v", len(r.Cells), r.Collections)
	}
	best := map[string]float64{}
	for _, one := range r.Cells {
		if one.Status != done || len(one.Folds) != 3*repeats || len(one.PaperFold) != 3*repeats {
			t.Fatalf("%+v", one)
		}
		mean, std := stat.MeanStdDev(one.Folds, nil)
		if math.Abs(*one.Nested-mean) > 1e-9 || math.Abs(*one.Std-std) > 1e-9 || *one.Paper < 0 || *one.Paper > 100 || *one.BehindSE < 0 {
			t.Errorf("%+v", one)
		}
		best[one.Dataset] = max(best[one.Dataset], mean)
		// The name decides what stands beside it.
		figured := one.Dataset == "MUTAG" && slices.Contains([]string{"wl", "rw", "k5"}, one.System)
		if (one.Figure != nil) != figured || figured && one.System == "wl" && (*one.Figure != 80.72 || *one.Spread != 3) {
			t.Errorf("%s on %s: the paper's figure %v", one.System, one.Dataset, one.Figure)
		}
	}
	for _, one := range r.Cells {
		if got := best[one.Dataset] - *one.Nested; math.Abs(got-*one.Behind) > 1e-9 {
			t.Errorf("%s on %s is %v behind, want %v", one.System, one.Dataset, *one.Behind, got)
		}
	}
}

// Killed at some moments and resumed, a run has the cells of one in one go; its
// picture can be made of what is kept.
func TestKillAndResume(t *testing.T) {
	data := small(t, "SMALL", 12)
	args := []string{"-data", data, "-systems", cheap, "-folds", "3", "-repeats", "2", "-workers", "2"}
	want := benchmark(t, args...)
	dir := filepath.Join(t.TempDir(), "run")
	args = append(args, "-checkpoint", dir, "-resume")
	kills := 0
	for wait := time.Duration(0); ; wait += 20 * time.Millisecond {
		cmd := asProcess(args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		before := kept0(dir)
		for deadline := time.Now().Add(20 * time.Second); kept0(dir) == before && before < 6 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(wait)
		if kills < 4 {
			cmd.Process.Kill()
		}
		if err := cmd.Wait(); err == nil {
			break
		}
		kills++
		if kills > 10 {
			t.Fatal("it does not end")
		}
	}
	// The files are the same, byte by byte, but for the times.
	var texts [2]string
	out := filepath.Join(t.TempDir(), "out.json")
	for i, args := range [][]string{args[:len(args)-3], args} {
		if err := run(context.Background(), slices.Concat(args, []string{"-json", out})); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = regexp.MustCompile(`"(cpu_)?seconds": [^,]*`).ReplaceAllString(string(content), "")
	}
	if texts[0] != texts[1] {
		t.Errorf("after %d kills:\n%s\nwant\n%s", kills, texts[1], texts[0])
	}
	picture := filepath.Join(t.TempDir(), "p.svg")
	if got := benchmark(t, append(args, "-out", picture)...); !reflect.DeepEqual(got, want) {
		t.Errorf("after %d kills: other cells", kills)
	}
	if text, err := os.ReadFile(picture); err != nil || !strings.Contains(string(text), "one standard deviation of the folds") {
		t.Errorf("%.200s (%v)", text, err)
	}
}

// A cell is kept for what its system was.
func TestKeptFor(t *testing.T) {
	clitest.Silence(t)
	args := []string{"-data", small(t, "SMALL", 5), "-systems", "labels", "-folds", "2", "-repeats", "1", "-checkpoint", t.TempDir(), "-resume"}
	first := benchmark(t, args...)
	path := filepath.Join(args[len(args)-2], "SMALL.labels.json")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(string(content), `"nested": `, `"nested": 1`, 1)
	for _, test := range []struct {
		was, is string
		again   bool
	}{
		{`"of_system": "`, `"of_system": "`, false}, // it is believed
		{`"of_system": "svm 3, C`, `"of_system": "svm, C`, true},
		{`"of_system": `, `"of_other": `, true}, // of before it was kept
	} {
		if !strings.Contains(other, test.was) {
			t.Fatalf("no %s in %s", test.was, other)
		}
		if err := os.WriteFile(path, sign(strings.Replace(other, test.was, test.is, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := benchmark(t, args...); *got.Cells[0].Nested == *first.Cells[0].Nested != test.again {
			t.Errorf("%s for %s: %v %% after %v %%", test.is, test.was, *got.Cells[0].Nested, *first.Cells[0].Nested)
		}
	}

	// What learns by epochs is kept for these too, of which a network has the fewer the
	// more graphs there are.
	few, many := &collection{Collection: &choose.Collection{Class: make([]int32, 9)}}, &collection{Collection: &choose.Collection{Class: make([]int32, 9999)}}
	for name, parts := range map[string][]string{
		"best":       {"words: ", "training ", "50 epochs", "patience "},
		"best-heads": {"words: ", "training ", "50 epochs"},
		"k10e":       {"k:10", "edges:true", "training ", "50 epochs", "batches"},
		"online":     {"training ", "20 epochs"},
	} {
		is := find(name).on(few)
		for _, part := range parts {
			if !strings.Contains(is, part) {
				t.Errorf("%s is %q, without %q", name, is, part)
			}
		}
		if same := is == find(name).on(many); same != (name != "k10e") {
			t.Errorf("%s is %q, of many graphs %q", name, is, find(name).on(many))
		}
	}
}

// A cell in which a bit is flipped is not believed, and a run has its directory for
// itself.
func TestDamagedCell(t *testing.T) {
	clitest.Silence(t)
	dir := t.TempDir()
	args := []string{"-data", small(t, "SMALL", 5), "-systems", "majority", "-folds", "2", "-repeats", "1", "-checkpoint", dir, "-resume"}
	if err := run(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"SMALL.majority.json", "run.json"} {
		path := filepath.Join(dir, name)
		flipBits(t, path, func(what string) {
			if err := run(context.Background(), args); err == nil || !strings.Contains(err.Error(), "-resume: "+path+" is damaged") {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		})
	}
	held, err := store.Open(nil, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := run(context.Background(), args); !errors.Is(err, file.ErrHeld) {
		t.Errorf("two runs: %v, want %v", err, file.ErrHeld)
	}
}

// kept0 counts the cells that are kept.
func kept0(dir string) int {
	files, _ := filepath.Glob(filepath.Join(dir, "SMALL.*.json"))
	return len(files)
}

// Which cells fail is told at the end, beside those that do not.
func TestCellErrors(t *testing.T) {
	clitest.Silence(t)
	defer func(old []*system) { systems = old }(systems)
	systems = append(systems[:1:1], kernel("odd", "", []variant{{"euclid", "labels: euclid", func(ctx context.Context, _ *kernels) (*graphkernel.Gram, error) {
		return graphkernel.GramOf(ctx, new(nn.Counts), "euclid", 1)
	}}}))
	out := filepath.Join(t.TempDir(), "out.json")
	err := run(context.Background(), []string{"-data", small(t, "SMALL", 5), "-systems", "all", "-folds", "2", "-repeats", "1", "-json", out})
	if err == nil || !strings.Contains(err.Error(), "odd on SMALL") || !strings.Contains(err.Error(), "euclid") {
		t.Errorf("%v", err)
	}
	if text, err := os.ReadFile(out); err != nil || !strings.Contains(string(text), `"status": "done"`) || !strings.Contains(string(text), `"status": "error: `) {
		t.Errorf("%s (%v)", text, err)
	}
}

// A collection that cannot be read is found before the work on those before it.
func TestDataIsReadFirst(t *testing.T) {
	clitest.Silence(t)
	good, dir := small(t, "SMALL", 4), t.TempDir()
	for _, other := range []string{filepath.Join(dir, "nowhere"), small(t, "SMALL", 5), small(t, "FEW", 1)} {
		err := run(context.Background(), []string{
			"-data", good + "," + other, "-systems", "majority", "-folds", "5", "-repeats", "1", "-checkpoint", dir, "-resume",
		})
		if err == nil {
			t.Errorf("%s is read", other)
		}
		if _, err := os.Stat(filepath.Join(dir, "SMALL.majority.json")); err == nil {
			t.Fatalf("work was done before %s was looked at", other)
		}
	}
}

func TestErrors(t *testing.T) {
	clitest.Silence(t)
	data := small(t, "SMALL", 4)
	one := small(t, "ONE", 4)
	if err := os.WriteFile(filepath.Join(one, "ONE_graph_labels.txt"), []byte(strings.Repeat("1\n", 9)), 0o644); err != nil {
		t.Fatal(err)
	}
	none := small(t, "NONE", 4)
	os.Remove(filepath.Join(none, "NONE_graph_labels.txt"))
	// A collection that is cut short, and what is no zip at all.
	cut, text := filepath.Join(t.TempDir(), "cut.zip"), filepath.Join(t.TempDir(), "text.zip")
	var whole bytes.Buffer
	z := zip.NewWriter(&whole)
	if err := errors.Join(z.AddFS(os.DirFS(data)), z.Close(), os.WriteFile(cut, whole.Bytes()[:whole.Len()/2], 0o600), os.WriteFile(text, []byte("hello\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	two := small(t, "TWO", 1)
	for suffix, text := range map[string]string{"A": "1, 2\n2, 1\n", "graph_indicator": "1\n1\n2\n", "graph_labels": "0\n1\n", "node_labels": "0\n0\n0\n"} {
		if err := os.WriteFile(filepath.Join(two, "TWO_"+suffix+".txt"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	three := small(t, "THREE", 1)
	for suffix, text := range map[string]string{"A": "1, 2\n2, 1\n", "graph_indicator": "1\n1\n2\n3\n", "graph_labels": "0\n1\n0\n", "node_labels": "0\n0\n0\n1\n"} {
		if err := os.WriteFile(filepath.Join(three, "THREE_"+suffix+".txt"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	held := t.TempDir()
	// What comes to its end before the first cell leaves no run behind.
	if err := run(context.Background(), []string{"-data", filepath.Join(held, "nowhere"), "-checkpoint", held}); err == nil {
		t.Error("a collection that is nowhere is read")
	}
	base := []string{"-data", data, "-systems", "majority", "-folds", "2", "-repeats", "1", "-checkpoint", held}
	if err := run(context.Background(), base); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-systems", "wl,gin"}, `-systems has "gin", want some of majority size labels`},
		{[]string{"-systems", "best-gin"}, `-systems has "best-gin", want some of majority size labels sp rw gk dgk wl words pslr k5 k10 k10e online best train trees best+trees forest best+forest, or all, or best-X with X one of size labels wl`},
		{[]string{"-systems", "wl,,size"}, "nothing between two commas"},
		{[]string{"-systems", "wl,wl"}, "-systems names wl twice"},
		{[]string{"-protocol", "best"}, "want nested or paper"},
		{[]string{"-folds", "1"}, "-folds is 1"},
		{[]string{"-repeats", "0"}, "-repeats is 0"},
		{[]string{"-repeats", "1000000"}, "-repeats is 1000000 and -folds 10, want a product of at most 1000000"},
		{[]string{"-json", "x.svg", "-out", "./x.svg"}, "-out is the file of -json, want another"},
		{[]string{"-data", three, "-folds", "3", "-inner"}, "THREE: 3 folds of 3 graphs leave 1 to learn from"},
		{[]string{"-resume"}, "-resume needs the directory of the run"},
		{[]string{"-out", "x.gif"}, ".svg or .png"},
		{[]string{"-data", data, "-folds", "10"}, "10 folds of 9 graphs leave some empty"},
		{[]string{"-data", one}, "all 9 graphs are of class 1; there is nothing to classify"},
		{[]string{"-data", none}, "NONE_graph_labels.txt: file does not exist"},
		{[]string{"-data", cut}, "cut.zip: zip: not a valid zip file: damaged, cut short, or something else"},
		{[]string{"-data", text}, "text.zip: zip: not a valid zip file: damaged, cut short, or something else"},
		{[]string{"-data", filepath.Join(data, "nowhere")}, "neither a file or directory nor the name of a collection"},
		{[]string{"-data", two, "-folds", "2"}, "TWO: 2 folds of 2 graphs leave 1 to learn from, and labels chooses on a part of those"},
		{[]string{"-data", two}, "TWO: 10 folds of 2 graphs leave some empty; want -folds of at most the number of graphs"},
		{[]string{"-folds", "x"}, `invalid value "x" for flag -folds: want a whole number`},
		{[]string{"-checkpoint", text}, "-checkpoint: mkdir"},
		{base, "holds a run; resume it by -resume"},
		{append(base[:len(base):len(base)], "-resume", "-seed", "2"), "is of a run with -seed 1, this one has -seed 2"},
		{append(base[:len(base):len(base)], "-resume", "-folds", "3"), "is of a run with -folds 2, this one has -folds 3"},
		{append(base[:len(base):len(base)], "-resume", "-repeats", "2"), "is of a run with -repeats 1, this one has -repeats 2"},
		{append(base[:len(base):len(base)], "-resume", "-data", small(t, "SMALL", 5)), "is of other graphs"},
	} {
		if err := run(context.Background(), test.args); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: %v, want %q", test.args, err, test.want)
		}
	}
	path := filepath.Join(held, "SMALL.majority.json")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content[:len(content)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(context.Background(), append(base, "-resume")); err == nil || !strings.Contains(err.Error(), "SMALL.majority.json is damaged") {
		t.Errorf("half a cell: %v", err)
	}
	for _, damage := range []struct{ old, with string }{{`"nested": 55`, `"nested": null`}, {`"nested_folds"`, `"folds"`}} {
		lame := strings.Replace(string(content), damage.old, damage.with, 1)
		if err := os.WriteFile(path, sign(lame), 0o600); err != nil || lame == string(content) {
			t.Fatal(err, string(content))
		}
		if err := run(context.Background(), append(base, "-resume")); err == nil || !strings.Contains(err.Error(), "SMALL.majority.json has not the results of 2 folds") {
			t.Errorf("a cell with %s: %v", damage.with, err)
		}
	}
}

// A class of a single graph is not learned where it is tested, and a fold's test
// lacks the others: that counts as wrong, and is no error.
func TestRareClass(t *testing.T) {
	data := small(t, "RARE", 6)
	path := filepath.Join(data, "RARE_graph_labels.txt")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append([]byte("2"), text[1:]...), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, one := range benchmark(t, "-data", data, "-systems", cheap, "-folds", "4", "-repeats", "1").Cells {
		if one.Status != done || len(one.Folds) != 4 {
			t.Errorf("%+v", one)
		}
	}
}

// A run that is interrupted says how it goes on, and one that did says which cells were
// kept.
func TestInterrupt(t *testing.T) {
	defer leak.VerifyNone(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(30*time.Millisecond, func() { cancel(cli.ErrInterrupted) })
	if err := run(ctx, []string{"-repeats", "1000"}); !errors.Is(err, cli.ErrInterrupted) {
		t.Errorf("%v, want %v", err, cli.ErrInterrupted)
	}
	dir := t.TempDir()
	args := []string{"-data", small(t, "SMALL", 5), "-systems", "majority,labels", "-folds", "2", "-repeats", "1", "-workers", "1"}
	said := func(ctx context.Context, args ...string) string {
		t.Helper()
		old, oldErr := os.Stdout, os.Stderr
		file, err := os.Create(filepath.Join(t.TempDir(), "said"))
		if err != nil {
			t.Fatal(err)
		}
		os.Stdout, os.Stderr = file, file
		_ = run(ctx, args)
		os.Stdout, os.Stderr = old, oldErr
		file.Close()
		text, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	ended, stop := context.WithCancelCause(context.Background())
	stop(cli.ErrInterrupted)
	bg, kept := context.Background(), []string{"-checkpoint", dir, "-resume"}
	for _, test := range []struct {
		ctx  context.Context
		more []string
		want string
		not  string
	}{
		{ended, nil, "no cell is kept; -checkpoint DIR keeps cells that are done, and -resume -checkpoint DIR then does the others", "kept in"},
		{ended, kept, "the same command with -resume -checkpoint " + dir + " does the others", "kept in"},
		{bg, kept, "SMALL labels: nested", "does the others"},
		{bg, kept, " (kept in " + dir + ")", "does the others"},
	} {
		if text := said(test.ctx, append(args[:len(args):len(args)], test.more...)...); !strings.Contains(text, test.want) || strings.Contains(text, test.not) {
			t.Errorf("%v: want %q and not %q:\n%s", test.more, test.want, test.not, text)
		}
	}
}

// The ablations are named by what they leave out, whatever its place.
func TestAblations(t *testing.T) {
	all := count.Standard()
	for _, c := range all {
		name := ingredient(c)
		s := find(best + "-" + name)
		if name == "" || s == nil {
			t.Errorf("%v has no name to be left out by", c)
			continue
		}
		rest := slices.DeleteFunc(count.Standard(), func(other count.Counter) bool { return reflect.DeepEqual(other, c) })
		if want := fmt.Sprintf("words: %v", rest); len(rest) != len(all)-1 || s.identity != want {
			t.Errorf("%s is %q, want %q", s.name, s.identity, want)
		}
		if !strings.Contains(usage(), " "+name+" ") {
			t.Errorf("%s is not listed", s.name)
		}
	}
	if got := leftOut(); len(got) != len(all)+1 || got[len(all)] != "heads" || len(slices.Compact(slices.Sorted(slices.Values(got)))) != len(got) {
		t.Errorf("%q are left out", got)
	}
}

func TestSeconds(t *testing.T) {
	for s, want := range map[float64]string{0: "0.0", .04: "0.0", 3.14159: "3.1", 9.97: "10", 42.4: "42", 1234.5: "1234", 1e6: "1000000"} {
		if got := seconds(s); got != want {
			t.Errorf("%v is %s, want %s", s, got, want)
		}
	}
}

// A task is named by -task, in either form, and what is none is refused.
func TestTasks(t *testing.T) {
	for args, want := range map[string]string{
		"": "", "-k 5": "", "-task nodes": "nodes", "--task=links -k 5": "links", "-k 5 -task labelings": "labelings", "-task": "",
	} {
		if got := taskOf(strings.Fields(args)); got != want {
			t.Errorf("%q is of the task %q, want %q", args, got, want)
		}
	}
	for args, want := range map[string]string{
		"-task nodse":                                    `-task is "nodse", want graphs, nodes, links or labelings`,
		"-task links -json same.json -out y":             "flag provided but not defined: -out",
		"-task labelings -pairs 20 -systems majority":    "flag provided but not defined: -systems",
		"-task graphs -systems majority -labelings wl,x": "flag provided but not defined: -labelings",
	} {
		if err := run(t.Context(), strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}

// Beside its fields each report has the figures of its systems as cells.
func TestCellsOfTasks(t *testing.T) {
	for args, want := range map[string][]string{
		"-task nodes -systems linear":                  {"linear", "majority"},
		"-task links -repeats 1 -systems linear":       {"model", "cn", "aa", "katz", "pa"},
		"-task labelings -pairs 20 -labelings wl -k 3": {"wl"},
	} {
		r := clitest.JSON[struct{ Cells []figureCell }](t, run, strings.Fields(args)...)
		var got []string
		for _, one := range r.Cells {
			if got = append(got, one.System); one.Value == nil || one.Dataset == "" || one.Measure == "" {
				t.Errorf("%s: %+v", args, one)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: systems %v, want %v", args, got, want)
		}
	}
}
