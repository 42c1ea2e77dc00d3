package cli

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/sanflow/sanflow/flow/file/store"
	"github.com/sanflow/sanflow/operators/field"
)

// Flags returns the flags of a command. about is the first text of -h.
func Flags(name, about string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.Usage = func() { fmt.Fprint(f.Output(), Wrap(name+": "+about, "")) }
	return f
}

// Many is the largest value of a number without a limit of its own.
const Many = math.MaxInt32

// Int adds a flag for a whole number from least to most.
func Int(f *flag.FlagSet, p *int, name string, value, least, most int, usage string) {
	f.IntVar(p, name, value, usage)
	Range(f, p, name, least, most)
}

// Float adds a flag for a number from least to most.
func Float(f *flag.FlagSet, p *float64, name string, value, least, most float64, usage string) {
	f.Float64Var(p, name, value, usage)
	Range(f, p, name, least, most)
}

// Duration adds a flag for a time of least or more.
func Duration(f *flag.FlagSet, p *time.Duration, name string, value, least time.Duration, usage string) {
	f.DurationVar(p, name, value, usage)
	Range(f, p, name, least, math.MaxInt64)
}

// K adds the flag -k, at most field.MaxK.
func K(f *flag.FlagSet, p *int, whose string) {
	Int(f, p, "k", 10, 1, field.MaxK, fmt.Sprintf("%snodes per receptive field, at most %d", whose, field.MaxK))
}

// Nodes adds the flag -n.
func Nodes(f *flag.FlagSet, p *int) {
	Int(f, p, "n", 10000, 1, 1<<28, "nodes of a generated graph")
}

// Workers adds the flag -workers. The library bounds the number.
func Workers(f *flag.FlagSet, p *int) {
	Int(f, p, "workers", 0, 0, math.MaxInt, "goroutines; 0 = all cores; results do not depend on it")
}

// Bound adds the flag -bound.
func Bound(f *flag.FlagSet, bound *int) {
	Int(f, bound, "bound", 0, 0, Many, "largest number of nodes of a neighbourhood, k or more, which bounds the cost of a field beside a hub; 0 = no bound, exact")
}

// CheckBound returns an error for a -bound below k.
func CheckBound(bound, k int) error {
	if bound != 0 && bound < k {
		return fmt.Errorf("-bound is %d, want 0 or at least k, %d", bound, k)
	}
	return nil
}

// Range makes Parse refuse a value of a flag below least, above most, or NaN. p is the value of the flag.
func Range[T cmp.Ordered](f *flag.FlagSet, p *T, name string, least, most T) {
	want := fmt.Errorf("want %v to %v", least, most)
	// A switch does not compile: Many equals MaxInt on 32 bits.
	if slices.Contains([]any{Many, math.MaxInt, int64(math.MaxInt64), time.Duration(math.MaxInt64), math.MaxFloat64}, any(most)) {
		want = fmt.Errorf("want %v or more", least)
	}
	one := f.Lookup(name)
	one.Value = &ranged{one.Value, func() error {
		if *p >= least && *p <= most {
			return nil
		}
		return want
	}}
}

// ranged is a value with a check.
type ranged struct {
	flag.Value
	check func() error
}

func (r *ranged) Set(text string) error {
	if ofSource.MatchString(text) { // as a number of Go 010 is 8
		return errDecimal
	}
	return cmp.Or(r.Value.Set(text), r.check())
}

var errDecimal = errors.New("want a decimal number")

// ofSource matches numbers in forms of Go source that are not decimal.
var ofSource = regexp.MustCompile(`_|^[+-]?0[xXbBoO]|^[+-]?0[0-9]+$`)

var refused = regexp.MustCompile(`^invalid value "(.*)" for flag (-\S+): (want .*)$`)

// Distinct reports a flag of outputs that names the same file as another flag of outputs or inputs, also
// by another path. Flags without a value are left out.
func Distinct(f *flag.FlagSet, outputs, inputs []string) error {
	file := func(name string) string {
		one := f.Lookup(name)
		if one == nil || one.Value.String() == "" {
			return ""
		}
		path, err := filepath.Abs(one.Value.String())
		if err != nil { // without a working directory the value is compared
			return one.Value.String()
		}
		return path
	}
	for i, name := range outputs {
		path := file(name)
		if path == "" || special(path) {
			continue
		}
		info, err := os.Stat(path)
		for _, other := range slices.Concat(outputs[:i], inputs) {
			with := file(other)
			if with == "" {
				continue
			}
			there, missing := os.Stat(with)
			if path == with || err == nil && missing == nil && os.SameFile(info, there) {
				return Usage(fmt.Errorf("-%s is the file of -%s, want another: %s", name, other, f.Lookup(name).Value))
			}
		}
	}
	return nil
}

// Setting is a value that decides the results of a run.
func Setting(name string, value any) store.Setting {
	return store.Setting{Name: name, Value: fmt.Sprint(value)}
}
