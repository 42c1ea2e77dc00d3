package settings_test

import (
	"reflect"
	"testing"

	"github.com/sanflow/sanflow/operators/internal/settings"
)

// What a text sets does not reach what a base refers to.
func TestFromJSONKeepsTheBase(t *testing.T) {
	type inner struct{ A, B []int }
	type base struct {
		List []int
		Map  map[string]int
		At   *inner
		In   inner
		N    int
	}
	fresh := func() base {
		return base{List: []int{1, 2}, Map: map[string]int{"a": 1}, At: &inner{A: []int{3}}, In: inner{A: []int{4}, B: []int{5}}, N: 6}
	}
	kept := fresh()
	c, err := settings.Copy(kept)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"List": `[7]`, "Map": `{"b":2}`, "At": `{"B":[8]}`, "In": `{"A":[9]}`, "N": ` null `,
	} {
		f, err := c.Field(name)
		if err == nil {
			err = settings.FromJSON([]byte(text), f.Value.Addr().Interface())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(kept, fresh()) {
		t.Errorf("the base is now %+v, was %+v", kept, fresh())
	}
	want := base{List: []int{7}, Map: map[string]int{"b": 2}, At: &inner{B: []int{8}}, In: inner{A: []int{9}}, N: 6}
	if got := c.Value(kept); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
