package cli

import (
	"errors"
	"flag"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOneLine(t *testing.T) {
	err := errors.Join(errors.New("-folds is 0"), errors.New("-nets is 0"), errors.New("a\ttable\n\n"))
	if got, want := oneLine(err), "-folds is 0; -nets is 0; a table"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A name stands for a path, or else for a file in a folder of SANFLOW_DATA.
func TestGiven(t *testing.T) {
	f := Flags("x", "")
	for _, name := range []string{"a", "b", "c"} {
		f.Int(name, 0, "")
	}
	if err := Parse(f, []string{"-c", "0", "-b", "1"}); err != nil {
		t.Fatal(err)
	}
	if got := Given(f); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("given: %v", got)
	}
}

// A number out of the range of a flag is refused by the name of the flag, and
// -h shows the types of such flags.
func TestRange(t *testing.T) {
	some := func() *flag.FlagSet {
		f := Flags("test", "tests.")
		var k, workers int
		var rate float64
		var limit time.Duration
		K(f, &k, "")
		Workers(f, &workers)
		Float(f, &rate, "rate", 1, 0, 10, "a rate")
		f.DurationVar(&limit, "limit", 0, "a limit")
		Range(f, &limit, "limit", 0, math.MaxInt64)
		return f
	}
	for _, c := range []struct{ args, want string }{
		{"-k 0", "-k is 0, want 1 to 256 (-h lists the flags)"},
		{"-k 257", "-k is 257, want 1 to 256 (-h lists the flags)"},
		{"-rate NaN", "-rate is NaN, want 0 to 10 (-h lists the flags)"},
		{"-limit -1s", "-limit is -1s, want 0s or more (-h lists the flags)"},
		{"-workers -1", "-workers is -1, want 0 or more (-h lists the flags)"},
		{"-k ten", `invalid value "ten" for flag -k: want a whole number (-h lists the flags)`},
		{"-k 010", "-k is 010, want a decimal number (-h lists the flags)"}, // not 8
		{"-k 1_0", "-k is 1_0, want a decimal number (-h lists the flags)"},
		{"-k 0x10", "-k is 0x10, want a decimal number (-h lists the flags)"},
		{"-rate 0x1p2", "-rate is 0x1p2, want a decimal number (-h lists the flags)"},
		{"-workers 0 -rate 0.5 -k 10 -limit 0", ""},
		{"-k 256 -rate 10 -workers 1000000 -limit 1h", ""},
	} {
		f := some()
		switch err := Parse(f, strings.Fields(c.args)); {
		case err == nil && c.want == "":
		case err == nil || err.Error() != c.want:
			t.Errorf("%s: %v, want %s", c.args, err, c.want)
		}
	}
	f := some()
	var help strings.Builder
	(&Help{f}).Print(&help, "")
	for _, line := range []string{"-k int\n", "-rate float\n", "-limit duration\n", "(default 10)"} {
		if !strings.Contains(help.String(), line) {
			t.Errorf("no %q in %s", line, help.String())
		}
	}
}

// An output is no file of another flag, whatever its path.
func TestDistinct(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(name, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	linked := os.Symlink("a", "link") == nil // Windows may not allow it
	for args, want := range map[string]string{
		"-out a -json b -data c":          "",
		"-data a -nodes a":                "",
		"-out a -data a":                  "-out is the file of -data, want another: a",
		"-out ./x/../a -nodes a":          "-out is the file of -nodes, want another: ./x/../a",
		"-out new -json ./new":            "-json is the file of -out, want another: ./new",
		"-json link -data a":              "-json is the file of -data, want another: link",
		"-out /dev/null -json /dev/null":  "",
		"-out link -json other -nodes ./": "",
	} {
		if strings.Contains(args, "link") && !linked || strings.Contains(args, "/dev/") && runtime.GOOS == "windows" {
			continue
		}
		f := Flags("x", "")
		for _, name := range []string{"out", "json", "data", "nodes"} {
			f.String(name, "", "")
		}
		if err := Parse(f, strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		err := Distinct(f, []string{"out", "json", "html"}, []string{"data", "nodes"})
		if usage := new(usageError); err == nil && want != "" || err != nil && (err.Error() != want || !errors.As(err, &usage)) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}
