package now_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.etcd.io/bbolt"

	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn"
	"github.com/sanflow/sanflow/nn/trees"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sinks/now"
)

// copyOf is a model as its file has it.
func copyOf(m nn.Predictor) nn.Saver {
	var file bytes.Buffer
	if err := m.(nn.Saver).Save(&file); err != nil {
		panic(err)
	}
	return must(nn.LoadPredictor(&file))
}

// pupil opens a model for the stored rows, so that what it learns is its own.
func pupil(net nn.Predictor) *choose.OpenHistory {
	rows := set(payments(stored))
	p := must(sinks.NewPredictor(copyOf(net), model().Recipe()))
	return must(must(choose.HistoryOf(p, rows, nil)).OpenRows(p, choose.RowColumns{Time: "time", Class: "class"}))
}

// learning opens a store whose model learns.
func learning(t testing.TB, dir string, net nn.Predictor) (*now.Live, *choose.OpenHistory, func()) {
	t.Helper()
	rows := pupil(net)
	l, err := now.Open(t.Context(), rows, now.Options{Dir: dir, Learn: &now.Learning{}})
	if err != nil {
		t.Fatal(err)
	}
	return l, rows, func() {
		if err := errors.Join(l.Close(), rows.Close()); err != nil {
			t.Error(err)
		}
	}
}

func saved(t testing.TB, l *now.Live) string {
	t.Helper()
	var file bytes.Buffer
	if err := l.Save(&file); err != nil {
		t.Fatal(err)
	}
	return file.String()
}

// A store of a version that did not pack checkpoints goes on.
func TestLearnUnpacked(t *testing.T) {
	defer now.Short()()
	dir := t.TempDir()
	l, _, done := learning(t, dir, model().Net())
	must(l.Post([]byte(strings.Join(lines(120), "\n"))))
	want, position := saved(t, l), l.Position()
	done()
	db := must(bbolt.Open(filepath.Join(dir, "now.db"), 0o600, nil))
	unpacked := 0
	err := db.Update(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error {
			file := b.Get([]byte("model"))
			if file == nil {
				return nil
			}
			unpacked++
			return b.Put([]byte("model"), must(must(zstd.NewReader(nil)).DecodeAll(file, nil)))
		})
	})
	if err = errors.Join(err, db.Close()); err != nil || unpacked != 1 {
		t.Fatal(err, unpacked)
	}
	l, _, done = learning(t, dir, model().Net())
	defer done()
	if l.Position() != position || saved(t, l) != want {
		t.Errorf("position %d, want %d, or another model", l.Position(), position)
	}
}

// same checks that two stores have learned the same: the model, the scores and what answers.
func same(t testing.TB, what string, got, want *now.Live, rows, of *choose.OpenHistory) {
	t.Helper()
	if g, w := got.Stats().Learned, want.Stats().Learned; !reflect.DeepEqual(g, w) {
		t.Fatalf("%s: learned\n%+v, want\n%+v", what, g, w)
	}
	if saved(t, got) != saved(t, want) {
		t.Fatalf("%s: another model", what)
	}
	if g, w := told(t, rows, stored), told(t, of, stored); !slices.Equal(g, w) {
		t.Fatalf("%s: answers\n%v, want\n%v", what, g, w)
	}
}

