package labeling_test

import (
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/operators/internal/settings/settingstest"
	"github.com/sanflow/sanflow/operators/labeling"
)

func TestParse(t *testing.T) {
	for _, name := range labeling.Names() {
		l, err := labeling.Parse(strings.ToUpper(name))
		if err != nil || l.String() != name && name != "smooth" {
			t.Errorf("Parse(%q) = %v, %v", name, l, err)
		}
	}
	for name, want := range map[string]labeling.Labeling{
		"wl-1": labeling.WeisfeilerLehman{Rounds: 1}, "WL-12": labeling.WeisfeilerLehman{Rounds: 12},
		"betweenness-50": labeling.SampledBetweenness{Sources: 50},
		"attribute-0":    labeling.Attribute{}, "category-3": labeling.Attribute{Column: 3, Discrete: true},
		"Auto":                      labeling.Auto,
		"PageRank(Damping=0.9)":     labeling.PageRankCentrality{Damping: 0.9},
		"pagerank(damping=0.9)":     labeling.PageRankCentrality{Damping: 0.9},
		"wl-3(attributes, uniform)": labeling.WeisfeilerLehman{Rounds: 3, Attributes: true, Uniform: true},
		" wl ( rounds = 2 ) ":       labeling.WeisfeilerLehman{Rounds: 2},
		"betweenness-256(seed=7)":   labeling.SampledBetweenness{Sources: 256, Seed: 7},
		"betweenness()":             labeling.Betweenness,
	} {
		l, err := labeling.Parse(name)
		if err != nil || l != want {
			t.Errorf("Parse(%q) = %v, %v", name, l, err)
			continue
		}
		if again, err := labeling.Parse(l.String()); err != nil || again != l {
			t.Errorf("%#v is called %q, which is %#v, %v", l, l, again, err)
		}
	}
	for _, name := range []string{"", "wl-0", "wl-", "wl--1", "wl-+1", "wl-1x", "wl-99999999999", "betweenness-0", "attribute-x", "-", "dergee"} {
		if l, err := labeling.Parse(name); err == nil || !strings.Contains(err.Error(), "wl-H") || !strings.Contains(err.Error(), "betweenness, ") {
			t.Errorf("Parse(%q) = %v, %v", name, l, err)
		}
	}
	for text, want := range map[string]string{
		"pagerank(damping=x)":  `labeling: "pagerank(damping=x)": the setting Damping is x: `,
		"pagerank(damping)":    `the setting Damping has no value`,
		"pagerank(dumping=1)":  `there is no setting "dumping", want one of Damping`,
		"degree(x=1)":          `there is no setting "x", nor any other`,
		"pagerank(damping=0.9": "does not end in a parenthesis",
		"wl(rounds=2,)":        `there is no setting ""`,
		"wl(rounds=[2)":        "brackets or quotes do not match",
		"wl(rounds=2) wl":      "does not end in a parenthesis",
		"wl(rounds=2))(":       "does not end in a parenthesis",
		"wl(rounds=2)))":       "brackets or quotes do not match",
		"wl(rounds=2.5)":       "it is of the kind number 2.5, want int",
		"smooth(of=dergee)":    `the setting Of is dergee: unknown labeling "dergee"`,
	} {
		_, err := labeling.Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "labeling:") != 1 {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestParseList(t *testing.T) {
	got, err := labeling.ParseList("degree, pagerank(damping=0.5), wl(rounds=2, uniform),core")
	want := []labeling.Labeling{labeling.Degree, labeling.PageRankCentrality{Damping: 0.5}, labeling.WeisfeilerLehman{Rounds: 2, Uniform: true}, labeling.Core}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if list, err := labeling.ParseList(""); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	for _, text := range []string{"degree,", "degree)", "degree(", `a"`} {
		if _, err := labeling.ParseList(text); err == nil {
			t.Errorf("%q is no list", text)
		}
	}
}

// Smooth is a labeling of a user's own, with settings of every kind.
type Smooth struct {
	Of     labeling.Labeling
	Rounds int
	Name   string
	Share  float32
	Weight []float64
	By     map[string]int
	cached int
}

func (*Smooth) String() string { return "mine" }

func (s *Smooth) Label(in labeling.Input, labels []float64) error { return s.Of.Label(in, labels) }

func init() {
	if err := labeling.Register("smooth", &Smooth{Of: labeling.Degree, Rounds: 5, cached: 3}); err != nil {
		panic(err)
	}
}

func TestRegister(t *testing.T) {
	own, err := labeling.Parse(`smooth(name=a b, of=wl(rounds=2, uniform), weight=[1, 2.5], by={"x": 1})`)
	want := &Smooth{Of: labeling.WeisfeilerLehman{Rounds: 2, Uniform: true}, Rounds: 5, Name: "a b", Weight: []float64{1, 2.5}, By: map[string]int{"x": 1}, cached: 3}
	if err != nil || !reflect.DeepEqual(own, labeling.Labeling(want)) {
		t.Fatalf("%#v, %v", own, err)
	}
	text, err := labeling.Format(own)
	if err != nil || text != `smooth(of=wl(rounds=2, uniform), name="a b", weight=[1,2.5], by={"x":1})` {
		t.Errorf("%s, %v", text, err)
	}
	if again, err := labeling.Parse("smooth"); err != nil || !reflect.DeepEqual(again, labeling.Labeling(&Smooth{Of: labeling.Degree, Rounds: 5, cached: 3})) {
		t.Errorf("what is parsed changes what is registered: %#v, %v", again, err)
	}
	if !slices.Contains(labeling.Names(), "smooth") {
		t.Error("Names does not list it")
	}
	type other struct{ Smooth }
	for name, l := range map[string]labeling.Labeling{
		"degree": &other{}, "WL": &other{}, "wl-deep": &other{}, "": &other{}, "a b": &other{}, "a(b": &other{},
		"again": &Smooth{}, "nothing": nil, "nowhere": (*other)(nil),
	} {
		if err := labeling.Register(name, l); err == nil || !strings.HasPrefix(err.Error(), "labeling: register: ") {
			t.Errorf("%q for %T: %v", name, l, err)
		}
	}
}

// Every setting of every labeling is written and read back.
func TestFormat(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	structs := []labeling.Labeling{
		labeling.Attribute{}, labeling.PageRankCentrality{}, labeling.SampledBetweenness{},
		labeling.WeisfeilerLehman{},
	}
	var names []string
	for _, l := range structs {
		names = append(names, reflect.TypeOf(l).Name())
	}
	if want := settingstest.Declared(t, os.DirFS("."), "Label"); !slices.Equal(names, want) {
		t.Fatalf("the labelings with settings are %v, this test knows %v", want, names)
	}
	for _, l := range structs {
		for range 20 {
			v := reflect.New(reflect.TypeOf(l)).Elem()
			settingstest.Fill(t, rng, v, nil)
			structs = append(structs, v.Interface().(labeling.Labeling))
		}
	}
	for _, l := range all(t) {
		if back, err := labeling.Parse(l.String()); err != nil || back.String() != l.String() {
			t.Errorf("%#v is called %s, which is %#v, %v", l, l, back, err)
		}
	}
	for _, l := range append(structs, all(t)...) {
		text, err := labeling.Format(l)
		if err != nil {
			t.Error(err)
			continue
		}
		if back, err := labeling.Parse(text); err != nil || back != l {
			t.Errorf("%#v is written %s, which is %#v, %v", l, text, back, err)
		}
	}
	for _, c := range []struct {
		l    labeling.Labeling
		want string
	}{
		{nil, "labeling: the labeling is nil"},
		{broken{}, "labeling: labeling_test.broken is not known by a name: labeling.Register gives it one"},
		{labeling.PageRankCentrality{Damping: math.NaN()}, "labeling: pagerank: the setting Damping cannot be written: unsupported value: NaN"},
		{&Smooth{Of: broken{}, Rounds: 5, cached: 3}, "labeling: smooth: the setting Of cannot be written: labeling_test.broken is not known by a name: labeling.Register gives it one"},
		{&Smooth{Of: labeling.Core, Rounds: 5}, " is more than smooth(of=core) says"},
	} {
		if text, err := labeling.Format(c.l); err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%s, %v, want %s", text, err, c.want)
		}
	}
}

// Any text is a labeling that is written and read back, or an error in one line.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"degree", "WL-12", "category-3", "pagerank(damping=0.9), wl-3(attributes, uniform)", " wl ( rounds = 2 ) ",
		`smooth(name=a b, of=wl(rounds=2, uniform), weight=[1, 2.5], by={"x": 1})`, `smooth(name="a\"),", share=1e-9)`,
		"betweenness-256(seed=7", "wl(rounds=[2)",
		"smooth(name=\xff)", "wl(rounds=\n2x)",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := labeling.ParseList(text)
		if l, err := labeling.Parse(text); err == nil {
			list = append(list, l)
		} else if strings.ContainsAny(err.Error(), "\r\n") || !strings.HasPrefix(err.Error(), "labeling: ") {
			t.Fatalf("%q", err)
		}
		if err != nil && (strings.ContainsAny(err.Error(), "\r\n") || !strings.HasPrefix(err.Error(), "labeling: ")) {
			t.Fatalf("%q", err)
		}
		for _, l := range list {
			text, err := labeling.Format(l)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := labeling.Parse(text); err != nil || !reflect.DeepEqual(back, l) {
				t.Fatalf("%#v is written %s, which is %#v, %v", l, text, back, err)
			}
		}
	})
}
