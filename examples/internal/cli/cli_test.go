package cli

import (
	"errors"
	"fmt"
	"testing"
)

func TestOneLine(t *testing.T) {
	err := errors.Join(AtLeast("folds", 0, 2), AtLeast("nets", 0, 1), errors.New("a\ttable\n\n"))
	if got, want := oneLine(err), "-folds is 0, want 2 or more; -nets is 0, want 1 or more; a table"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A flag that is given by two names is an error, whatever its values; one name may be
// given again, as package flag has it.
func TestGivenTwice(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-kind", "a", "-net", "b"}, "-kind and -net are the same flag: give one of them"},
		{[]string{"-net", "a", "-kind", "a"}, "-kind and -net are the same flag: give one of them"},
		{[]string{"-net", "a", "-net", "b", "-each", "x", "-other", "y"}, ""},
	} {
		f := Flags("test", "tests.")
		kind := f.String("kind", "", "")
		f.Func("each", "", func(string) error { return nil })
		f.Func("other", "", func(string) error { return nil })
		Alias(f, "net", "kind")
		err := Parse(f, test.args)
		if got := fmt.Sprint(err); test.want != "" && got != test.want || test.want == "" && (err != nil || *kind != "b") {
			t.Errorf("%v: %v, want %s", test.args, err, test.want)
		}
	}
}