// What is learned is that of a plain loop: for each class event a cold start with the tables of the events up to it, a stream of the one row, and a step of
// the model. The scores are those of the answers before the steps.
func TestLearnLoop(t *testing.T) {
	race.Skip(t)
	defer now.Short()()
	events := lines(240)
	l, _, done := learning(t, t.TempDir(), model().Net())
	defer done()
	net, classes := copyOf(model().Net()).(nn.Model), model().Classes()
	recipe := model().Recipe()
	var said validation.Answers
	var windows [][]float64
	class := map[string]string{}
	for i, line := range payments(stored) {
		class[fmt.Sprint(i)] = line[strings.LastIndexByte(line, ',')+1:]
	}
	lessons := 0
	for i, line := range events {
		must(l.Post([]byte(line)))
		e := must(now.ParseEvent([]byte(line), choose.AddRow, ""))
		id, is := e.ID, e.Class
		table := after(events[:i+1])
		if e.Kind == choose.AddRow {
			id, is = fmt.Sprint(len(table)-1), choose.TextOf(e.Row["class"])
		}
		was := class[id]
		if class[id] = is; is == "" || is == was {
			continue
		}
		set := set(table)
		h := must(choose.HistoryOf(model(), set, nil))
		index := must(set.IDs.Index())
		r, ok := index.Name(id)
		if !ok {
			t.Fatal(id)
		}
		ask := sinks.Predict{Net: net, Each: func(p sinks.Prediction) error {
			said.Classes, said.Class, said.Probs = 2, append(said.Class, int32(slices.Index(classes, is))), append(said.Probs, p.Probs...)
			return nil
		}}
		one := h.Rows([]int32{r})(recipe)
		if err := errors.Join(one.To(ask).Run(t.Context()), one.To(sinks.Train{Net: net}).Run(t.Context())); err != nil {
			t.Fatal(err)
		}
		if lessons++; said.Rows() == 100 {
			var window []float64
			for _, m := range []validation.Measure{validation.Accuracy, validation.LogLoss, validation.ROC, validation.Precision} {
				positive := slices.Index(classes, nn.MetadataOf(model().Net())["positive"])
				window = append(window, must(m.About(positive).Of(&said)))
			}
			windows, said = append(windows, window), validation.Answers{}
		}
	}
	var want bytes.Buffer
	if err := sinks.Write(&want, net, recipe); err != nil {
		t.Fatal(err)
	}
	if saved(t, l) != want.String() {
		t.Error("the model is not that of a plain loop")
	}
	s := l.Stats().Learned
	if size := l.Stats().Bytes; size > 4<<20 { // two checkpoints, packed
		t.Errorf("the store has %d bytes", size)
	}
	if s.Left != 100-s.Now.Lessons {
		t.Errorf("%d lessons until the next scores, and %d since the last", s.Left, s.Now.Lessons)
	}
	if s.Lessons != int64(lessons) || s.LeftOut != 0 || len(windows) == 0 || len(s.Windows) != len(windows) {
		t.Fatalf("%+v, want %d lessons and %d windows", s, lessons, len(windows))
	}
	for i, w := range s.Windows {
		got := []float64{w.Learner.Accuracy, w.Learner.LogLoss, *w.Learner.AUC, *w.Learner.AP}
		for j := range got {
			if d := got[j] - windows[i][j]; d > 1e-9 || d < -1e-9 {
				t.Errorf("window %d: %v, want %v", i, got, windows[i])
			}
		}
		if w.Lessons != 100 || w.Majority.AUC != nil || w.Loaded.AUC == nil {
			t.Errorf("window %d: %+v", i, w)
		}
	}
	// The model that was loaded does not learn, and the one that answers is that of the last refresh.
	if s.Answers <= 0 || s.Answers > s.Position || s.Windows[0].Learner == s.Windows[0].Loaded {
		t.Errorf("%+v", s)
	}
}

// What is learned does not depend on how events are posted: 400, or 900 if SANFLOW_LONG is set.
func TestLearnBatches(t *testing.T) {
	race.Skip(t)
	defer now.Short()()
	n := 400
	if os.Getenv("SANFLOW_LONG") != "" {
		n = 900
	}
	events := lines(n)
	first, rows, done := learning(t, t.TempDir(), model().Net())
	defer done()
	for _, line := range events {
		must(first.Post([]byte(line)))
	}
	for _, most := range []int{7, 100, len(events)} {
		l, other, done := learning(t, t.TempDir(), model().Net())
		r := rand.New(rand.NewPCG(uint64(most), 1))
		for from := 0; from < len(events); {
			to := min(len(events), from+1+r.IntN(most))
			must(l.Post([]byte(strings.Join(events[from:to], "\n"))))
			from = to
		}
		same(t, fmt.Sprint(most), l, first, other, rows)
		done()
	}
	if s := first.Stats().Learned; s.Checkpoint == 0 || s.Position-s.Checkpoint > 150 {
		t.Errorf("%+v", s)
	}
}

// A process that is killed while it learns has learned, after a restart, what one learns that is not disturbed.
func TestLearnKill(t *testing.T) {
	race.Skip(t)
	defer now.Short()()
	kills := 50
	if testing.Short() || os.Getenv("SANFLOW_KILLS") == "" {
		kills = 6
	}
	events := lines(mostEvents)
	r := rand.New(rand.NewPCG(uint64(kills), 9))
	dir, before := "", int64(0)
	var calm *now.Live
	var of *choose.OpenHistory
	end := func() {}
	defer func() { end() }()
	for i := range kills {
		if dir == "" || before > mostEvents*3/4 {
			end()
			dir, before = t.TempDir(), 0
			calm, of, end = learning(t, t.TempDir(), model().Net())
		}
		child := exec.CommandContext(t.Context(), os.Args[0])
		child.Env = append(os.Environ(), "SANFLOW_NOW_DIR="+dir, "SANFLOW_NOW_LEARN=1")
		child.Stderr = os.Stderr
		out := must(child.StdoutPipe())
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		said := before
		in := bufio.NewScanner(out)
		if in.Scan() { // it has begun
			time.AfterFunc(time.Duration(r.IntN(200_000))*time.Microsecond, func() { _ = child.Process.Kill() })
		}
		for ok := true; ok; ok = in.Scan() {
			fmt.Sscan(in.Text(), &said)
		}
		_ = child.Wait()
		l, rows, done := learning(t, dir, model().Net())
		position := l.Position()
		if position < said || position > said+5 {
			t.Fatalf("kill %d: position %d, and %d was told", i, position, said)
		}
		if position > before {
			must(calm.Post([]byte(strings.Join(events[before:position], "\n"))))
		}
		same(t, fmt.Sprintf("kill %d at position %d", i, position), l, calm, rows, of)
		before = position
		done()
	}
	t.Logf("%+v", calm.Stats().Learned)
}

