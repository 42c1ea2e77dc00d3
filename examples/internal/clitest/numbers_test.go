package clitest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/internal/race"
)

// others are arguments that TestNumbers gives each command beside a number.
var others = map[string][]string{
	// Of a command with words each has its own arguments. MODEL is what withModel makes.
	"benchmark":                 {"-systems size,wl -folds 3 -repeats 1", "-systems pslr,k5 -folds 3 -repeats 1"},
	"benchmark -task=graphs":    {"-epochs 1 -folds 2", "-epochs 1 -folds 2 -field-edges -pretrain rbm", "-epochs 1 -folds 2 -model-kind best"},
	"benchmark -task=labelings": {"-pairs 50"},
	"benchmark -task=links":     {"-systems words -repeats 1", "-systems linear -repeats 1"},
	"benchmark -task=nodes":     {"-systems linear"},
	"cluster":                   {"-workers 0 -epochs 1", "-workers 1 -graph torus -n 300 -k 4"},
	"embed":                     {"-learn 60"},
	"motifs":                    {"-epochs 1", "-epochs 1 -graph random -n 300"},
	"ownoperator":               {"-graphs 48"},
	"sanflow export":            {"-n 300", "-n 300 -graph preferential -out x", "-graph random -graphs -as edges -n 300 -out x", "-graph rmat -n 300 -out x.jsonl", "-n 300 -graph torus -as jsonl"},
	"sanflow train":             {"-systems linear"},
	"sanflow evaluate":          {"-model MODEL"},
	"sanflow predict":           {"-model MODEL"},
	"sanflow serve":             {"-model MODEL -listen localhost:0"},
	"stream":                    {"-graphs 100"},
	"temporal":                  {"-n 100 -candidates 20", "-n 100 -task fields -k 3"},
	"throughput":                {"-graphs torus -n 300 -k 5 -seconds 0.01", "-graphs preferential,rmat -n 300 -k 5 -seconds 0.01"},
}

// withModel are the commands that make a model first.
var withModel = map[string]string{"sanflow": "train -systems linear -out"}

