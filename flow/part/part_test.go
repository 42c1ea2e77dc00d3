package part_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/flowtest"
	"github.com/sanflow/sanflow/flow/manifest"
	"github.com/sanflow/sanflow/flow/part"
	"github.com/sanflow/sanflow/internal/filetest"
	"github.com/sanflow/sanflow/internal/leak"
	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/operators"
	"github.com/sanflow/sanflow/operators/labeling"
	"github.com/sanflow/sanflow/sinks"
	out "github.com/sanflow/sanflow/sinks/parquet"
	"github.com/sanflow/sanflow/sources"
	in "github.com/sanflow/sanflow/sources/parquet"
)

const graphs = 23

var recipe = operators.Recipe{
	operators.Channel{By: labeling.NormalizedDegree}, operators.Select{W: 5}, operators.Assemble{K: 4}, operators.Normalize{},
}

// job makes fields of generated graphs in n parts.
func job(b file.Bucket, n int) *part.Job {
	src := sources.Families{Graphs: graphs, Rows: 5}
	return &part.Job{
		Plan: part.Plan{Recipe: fmt.Sprint(recipe), Input: "families of seed 0", Parts: part.Cut(graphs, n)},
		Out:  b,
		Pipeline: func(in part.Input) flow.Pipeline {
			return recipe.Onto(flow.From(part.Rows{Source: src, Input: in}))
		},
		Sink: func(w io.Writer) flow.Sink { return out.Sink{W: w} },
	}
}

func read(o file.Object) flow.Source { return in.Source{ReaderAt: o, Size: o.Size()} }

// files returns the files of a directory by name, hidden ones too.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(b)
	}
	return all
}

// whole returns the files of a run without trouble.
func whole(t *testing.T, n int) map[string]string {
	t.Helper()
	dir := t.TempDir()
	if err := job(file.Dir{Path: dir}, n).Run(t.Context(), part.Shard{}, nil); err != nil {
		t.Fatal(err)
	}
	return files(t, dir)
}

func rows(t *testing.T, src flow.Source) (rows []string) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	r, err := src.Open(t.Context(), mem)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		rec, err := r.Next(t.Context())
		if err == io.EOF {
			return rows
		}
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, flowtest.Rows(rec)...)
		rec.Release()
	}
}

func TestCut(t *testing.T) {
	for _, rows := range []int64{0, 1, 2, 7, 100, 1 << 40} {
		for _, n := range []int{-1, 0, 1, 2, 3, 7, 8, 99} {
			parts, at := part.Cut(rows, n), int64(0)
			for _, p := range parts {
				if p.From != at || p.To < p.From || p.To-p.From > rows/int64(len(parts))+1 || p.To == p.From && rows > 0 {
					t.Errorf("%d rows in %d: %v", rows, n, parts)
				}
				at = p.To
			}
			if at != rows || len(parts) > max(n, 1) {
				t.Errorf("%d rows in %d: %v", rows, n, parts)
			}
		}
	}
}

// Any range of rows of a source, however its records are cut, is what a slice of all rows is.
func TestRows(t *testing.T) {
	defer leak.VerifyNone(t)
	for _, size := range []int{1, 4, 64} {
		src := sources.Families{Graphs: 9, Rows: size}
		all := rows(t, src)
		for from := range 10 {
			for to := from; to <= 9; to++ {
				want := all[from:to]
				if to == 0 {
					want = all // To 0 is the end
				}
				if got := rows(t, part.Rows{Source: src, Input: part.Input{From: int64(from), To: int64(to)}}); !slices.Equal(got, want) {
					t.Errorf("rows %d to %d: %d rows, want %d", from, to, len(got), len(want))
				}
			}
		}
		r, err := part.Rows{Source: src, Input: part.Input{From: 3, To: 10}}.Open(t.Context(), memory.DefaultAllocator)
		for err == nil {
			_, err = r.Next(t.Context())
		}
		if err == io.EOF || !strings.Contains(err.Error(), "has 9 rows, and the part is rows 3 to 10") {
			t.Errorf("a source that is too short: %v", err)
		}
	}
}

