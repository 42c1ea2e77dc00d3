package choose_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/sinks/choose"
)

// The question of a lesson has nothing of the class that comes: its answer is that of the question before the class came, whatever the class is. Changes
// that tell no class, or the one that is known, teach nothing.
func TestLesson(t *testing.T) {
	race.Skip(t)
	for _, system := range []string{"words", "fields"} {
		base := thefts(600)
		p := predictor(t, system, base)
		o := grown(t, p, base)
		r := rand.New(rand.NewPCG(8, 8))
		set := func(id, class string) *choose.Lesson {
			b := o.Begin()
			if err := b.Add(choose.Event{Kind: choose.SetClass, ID: id, Class: class}); err != nil {
				t.Fatal(err)
			}
			o.Apply(1, b.Changes...)
			return must(choose.LessonOf(o, b.Changes[0]))
		}
		learner := must(o.Learner(0))
		defer learner.Close()
		other := must(o.Learner(0))
		defer other.Close()
		for range 6 {
			id := fmt.Sprint(1 + r.IntN(600))
			if set(id, "") != nil {
				t.Fatal("a class that is taken away teaches")
			}
			asked, _, err := o.Ask([]string{id}, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := must(o.Predict(t.Context(), asked[0]))
			for _, class := range []string{"yes", "no"} {
				lesson := set(id, class)
				if lesson == nil || set(id, class) != nil {
					t.Fatal("want a lesson, and none where the class is known")
				}
				// A learner that has learned nothing but this.
				fresh := must(o.Learner(0))
				said, loaded, err := o.Learn(t.Context(), fresh, lesson)
				if err != nil {
					t.Fatal(err)
				}
				if fmt.Sprint(said, loaded) != fmt.Sprint(want.Probs, want.Probs) {
					t.Fatalf("%s, row %s, class %s: %v, %v, want %v", system, id, class, said, loaded, want.Probs)
				}
				if err := fresh.Close(); err != nil {
					t.Fatal(err)
				}
				// A learner goes on from a checkpoint as if there had been none.
				said, _, err = o.Learn(t.Context(), learner, lesson)
				again, _, err2 := o.Learn(t.Context(), other, lesson)
				if err != nil || err2 != nil || fmt.Sprint(said) != fmt.Sprint(again) {
					t.Fatalf("%s: %v, %v, want %v, %v", system, again, err2, said, err)
				}
				var file bytes.Buffer
				if err := other.Net.Checkpoint(&file, "", nil); err != nil {
					t.Fatal(err)
				}
				other = must(o.Learner(0))
				if _, _, err := other.Net.Resume(&file); err != nil {
					t.Fatal(err)
				}
			}
			// What is learned answers once it is published.
			if now := must(o.Predict(t.Context(), asked[0])); fmt.Sprint(now) != fmt.Sprint(want) {
				t.Fatalf("%s: %v, want %v", system, now, want)
			}
		}
		id := []string{"7"}
		asked, _, _ := o.Ask(id, nil)
		before := must(o.Predict(t.Context(), asked[0]))
		if err := learner.Publish(); err != nil {
			t.Fatal(err)
		}
		if now := must(o.Predict(t.Context(), asked[0])); fmt.Sprint(now) == fmt.Sprint(before) {
			t.Errorf("%s: what was learned does not answer", system)
		}
	}
}

// What nodes teach is what a start with the tables of each position teaches, and a class that comes changes no answer of a test.
func TestLessonNodes(t *testing.T) {
	race.Skip(t)
	w := newWeb(3, 120, 300, false, false)
	p := w.model(t, "words")
	o := w.open(t, p, nil)
	live, cold := must(o.Learner(0.02)), must(o.Learner(0.02))
	defer live.Close()
	defer cold.Close()
	lessons := map[string]int{}
	for position := range 200 {
		e := w.next()
		var before string
		if e.Kind == choose.SetClass {
			asked, _, err := o.Ask([]string{e.ID}, nil)
			if err != nil {
				t.Fatal(err)
			}
			before = fmt.Sprint(must(o.Predict(t.Context(), asked[0])).Probs)
			w.nodes[e.ID] = append(slices.Clone(w.nodes[e.ID][:2]), e.Class)
			if e.Class == "" {
				before = ""
			}
		}
		b := o.Begin()
		if err := b.Add(e); err != nil {
			t.Fatal(err)
		}
		o.Apply(int64(position)+1, b.Changes...)
		lesson := must(choose.LessonOf(o, b.Changes[0]))
		if e.Kind == choose.SetClass && (lesson != nil) != (before != "") {
			t.Fatalf("position %d: %+v teaches: %t", position, e, lesson != nil)
		}
		if lesson == nil {
			continue
		}
		lessons[e.Kind]++
		id, class := e.ID, e.Class
		if id == "" {
			id, class = choose.TextOf(e.Row["id"]), choose.TextOf(e.Row["class"])
		}
		said, loaded, err := o.Learn(t.Context(), live, lesson)
		if err != nil {
			t.Fatal(err)
		}
		if before != "" && fmt.Sprint(loaded) != before {
			t.Fatalf("position %d: %v, want %s as before the class came", position, loaded, before)
		}
		start := w.open(t, p, nil)
		asked, _, err := start.Ask([]string{id}, nil)
		if err != nil {
			t.Fatal(err)
		}
		want, _, err := start.Learn(t.Context(), cold, &choose.Lesson{Question: asked[0], Class: int32(slices.Index(p.Classes(), class))})
		if err != nil || fmt.Sprint(said) != fmt.Sprint(want) {
			t.Fatalf("position %d: %v, want %v, %v", position, said, want, err)
		}
	}
	if live.Lessons != cold.Lessons || lessons[choose.SetClass] == 0 || lessons[choose.AddRow]+lessons[choose.SetNode] == 0 {
		t.Errorf("%d and %d lessons, %v", live.Lessons, cold.Lessons, lessons)
	}
}