// TestNumbers gives each flag of a command that takes a number, a time or a list of numbers, which
// it finds by -h, numbers that are negative, zero, huge, infinite or none. The command must end
// well, or refuse the number in one line that names the flag, or end soon after an interrupt: in
// bounded memory. The numbers of a flag take turns through the other arguments, and flags take turns
// through the numbers. With SANFLOW_LONG set each number is given to each flag beside all arguments,
// there are more numbers, and the command runs for longer.
func TestNumbers(t *testing.T) {
	if race.Enabled || runtime.GOOS != "linux" {
		t.Skip("memory cannot be limited here")
	}
	if testing.Short() {
		t.Skip("many runs of a command")
	}
	commands, err := exec.Command("go", "list", "-f", `{{if eq .Name "main"}}{{.Dir}}{{end}}`, "../../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range strings.Fields(string(commands)) {
		name, binary, model := filepath.Base(dir), linked(t, dir), filepath.Join(t.TempDir(), "model")
		if args := strings.Fields(withModel[name]); len(args) > 0 {
			if out, err := exec.Command(binary, append(args, model)...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		any := false
		for words, with := range others {
			first, word, _ := strings.Cut(words, " ")
			if first == name {
				testNumbers(t, binary, word, with, model)
				any = true
			}
		}
		if !any {
			t.Errorf("there are no arguments for %s", name)
		}
	}
}

// linked returns the path of a command in the build cache, where go run keeps what it links. The first
// run after a change links, and prints a path that is gone when it ends.
func linked(t *testing.T, dir string) (path string) {
	t.Helper()
	for range 2 {
		out, err := exec.Command("go", "run", "-exec", "echo", dir).Output()
		if err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		path = strings.TrimSpace(string(out))
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	t.Fatalf("%s: no %s", dir, path)
	return ""
}

// testNumbers gives the flags of a command, or of a word of it, numbers beside other arguments.
func testNumbers(t *testing.T, command, word string, others []string, model string) {
	flags, long := numericFlags(t, command, word), os.Getenv("SANFLOW_LONG") != ""
	for f, name := range slices.Sorted(maps.Keys(flags)) {
		for o, other := range others {
			if strings.Contains(" "+other+" ", " -"+name+" ") {
				other = withoutFlag(other, name)
			}
			for v, value := range numbers(flags[name]) {
				if !long && ((f+o+v)%len(others) != 0 || (f/2+v)%2 != 0) {
					continue
				}
				t.Run(fmt.Sprintf("%s %s %s -%s %s", filepath.Base(command), word, other, name, value), func(t *testing.T) {
					t.Parallel()
					args := strings.Fields(word + " " + strings.ReplaceAll(other, "MODEL", model))
					number(t, command, name, append(args, "-"+name, value))
				})
			}
		}
	}
}

// limited runs a command that may map 3 GiB.
func limited(command string, args ...string) *exec.Cmd {
	return exec.Command("sh", append([]string{"-c", `ulimit -v 3145728; exec "$0" "$@"`, command}, args...)...)
}

var (
	helpLine    = regexp.MustCompile(`(?m)^  -(\S+)(?: (\S+))?\n((?:    .*\n?)*)`)
	helpDefault = regexp.MustCompile(`\(default "[0-9.,]+"\)\s*$`)
)

// numericFlags returns the type of each flag that takes a number.
func numericFlags(t *testing.T, command, word string) map[string]string {
	t.Helper()
	help, err := limited(command, append(strings.Fields(word), "-h")...).Output()
	if err != nil {
		t.Fatalf("%s -h: %v", command, err)
	}
	flags := map[string]string{}
	for _, m := range helpLine.FindAllStringSubmatch(string(help), -1) {
		switch name, kind, usage := m[1], m[2], m[3]; {
		case kind == "int", kind == "uint", kind == "float", kind == "duration":
			flags[name] = kind
		case kind == "string" && helpDefault.MatchString(usage):
			flags[name] = "int"
		}
	}
	if len(flags) == 0 {
		t.Errorf("no numeric flag in\n%s", help)
	}
	return flags
}

// numbers returns what a flag of a type is given.
func numbers(kind string) (values []string) {
	long := os.Getenv("SANFLOW_LONG") != ""
	switch kind {
	case "float":
		values = []string{"-1", "0", "NaN", "Inf", "1e300"}
		if long {
			values = append(values, "-Inf", "1e-300", "1e38", "2147483648")
		}
	case "duration":
		values = []string{"-1s", "0", fmt.Sprint(int64(math.MaxInt64), "ns")}
		if long {
			values = append(values, fmt.Sprint(int64(math.MinInt64), "ns"), "1ns")
		}
	default:
		values = []string{"-1", "0", "2147483648", fmt.Sprint(int64(math.MaxInt64))}
		if long {
			values = append(values, fmt.Sprint(int64(math.MinInt64)), "1", "2147483647", "4294967296", "1000000000", "1000000")
		}
	}
	return values
}

func withoutFlag(args, name string) string {
	words := strings.Fields(args)
	for i, w := range words {
		if w == "-"+name {
			return strings.Join(append(words[:i:i], words[i+2:]...), " ")
		}
	}
	return args
}

// number runs the command with a number for one flag.
func number(t *testing.T, command, name string, args []string) {
	wait, patience := 100*time.Millisecond, 15*time.Second
	if os.Getenv("SANFLOW_LONG") != "" {
		wait = 3 * time.Second
	}
	var out bytes.Buffer
	cmd := limited(command, args...)
	cmd.Dir, cmd.Stderr = t.TempDir(), &out
	cmd.Env = append(os.Environ(), "SANFLOW_DATA="+t.TempDir(), "HTTPS_PROXY=http://127.0.0.1:1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	interrupt := time.AfterFunc(wait, func() { _ = cmd.Process.Signal(os.Interrupt) })
	kill := time.AfterFunc(wait+patience, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	interrupt.Stop()
	killed := !kill.Stop()
	text := strings.TrimSpace(out.String())
	lines := strings.Split(text, "\n")
	last := lines[len(lines)-1]
	var exit *exec.ExitError
	switch {
	case killed:
		t.Errorf("not ended %v after an interrupt", patience)
	case err == nil:
	case !errors.As(err, &exit):
		t.Error(err)
	case exit.ExitCode() == 130, exit.Error() == "signal: interrupt": // before it was heard
	case exit.ExitCode() != 1 && exit.ExitCode() != 2:
		t.Errorf("%v:\n%s", err, strings.Join(lines[:min(len(lines), 12)], "\n"))
	case !regexp.MustCompile(`-` + regexp.QuoteMeta(name) + `\b`).MatchString(last):
		t.Errorf("the error does not name -%s: %s", name, last)
	}
}