// A model file that is replaced is learned on with from the position at which it was loaded, also where it was replaced between two processes.
func TestLearnReplaced(t *testing.T) {
	defer now.Short()()
	events := lines(600)
	post := func(l *now.Live, from, to int) { must(l.Post([]byte(strings.Join(events[from:to], "\n")))) }
	other := copyOf(model().Net()).(*nn.Logistic)
	weights := other.AppendWeights(nil)
	for i := range weights {
		weights[i] /= 2
	}
	if err := other.SetWeights(weights); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	l, _, done := learning(t, dir, model().Net())
	post(l, 0, 201)
	next := pupil(other)
	defer next.Close()
	if at, err := l.Use(t.Context(), next); err != nil || at != 201 {
		t.Fatal(at, err)
	}
	if s := l.Stats().Learned; s.Loaded != 201 || s.Lessons != 0 || s.Checkpoint != 201 {
		t.Errorf("%+v", s)
	}
	post(l, 201, 400)
	// The same as a store that has learned nothing before.
	plain := open(payments(stored))
	fresh := t.TempDir()
	p, err := now.Open(t.Context(), plain, now.Options{Dir: fresh})
	if err != nil {
		t.Fatal(err)
	}
	post(p, 0, 201)
	if err := errors.Join(p.Close(), plain.Close()); err != nil {
		t.Fatal(err)
	}
	late, rows, ended := learning(t, fresh, other)
	post(late, 201, 400)
	same(t, "replaced", l, late, next, rows)
	// The file that a process finds wins over the one of the store.
	done()
	l, _, done = learning(t, dir, model().Net())
	if s := l.Stats().Learned; s.Loaded != 400 || s.Lessons != 0 {
		t.Errorf("%+v", s)
	}
	post(l, 400, 450)
	done()
	l, _, done = learning(t, dir, model().Net())
	if s := l.Stats().Learned; s.Loaded != 400 || s.Lessons == 0 {
		t.Errorf("%+v", s)
	}
	lessons := l.Stats().Learned.Lessons
	same := pupil(model().Net())
	defer same.Close()
	if at, err := l.Use(t.Context(), same); err != nil || at != 450 || l.Stats().Learned.Lessons != lessons {
		t.Errorf("the same file again: %d, %v, %+v", at, err, l.Stats().Learned)
	}
	done()
	ended()
}

// Readers ask while the model learns: each answer is of a whole model.
func TestLearnReaders(t *testing.T) {
	defer now.Short()()
	l, rows, done := learning(t, t.TempDir(), model().Net())
	defer done()
	events := lines(400)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for last := int64(0); ; {
				select {
				case <-stop:
					return
				default:
				}
				asked, at, err := l.Ask(t.Context(), last, []string{"7", "390"}, nil)
				if err != nil || at < last {
					t.Error(at, err)
					return
				}
				last = at
				for _, q := range asked {
					a, err := rows.Predict(t.Context(), q)
					if err != nil || a.Probs[0]+a.Probs[1] < 0.999 || a.Probs[0]+a.Probs[1] > 1.001 {
						t.Error(a, err)
					}
				}
				l.Stats()
			}
		})
	}
	for from := 0; from < len(events); from += 4 {
		must(l.Post([]byte(strings.Join(events[from:from+4], "\n"))))
	}
	close(stop)
	readers.Wait()
	if at, err := l.Checkpoint(); err != nil || at != 400 || l.Stats().Learned.Answers != 400 {
		t.Error(at, err)
	}
	if _, err := sinks.Read(strings.NewReader(saved(t, l))); err != nil {
		t.Error(err)
	}
}

