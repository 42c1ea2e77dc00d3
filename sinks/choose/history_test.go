package choose_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sanflow/sanflow/internal/race"
	"github.com/sanflow/sanflow/nn/validation"
	"github.com/sanflow/sanflow/operators/earlier"
	"github.com/sanflow/sanflow/sinks"
	"github.com/sanflow/sanflow/sinks/choose"
	"github.com/sanflow/sanflow/sources"
)

// thefts is a table of n payments. Every fourth account is often of the class yes, and pays to the same shops.
func thefts(n int) []string {
	r := rand.New(rand.NewPCG(4, 1))
	rows := []string{"time,source,target,amount,kind,class"}
	for i := range n {
		s, to, class := r.IntN(40), r.IntN(40), "no"
		if s%4 == 0 && r.IntN(10) < 8 {
			class, to = "yes", r.IntN(4)
		}
		rows = append(rows, fmt.Sprintf("%d,s%d,s%d,%.2f,%s,%s", i/2, s, to, r.ExpFloat64()*10, []string{"card", "cash"}[r.IntN(2)], class))
	}
	return rows
}

func rowsOf(t testing.TB, rows []string) *sources.RowSet {
	t.Helper()
	set, err := sources.Rows{Tables: []sources.RowTable{{
		Table: sources.CSV{Reader: strings.NewReader(strings.Join(rows, "\n"))}, Time: "time", Class: "class",
		Keys: []sources.Key{{Column: "source", Space: "account"}, {Column: "target", Space: "account"}},
	}}}.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// first are the first n rows of a set.
func first(n int) (rows []int32) {
	for r := range int32(n) {
		rows = append(rows, r)
	}
	return rows
}

// The answer about a row that is in no table, its numbers and its past are those of the last row of a table that ends with it, for each
// system; the reasons sum up; and numbers of a row do not depend on later rows.
func TestHistoryOpen(t *testing.T) {
	race.Skip(t)
	const n, learned, chosenBy = 600, 400, 500
	table := thefts(n)
	for _, all := range []bool{false, true} {
		set := rowsOf(t, table)
		h := &choose.History{Set: set, Train: first(learned), Windows: []earlier.Window{{Name: "20", Length: 20}}, Delay: 3}
		if all {
			h.Train = nil
		}
		systems, err := h.Systems()
		if err != nil {
			t.Fatal(err)
		}
		if all && !long {
			systems = systems[:1] // the others have the same history
		}
		for _, s := range systems {
			s.Epochs = min(s.Epochs, 5)
			chosen, err := choose.Choice{Systems: []choose.System{s}, Classes: set.Classes, Train: h.Rows(first(learned)), Valid: h.Rows(first(chosenBy)[learned:]), Seed: 1}.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Keep(chosen.Net); err != nil {
				t.Fatal(err)
			}
			p, err := sinks.NewPredictor(chosen.Net, chosen.Recipe)
			if err != nil {
				t.Fatal(err)
			}
			m, err := choose.Test(t.Context(), p, nil, set.IDs, h.Rows(first(n)[chosenBy:]), "", 0)
			if err != nil {
				t.Fatal(err)
			}
			if auc, err := m.By(validation.ROC); err != nil || auc < 0.7 {
				t.Errorf("%s: AUC %v, %v", s.Name, auc, err)
			}
			whole := openRows(t, p, set, learned)
			for _, last := range []int{470, 560, n - 1} {
				cut := openRows(t, p, rowsOf(t, table[:1+last]), learned) // ends before the row
				f := strings.Split(table[1+last], ",")
				row := choose.Row{"time": f[0], "source": f[1], "target": f[2], "amount": f[3], "kind": f[4]}
				all, _, err := cut.Ask(nil, []choose.Row{row})
				if err != nil {
					t.Fatal(err)
				}
				asked := all[0]
				if all, _, err = whole.Ask([]string{set.IDs.Name(int32(last))}, nil); err != nil {
					t.Fatal(err)
				}
				known := all[0]
				got, err := cut.Predict(t.Context(), asked)
				if err != nil {
					t.Fatal(err)
				}
				want, err := whole.Predict(t.Context(), known)
				if err != nil {
					t.Fatal(err)
				}
				if got.Root, want.Root = 0, 0; !reflect.DeepEqual(got, want) {
					t.Errorf("%s, row %d: %v, want %v", s.Name, last, got, want)
				}
				why, err := cut.Explain(t.Context(), asked, "")
				if err != nil {
					t.Fatal(err)
				}
				stored, err := whole.Explain(t.Context(), known, "")
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(why.Columns, stored.Columns) || !reflect.DeepEqual(why.Earlier, stored.Earlier) || why.Sum != stored.Sum {
					t.Errorf("%s, row %d: other reasons than those of the stored row: %+v, want %+v", s.Name, last, why.Earlier, stored.Earlier)
				}
				if why.Method == "exact" {
					sum := why.Bias
					for _, c := range why.Columns {
						sum += c.Weight
					}
					for _, w := range why.Words {
						sum += w.Weight
					}
					if math.Abs(sum-why.Sum) > 1e-6 {
						t.Errorf("%s, row %d: the reasons sum to %v, want %v", s.Name, last, sum, why.Sum)
					}
				}
				before := 0
				for _, row := range table[1 : 1+last] {
					if g := strings.Split(row, ","); g[1] == f[1] || g[2] == f[1] {
						before++
					}
				}
				if why.Earlier[0].Count != before {
					t.Errorf("%s has %d earlier rows, want %d", f[1], why.Earlier[0].Count, before)
				}
				if len(why.Earlier) != 2 || why.Earlier[0].Key != "source" || why.Earlier[0].Space != "account" || why.Earlier[0].Value != f[1] {
					t.Errorf("earlier rows %+v", why.Earlier)
				}
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func openRows(t *testing.T, p *sinks.Predictor, set *sources.RowSet, learned int) *choose.OpenHistory {
	t.Helper()
	h, err := choose.HistoryOf(p, set, first(learned))
	if err != nil {
		t.Fatal(err)
	}
	o, err := h.OpenRows(p, choose.RowColumns{Time: "time", Class: "class"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	return o
}

// Tables of today with other words, classes and columns than those of the training give the answers of the training: here a table that ends before the rows
// with the first word, the first class and the first kind of the alphabet, has its columns in another order, and one that the model does not read.
func TestHistoryOtherWords(t *testing.T) {
	race.Skip(t)
	table := thefts(600)
	for i := range table[550:] {
		table[550+i] = strings.Replace(strings.Replace(table[550+i], ",card,", ",amex,", 1), ",no", ",maybe", 1)
	}
	set := rowsOf(t, table)
	for i, line := range table[:550] {
		f := strings.Split(line, ",")
		extra := fmt.Sprint("area ", i%7)
		if i == 0 {
			extra = "area"
		}
		table[i] = strings.Join([]string{f[4], extra, f[5], f[3], f[2], f[1], f[0]}, ",")
	}
	other, err := sources.Rows{Tables: []sources.RowTable{{
		Table: sources.CSV{Reader: strings.NewReader(strings.Join(table[:550], "\n"))}, Time: "time", Class: "class",
		Keys: []sources.Key{{Column: "source", Space: "account"}, {Column: "target", Space: "account"}},
	}}}.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	words := fmt.Sprint(other.Channels.NodeCat, other.Classes)
	h := &choose.History{Set: set}
	systems := must(h.Systems())
	for _, s := range systems {
		s.Epochs = min(s.Epochs, 2)
		chosen := must(choose.Choice{Systems: []choose.System{s}, Classes: set.Classes, Train: h.Rows(first(400)), Valid: h.Rows(first(600)[400:]), Seed: 1}.Run(t.Context()))
		if err := h.Keep(chosen.Net); err != nil {
			t.Fatal(err)
		}
		p := must(sinks.NewPredictor(chosen.Net, chosen.Recipe))
		if keys := must(choose.KeysOf(p.Net())); !reflect.DeepEqual(keys, set.Keys) {
			t.Errorf("the keys are %v", keys)
		}
		open := func(set *sources.RowSet) (answers []string) {
			asks := must(choose.HistoryOf(p, set, nil))
			o := must(asks.OpenRows(p, choose.RowColumns{Time: "time", Class: "class"}))
			defer o.Close()
			answers = told(t, o, []string{"1", "200", "540"}, []choose.Row{{"time": 270, "source": "s8", "target": "s2", "amount": 9.5, "kind": "cash"}})
			each := func(a sinks.Prediction) error {
				answers = append(answers, fmt.Sprint(a.Probs))
				return nil
			}
			if err := asks.Rows(first(549)[500:])(p.Recipe()).To(sinks.Predict{Net: p.Net(), Each: each}).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			return answers
		}
		got, want := open(other), open(set)
		for i := range want {
			// The other table lacks the last rows, so no answer knows their classes.
			if got[i] != want[i] {
				t.Errorf("%s, %d:\n%s\nwant\n%s", s.Name, i, got[i], want[i])
			}
		}
		strange, timeless := *set, *set
		strange.Classes, timeless.Time = []string{"good", "bad", "odd"}[:len(set.Classes)], slices.Repeat([]float64{math.NaN()}, len(set.Time))
		for want, set := range map[string]*sources.RowSet{"none of the classes of ": &strange, "no row has a time": &timeless} {
			if _, err := choose.HistoryOf(p, set, nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if now := fmt.Sprint(other.Channels.NodeCat, other.Classes); now != words {
		t.Errorf("the set of the caller has changed: %s", now)
	}
}
