package clitest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sanflow/sanflow/flow/flowtest/race"
)

// asCommand, in the environment of a test binary, makes it the command.
const asCommand = "SANFLOW_TEST_COMMAND"

// memory is what a command may map while Numbers runs it, in bytes.
const memory = 3 << 30

// Command runs the command in place of its tests, in a process that Numbers has
// started. It is for an init function.
func Command(main func()) {
	if os.Getenv(asCommand) == "" {
		return
	}
	limitMemory(memory)
	main()
	os.Exit(0)
}

// Numbers gives each flag of a command that takes a number, a time or a list of
// numbers, which it finds by -h, numbers that are negative, zero, huge, infinite or
// none, beside each of some other arguments. The command must end well, or refuse the
// number in one line that names the flag, or end soon after an interrupt: in bounded
// memory. With SANFLOW_LONG set there are more numbers, and the command runs for longer.
func Numbers(t *testing.T, others ...string) {
	if race.Enabled || !canLimit {
		t.Skip("memory cannot be limited here")
	}
	if testing.Short() {
		t.Skip("many runs of a command")
	}
	if len(others) == 0 {
		others = []string{""}
	}
	for name, kind := range numericFlags(t) {
		for _, other := range others {
			if strings.Contains(" "+other+" ", " -"+name+" ") {
				other = withoutFlag(other, name)
			}
			for _, value := range numbers(kind) {
				t.Run(fmt.Sprintf("%s -%s %s", other, name, value), func(t *testing.T) {
					t.Parallel()
					number(t, name, append(strings.Fields(other), "-"+name, value))
				})
			}
		}
	}
}

var (
	helpLine    = regexp.MustCompile(`(?m)^  -(\S+)(?: (\S+))?\n((?:    .*\n?)*)`)
	helpDefault = regexp.MustCompile(`\(default "[0-9.,]+"\)\s*$`)
)

// numericFlags returns the type of each flag that takes a number.
func numericFlags(t *testing.T) map[string]string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-h")
	cmd.Env = append(os.Environ(), asCommand+"=1")
	help, err := cmd.Output()
	if err != nil {
		t.Fatalf("-h: %v", err)
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
		t.Fatalf("no numeric flag in\n%s", help)
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
func number(t *testing.T, name string, args []string) {
	wait, patience := 150*time.Millisecond, 15*time.Second
	if os.Getenv("SANFLOW_LONG") != "" {
		wait = 3 * time.Second
	}
	var out bytes.Buffer
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir, cmd.Stderr = t.TempDir(), &out
	cmd.Env = append(os.Environ(), asCommand+"=1", "SANFLOW_DATA="+t.TempDir(), "HTTPS_PROXY=http://127.0.0.1:1")
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
	case exit.ExitCode() != 1:
		t.Errorf("%v:\n%s", err, strings.Join(lines[:min(len(lines), 12)], "\n"))
	case !regexp.MustCompile(`-` + regexp.QuoteMeta(name) + `\b`).MatchString(last):
		t.Errorf("the error does not name -%s: %s", name, last)
	}
}
