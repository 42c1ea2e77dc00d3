package labeling

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow/graph"
)

// Every numeric setting of every registered labeling takes any number: a wrong one is an
// error, and no other makes a label that is no number, panics, or starts work without an
// end.
func TestSettingsTakeAnyNumber(t *testing.T) {
	var edges []graph.Edge
	for v := range int32(11) {
		edges = append(edges, graph.Edge{U: v, V: v + 1}, graph.Edge{U: v, V: v / 2})
	}
	g, err := graph.New(13, false, edges) // node 12 stands alone
	if err != nil {
		t.Fatal(err)
	}
	g.NodeCats, g.NodeCat = 1, make([]int32, 13)
	g.NodeAttrs, g.NodeAttr = 1, make([]float32, 13)
	var settings []string // that were tried
	for _, e := range language.Entries() {
		base := reflect.Indirect(reflect.ValueOf(e.Base))
		if base.Kind() != reflect.Struct || base.Type().PkgPath() != reflect.TypeFor[Input]().PkgPath() {
			continue
		}
		for i := range base.NumField() {
			field := base.Type().Field(i)
			if !field.IsExported() {
				continue
			}
			var values []any
			switch field.Type.Kind() {
			case reflect.Int:
				values = []any{-1, math.MinInt, 1, math.MaxInt32, math.MaxInt}
			case reflect.Float64:
				values = []any{-1., math.NaN(), math.Inf(1), math.Inf(-1), -1e-300, 5e-324, 1e-30, 1e-9, 0.5, 1., 1e300}
			}
			if values != nil {
				settings = append(settings, field.Name)
			}
			for _, x := range values {
				value := reflect.New(base.Type())
				value.Elem().Set(base)
				value.Elem().Field(i).Set(reflect.ValueOf(x))
				l, ok := value.Elem().Interface().(Labeling)
				if !ok {
					l = value.Interface().(Labeling)
				}
				name := fmt.Sprintf("%s(%s=%v)", e.Name, strings.ToLower(field.Name), x)
				ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
				labels := make([]float64, g.N())
				err := l.Label(Input{Graph: g, Context: ctx}, labels)
				stop()
				f := reflect.ValueOf(x)
				negative := f.CanInt() && f.Int() < 0 || f.CanFloat() && !(f.Float() >= 0)
				switch {
				case ctx.Err() == context.DeadlineExceeded:
					t.Errorf("%s has not ended after 20 s: %v", name, err)
				case negative && err == nil:
					t.Errorf("%s is no error", name)
				}
				for v, y := range labels {
					if err == nil && (math.IsNaN(y) || math.IsInf(y, 0)) {
						t.Errorf("%s gives node %d the label %v", name, v, y)
						break
					}
				}
			}
		}
	}
	slices.Sort(settings)
	if want := []string{"Column", "Damping", "Rounds", "Sources"}; !slices.Equal(settings, want) {
		t.Errorf("the settings %v were tried, want those of all labelings, %v", settings, want)
	}
}

// Rows with each arc at both its ends stay within 32-bit offsets.
func TestArcsOfBothWays(t *testing.T) {
	if err := bothFit(math.MaxInt32 / 2); err != nil {
		t.Error(err)
	}
	if bothFit(math.MaxInt32/2+1) == nil {
		t.Error("2³⁰ arcs are no error")
	}
}