// Models and stores that do not go together are refused.
func TestLearnRefused(t *testing.T) {
	dir := t.TempDir()
	l, _, done := learning(t, dir, model().Net())
	must(l.Post([]byte(strings.Join(lines(20), "\n"))))
	done()
	rows := pupil(model().Net())
	defer rows.Close()
	for what, o := range map[string]now.Options{
		"the store has a model that learns: go on with Options.Learn (serve -learn), or begin a new store": {},
		"the model learns at the rate 0.5, and the store began with 0: a store goes on with the same rate": {Learn: &now.Learning{Rate: 0.5}},
		"nn: AdaGrad: Rate is -1, want a positive number":                                                  {Learn: &now.Learning{Rate: -1}},
	} {
		o.Dir = dir
		if _, err := now.Open(t.Context(), rows, o); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want %s", err, what)
		}
	}
	set := set(payments(stored))
	h := &choose.History{Set: set, Delay: 2}
	s := must(choose.Pick(must(h.Systems()), []string{"trees"}))[0]
	s.New = func(seed uint64, workers int) nn.Saver { return &trees.Model{Trees: 2} }
	var all []int32
	for r := range int32(stored) {
		all = append(all, r)
	}
	chosen := must(choose.Choice{Systems: []choose.System{s}, Classes: set.Classes, Train: h.Rows(all[:300]), Valid: h.Rows(all[300:]), Seed: 1}.Run(t.Context()))
	if err := h.Keep(chosen.Net); err != nil {
		t.Fatal(err)
	}
	p := must(sinks.NewPredictor(chosen.Net, chosen.Recipe))
	cut := must(must(choose.HistoryOf(p, set, nil)).OpenRows(p, choose.RowColumns{Time: "time", Class: "class"}))
	defer cut.Close()
	if _, err := now.Open(t.Context(), cut, now.Options{Dir: t.TempDir(), Learn: &now.Learning{}}); !errors.Is(err, sinks.ErrSteps) {
		t.Errorf("trees: %v", err)
	}
	plain, _ := live(t, now.Options{Dir: t.TempDir()})
	if _, err := plain.Checkpoint(); err == nil || plain.Stats().Learned != nil {
		t.Errorf("%v, %+v", err, plain.Stats().Learned)
	}
	if plain.Save(&bytes.Buffer{}) == nil {
		t.Error("saved")
	}
}

// Forget leaves no byte of a person in the log either, and what is left is learned from.
func TestLearnForget(t *testing.T) {
	dir := t.TempDir()
	l, _, done := learning(t, dir, model().Net())
	must(l.Post([]byte(`{"time": 300, "source": "Mallory"}
{"time": 301, "source": "s1", "target": "s2", "class": "no"}
{"kind": "set_class", "id": 401, "class": "yes"}
{"kind": "set_class", "id": 3, "class": "yes"}
{"kind": "set_class", "id": 3, "class": "no"}`)))
	if s := l.Stats().Learned; s.Lessons != 4 && s.Lessons != 3 {
		t.Errorf("%+v", s)
	}
	lessons := l.Stats().Learned.Lessons
	done()
	if f, err := now.Forget(dir, "Mallory"); err != nil || f != (now.Forgotten{Rows: 1, Classes: 1}) {
		t.Errorf("%+v, %v", f, err)
	}
	for _, file := range must(os.ReadDir(dir)) {
		if strings.Contains(string(must(os.ReadFile(filepath.Join(dir, file.Name())))), "Mallory") {
			t.Errorf("%s has the id", file.Name())
		}
	}
	l, _, done = learning(t, dir, model().Net())
	if s := l.Stats().Learned; s.Lessons != lessons-1 || l.Position() != 5 {
		t.Errorf("%+v", s)
	}
	done()
}

// An event with a class is written, applied, answered by both models and learned from.
func BenchmarkLearn(b *testing.B) {
	for _, learns := range []bool{false, true} {
		b.Run(fmt.Sprint(learns), func(b *testing.B) {
			opt := now.Options{Dir: b.TempDir()}
			if learns {
				opt.Learn = &now.Learning{}
			}
			rows := pupil(model().Net())
			defer rows.Close()
			l := must(now.Open(b.Context(), rows, opt))
			defer l.Close()
			i := 0
			for b.Loop() {
				i++
				class := []string{"no", "yes"}[i%2]
				must(l.Apply(choose.Event{Kind: choose.AddRow, Row: choose.Row{"time": stored + i, "source": fmt.Sprint("s", i%40), "target": fmt.Sprint("s", i%37), "amount": i % 7, "class": class}}))
			}
			if learns {
				start := time.Now()
				must(l.Checkpoint())
				b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms/checkpoint")
			}
		})
	}
}