// The parts hold the rows of one pipeline, in order; a directory of them is read as the output of
// any sink is; and their rows do not depend on how many parts there are.
func TestRun(t *testing.T) {
	defer leak.VerifyNone(t)
	one := filepath.Join(t.TempDir(), "one.parquet")
	if err := recipe.Onto(flow.From(sources.Families{Graphs: graphs, Rows: 5})).To(out.Sink{Path: one}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := rows(t, in.Source{Path: one})
	for _, n := range []int{1, 2, 7, 100} {
		dir := t.TempDir()
		made := 0
		if err := job(file.Dir{Path: dir}, n).Run(t.Context(), part.Shard{}, func(i int, f manifest.File, new bool) {
			if !new || i != made || f.Bytes == 0 {
				t.Errorf("part %d: %d %+v %t", made, i, f, new)
			}
			made++
		}); err != nil {
			t.Fatal(err)
		}
		if made != min(n, graphs) {
			t.Errorf("%d parts were made, want %d", made, min(n, graphs))
		}
		if got := rows(t, in.Source{Path: dir}); !slices.Equal(got, want) {
			t.Errorf("%d parts have %d rows, other ones than the %d of one pipeline", n, len(got), len(want))
		}
		m, err := manifest.Read(dir)
		if err != nil || m.Rows != graphs || len(m.Files) != made {
			t.Errorf("the manifest: %+v, %v", m, err)
		}
	}
}

// However it fails and whenever it is killed, no part is wrong, and the next run makes what is
// missing: the directory is then that of a run without trouble.
func TestKilled(t *testing.T) {
	race.Skip(t)
	job := func(b file.Bucket) *part.Job {
		j := job(b, 2)
		j.Pipeline = func(in part.Input) flow.Pipeline { // small and quick: there are some 300 runs
			return flow.From(part.Rows{Source: sources.Families{Graphs: graphs}, Input: part.Input{From: in.From / 8, To: in.To / 8}})
		}
		return j
	}
	clean := t.TempDir()
	if err := job(file.Dir{Path: clean}).Run(t.Context(), part.Shard{}, nil); err != nil {
		t.Fatal(err)
	}
	want := files(t, clean)
	filetest.Torture(t, func(string) {}, func(d *filetest.Disk, dir string) error {
		return job(file.Dir{Path: dir, FS: d}).Run(t.Context(), part.Shard{}, nil)
	}, func(t *testing.T, o filetest.Outcome) {
		for name, text := range files(t, o.Dir) {
			if strings.HasPrefix(name, "part-") && text != want[name] {
				t.Errorf("%s: %s is wrong", o.What, name)
			}
		}
		b := file.Dir{Path: o.Dir, FS: filetest.New(t, o.Dir)} // which syncs no disk
		if _, missing, err := part.Verify(t.Context(), b); o.Done && (len(missing) > 0 || err != nil) {
			t.Errorf("%s: it was done, and %v is missing: %v", o.What, missing, err)
		}
		if err := job(b).Run(t.Context(), part.Shard{}, nil); err != nil {
			t.Errorf("%s: the next run: %v", o.What, err)
		}
		if got := files(t, o.Dir); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", o.What, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		}
	})
}

// Runs at the same time, and runs of shards in any order, make the same files.
func TestTwoRuns(t *testing.T) {
	defer leak.VerifyNone(t)
	want := whole(t, 6)
	for _, shards := range [][]part.Shard{{{}, {}, {}}, {{2, 3}, {0, 3}, {1, 3}}, {{0, 9}, {1, 9}, {2, 9}, {3, 9}, {4, 9}, {5, 9}, {8, 9}, {7, 9}, {6, 9}}} {
		dir := t.TempDir()
		var group sync.WaitGroup
		for _, s := range shards {
			group.Go(func() {
				if err := job(file.Dir{Path: dir}, 6).Run(t.Context(), s, nil); err != nil {
					t.Errorf("%v: %v", s, err)
				}
			})
		}
		group.Wait()
		if got := files(t, dir); !maps.Equal(got, want) {
			t.Errorf("%v: %v, want %v", shards, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		}
	}
	for _, s := range []part.Shard{{-1, 2}, {2, 2}, {0, -1}} {
		if err := job(file.Dir{Path: t.TempDir()}, 6).Run(t.Context(), s, nil); err == nil {
			t.Errorf("the shard %v is accepted", s)
		}
	}
}

// What is cut, changed or removed is noticed, and only that is made again.
func TestDamage(t *testing.T) {
	defer leak.VerifyNone(t)
	want := whole(t, 4)
	const name = "part-00002.parquet"
	for what, damage := range map[string]func(path string) error{
		"cut":               func(path string) error { return os.Truncate(path, 100) },
		"empty":             func(path string) error { return os.Truncate(path, 0) },
		"a bit":             func(path string) error { return flip(path) },
		"gone":              os.Remove,
		"without its note":  func(path string) error { return os.Remove(filepath.Join(filepath.Dir(path), "_done-00002.json")) },
		"a bit of its note": func(path string) error { return breakNote(path, func(b []byte) []byte { b[0] ^= 4; return b }) },
		"its note cut":      func(path string) error { return breakNote(path, func(b []byte) []byte { return b[:len(b)/2] }) },
		"its note too long": func(path string) error {
			return breakNote(path, func(b []byte) []byte { return append(b, make([]byte, 65<<20)...) })
		},
		"another part": func(path string) error {
			return os.WriteFile(path, []byte(want["part-00001.parquet"]), 0o644)
		},
	} {
		dir := t.TempDir()
		j := job(file.Dir{Path: dir}, 4)
		if err := j.Run(t.Context(), part.Shard{}, nil); err != nil {
			t.Fatal(err)
		}
		if err := damage(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if _, missing, err := part.Verify(t.Context(), j.Out); !slices.Equal(missing, []int{2}) || err != nil {
			t.Errorf("%s: %v is missing, want [2]; %v", what, missing, err)
		}
		var made []int
		if err := j.Run(t.Context(), part.Shard{}, func(i int, _ manifest.File, new bool) {
			if new {
				made = append(made, i)
			}
		}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(made, []int{2}) || !maps.Equal(files(t, dir), want) {
			t.Errorf("%s: %v was made again, want [2] and the same files", what, made)
		}
	}
}

func breakNote(path string, how func([]byte) []byte) error {
	note := filepath.Join(filepath.Dir(path), "_done-00002.json")
	b, err := os.ReadFile(note)
	if err != nil {
		return err
	}
	return os.WriteFile(note, how(b), 0o644)
}

func flip(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	b[len(b)/2] ^= 4
	return os.WriteFile(path, b, 0o644)
}

// Another plan is refused in one line, and nothing is touched.
func TestOtherPlan(t *testing.T) {
	defer leak.VerifyNone(t)
	dir := t.TempDir()
	if err := job(file.Dir{Path: dir}, 4).Run(t.Context(), part.Shard{0, 2}, nil); err != nil {
		t.Fatal(err)
	}
	was := files(t, dir)
	for want, change := range map[string]func(j *part.Job){
		"plan of another recipe":            func(j *part.Job) { j.Plan.Recipe += "'" },
		"the input has changed":             func(j *part.Job) { j.Plan.Input = "another" },
		"plan of 4 parts, and this run has": func(j *part.Job) { j.Plan.Parts = part.Cut(graphs, 5) },
		"plan of other parts":               func(j *part.Job) { j.Plan.Parts = part.Cut(graphs-1, 4) },
		"or another format":                 func(j *part.Job) { j.Plan.Ext = ".arrow" },
		"version 2":                         func(j *part.Job) { j.Plan.Version = 2 },
		"0 parts":                           func(j *part.Job) { j.Plan.Parts = nil },
		"rows 5 to 3":                       func(j *part.Job) { j.Plan.Parts = []part.Input{{From: 5, To: 3}} },
		"no Recipe":                         func(j *part.Job) { j.Plan.Recipe = "" },
	} {
		j := job(file.Dir{Path: dir}, 4)
		change(j)
		err := j.Run(t.Context(), part.Shard{}, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, want)
		}
	}
	// A plan that a later version wrote, or no program did.
	for text, want := range map[string]string{
		`{"version":2}`: "the plan has version 2, and this program reads version 1", `{`: "unexpected EOF", `[]`: "cannot unmarshal",
	} {
		other := t.TempDir()
		if err := os.WriteFile(filepath.Join(other, manifest.Plan), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := job(file.Dir{Path: other}, 4).Run(t.Context(), part.Shard{}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	// The output of a sink is not overwritten.
	other := t.TempDir()
	if err := recipe.Onto(flow.From(sources.Families{Graphs: 3})).To(out.Sink{Dir: other}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := job(file.Dir{Path: other}, 4).Run(t.Context(), part.Shard{}, nil); err == nil || !strings.Contains(err.Error(), "which is of no plan") {
		t.Errorf("the output of a sink: %v", err)
	}
	// Nor does a sink overwrite parts.
	err := recipe.Onto(flow.From(sources.Families{Graphs: 3})).To(out.Sink{Dir: dir}).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "it holds the parts of a plan") {
		t.Errorf("a sink into a directory of parts: %v", err)
	}
	if !maps.Equal(files(t, dir), was) {
		t.Error("a run that was refused has changed files")
	}
	if err := job(file.Dir{Path: dir}, 4).Run(t.Context(), part.Shard{1, 2}, nil); err != nil {
		t.Error(err)
	}
}

// A pipeline that fails leaves no part, and its error names the part.
func TestFails(t *testing.T) {
	defer leak.VerifyNone(t)
	dir := t.TempDir()
	j, broken := job(file.Dir{Path: dir}, 4), errors.New("broken")
	make := j.Pipeline
	j.Pipeline = func(in part.Input) flow.Pipeline {
		if in.From > 0 {
			return flow.From(failing{broken})
		}
		return make(in)
	}
	err := j.Run(t.Context(), part.Shard{}, nil)
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "part 1: ") {
		t.Errorf("%v", err)
	}
	if got := slices.Sorted(maps.Keys(files(t, dir))); !slices.Equal(got, []string{"_done-00000.json", "_plan.json", "part-00000.parquet"}) {
		t.Errorf("there is %v", got)
	}
	if _, err := j.Finish(t.Context()); !errors.Is(err, part.ErrAbsent) {
		t.Errorf("%v, want that a part is absent", err)
	}
	if err := job(file.Dir{Path: dir}, 4).Run(t.Context(), part.Shard{}, nil); err != nil || !maps.Equal(files(t, dir), whole(t, 4)) {
		t.Errorf("the next run: %v", err)
	}
}

// A disk that is full, from any operation on, gives one line that names a file, and leaves what is
// whole: the next run makes the rest.
func TestFullDisk(t *testing.T) {
	want, full := whole(t, 4), 0
	for n := 0; ; n += 7 {
		dir := t.TempDir()
		disk := filetest.New(t, dir)
		disk.Fail = func(i int, op filetest.Op) error {
			if i >= n && (op.Kind == filetest.Create || op.Kind == filetest.Write || op.Kind == filetest.Mkdir) {
				return syscall.ENOSPC
			}
			return nil
		}
		err := job(file.Dir{Path: dir, FS: disk}, 4).Run(t.Context(), part.Shard{}, nil)
		if err == nil {
			break
		}
		full++
		if text := err.Error(); !errors.Is(err, syscall.ENOSPC) || strings.Contains(text, "\n") || !strings.Contains(text, "cannot write "+dir) {
			t.Errorf("full from operation %d on: %q", n, text)
		}
		for name, content := range files(t, dir) {
			if name[0] != '.' && content != want[name] {
				t.Errorf("full from operation %d on: %s is damaged", n, name)
			}
		}
		if err := job(file.Dir{Path: dir}, 4).Run(t.Context(), part.Shard{}, nil); err != nil || !maps.Equal(files(t, dir), want) {
			t.Errorf("full from operation %d on: the next run: %v", n, err)
		}
	}
	if full < 5 {
		t.Errorf("the disk was full %d times", full)
	}
}

type failing struct{ err error }

func (f failing) Open(context.Context, memory.Allocator) (flow.Reader, error) { return nil, f.err }

// source is what a trainer reads.
func source(dir string, n int) part.Source {
	return part.Source{Plan: job(nil, n).Plan, From: file.Dir{Path: dir}, Read: read, Poll: time.Millisecond}
}

// The rows of parts come in their order while others make them, in whatever order; each epoch has
// all rows once.
func TestSource(t *testing.T) {
	defer leak.VerifyNone(t)
	dir := t.TempDir()
	j := job(file.Dir{Path: dir}, 5)
	if err := j.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() {
		for _, i := range []int{3, 0, 4, 1, 2} {
			time.Sleep(3 * time.Millisecond)
			if _, err := j.Do(t.Context(), i); err != nil {
				t.Error(err)
			}
		}
	})
	s := source(dir, 5)
	want := rows(t, s)
	group.Wait()
	if _, err := j.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, in.Source{Path: dir}); len(got) != graphs || !slices.Equal(got, want) {
		t.Errorf("%d rows, want %d in the order of the parts", len(want), len(got))
	}
	s.Epochs, s.Seed = 3, 7
	all := rows(t, s)
	if len(all) != 3*graphs || !slices.Equal(all[:graphs], want) || slices.Equal(all[graphs:2*graphs], want) {
		t.Errorf("%d rows of three epochs", len(all))
	}
	slices.Sort(want)
	for e := range 3 {
		if got := slices.Sorted(slices.Values(all[e*graphs : (e+1)*graphs])); !slices.Equal(got, want) {
			t.Errorf("epoch %d has other rows", e)
		}
	}
}

// A model that learns from parts, stopped after every step and resumed, has the bytes of one run;
// the checkpoint names the part.
func TestTrainResumes(t *testing.T) {
	defer leak.VerifyNone(t)
	dir := t.TempDir()
	if err := job(file.Dir{Path: dir}, 5).Run(t.Context(), part.Shard{}, nil); err != nil {
		t.Fatal(err)
	}
	train := func(file string, stop int) ([]byte, error) {
		net := &nn.PSLR{}
		s := source(dir, 5)
		s.Epochs = 2
		steps := 0
		err := flow.From(s).Via(operators.Batch{Size: 4}).To(sinks.Train{
			Net: net, Checkpoint: sinks.Checkpoint{File: file, Every: -1, Resume: file != ""},
			OnStep: func(nn.Result) error {
				if steps++; steps == stop {
					return io.ErrUnexpectedEOF
				}
				return nil
			},
		}).Run(t.Context())
		var b bytes.Buffer
		if err == nil {
			err = net.Save(&b)
		}
		return b.Bytes(), err
	}
	want, err := train("", -1)
	if err != nil {
		t.Fatal(err)
	}
	for _, every := range []int{1, 2, 3} {
		path, stops := filepath.Join(t.TempDir(), "run"), 0
		for {
			got, err := train(path, every+1)
			if err == nil {
				if !bytes.Equal(got, want) {
					t.Errorf("stopped %d times: the model has other bytes", stops)
				}
				break
			}
			if stops++; !errors.Is(err, io.ErrUnexpectedEOF) || stops > 50 {
				t.Fatal(err)
			}
		}
		if stops == 0 {
			t.Error("it was never stopped")
		}
	}
}

// A damaged part is never read: it is an error, or Missing has it made.
func TestSourceDamage(t *testing.T) {
	defer leak.VerifyNone(t)
	dir := t.TempDir()
	j := job(file.Dir{Path: dir}, 3)
	if err := j.Run(t.Context(), part.Shard{}, nil); err != nil {
		t.Fatal(err)
	}
	want := rows(t, source(dir, 3))
	if err := flip(filepath.Join(dir, "part-00001.parquet")); err != nil {
		t.Fatal(err)
	}
	err := flow.From(source(dir, 3)).Run(t.Context())
	if !errors.Is(err, part.ErrDamaged) || !strings.Contains(err.Error(), "part-00001.parquet") {
		t.Errorf("%v, want that part 1 is damaged", err)
	}
	s := source(dir, 3)
	s.Missing = func(ctx context.Context, i int, why error) error {
		if i != 1 || !errors.Is(why, part.ErrDamaged) {
			t.Errorf("part %d: %v", i, why)
		}
		_, err := j.Do(ctx, i)
		return err
	}
	if got := rows(t, s); !slices.Equal(got, want) {
		t.Error("other rows after a part was made again")
	}
	// One waits for what is absent until its context ends.
	if err := os.Remove(filepath.Join(dir, "_done-00002.json")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := flow.From(source(dir, 3)).Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want the end of the context", err)
	}
}
