// Package cli is what the examples share: an end by Ctrl-C, errors in one
// line, a progress bar, and files that appear whole or not at all.
//
//	func main() { cli.Main("fields", run) }
//
//	func run(ctx context.Context, args []string) error {
//		flags := cli.Flags("fields", "makes the receptive fields of a graph.")
//		k := flags.Int("k", 10, "nodes per field")
//		if err := cli.Parse(flags, args); err != nil {
//			return err
//		}
//		…
//	}
package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"
)

// ErrInterrupted is why a context of Main ended when the user asked for it.
var ErrInterrupted = errors.New("interrupted")

// Usage marks an error of the command line, after which the exit code is 2.
func Usage(err error) error { return &usageError{err} }

type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// Main runs an example and exits: with status 0 when run returned nil,
// otherwise with 1, with 2 where the flags are at fault, or 130 after an interrupt,
// and the error in one line on standard error.
func Main(name string, run func(ctx context.Context, args []string) error) {
	ctx, stop := withSignals(context.Background())
	err := run(ctx, os.Args[1:])
	stop()
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return
	case errors.Is(context.Cause(ctx), ErrInterrupted) && (errors.Is(err, ErrInterrupted) || errors.Is(err, context.Canceled)):
		fmt.Fprintf(os.Stderr, "%s: interrupted\n", name)
		os.Exit(130)
	}
	fmt.Fprintf(os.Stderr, "%s: %s\n", name, oneLine(err))
	if usage := new(usageError); errors.As(err, &usage) {
		os.Exit(2)
	}
	os.Exit(1)
}

// withSignals returns a context that an interrupt or a polite kill ends. A
// second one kills the process in the usual way.
func withSignals(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-c:
			cancel(ErrInterrupted)
		case <-ctx.Done():
		}
		signal.Stop(c)
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// List is the value of a flag that may be given several times.
type List []string

func (l *List) String() string { return strings.Join(*l, ",") }

// Set adds a value.
func (l *List) Set(text string) error {
	*l = append(*l, text)
	return nil
}

// ParseOnce is Parse, and refuses a flag with two different values, of which the second would take
// the place of the first, unless it is a List.
func ParseOnce(f *flag.FlagSet, args []string) error {
	if err := Parse(f, args); err != nil {
		return err
	}
	given := map[string]string{}
	for ; len(args) > 0; args = args[1:] {
		name, value, has := strings.Cut(strings.TrimLeft(args[0], "-"), "=")
		one := f.Lookup(name)
		if one == nil { // the -- behind flags
			continue
		}
		alone, _ := one.Value.(interface{ IsBoolFlag() bool })
		if !has && (alone == nil || !alone.IsBoolFlag()) {
			args = args[1:]
			value = args[0]
		}
		before, ok := given[name]
		if _, list := one.Value.(*List); ok && before != value && !list {
			return Usage(fmt.Errorf("-%s is given twice, as %.80q and as %.80q, want it once", name, before, value))
		}
		given[name] = value
	}
	return nil
}

// Parse parses args. Help goes to standard output; anything else that is wrong
// is a Usage error in one line. Arguments that are no flags are an error.
func Parse(f *flag.FlagSet, args []string) error {
	err := ParseArgs(f, args)
	if err == nil && f.NArg() > 0 {
		return Usage(fmt.Errorf("unexpected argument %q (-h lists the flags)", f.Arg(0)))
	}
	return err
}

// ParseArgs is Parse for a command that takes arguments behind its flags.
func ParseArgs(f *flag.FlagSet, args []string) error {
	f.SetOutput(io.Discard)
	usage := f.Usage
	f.Usage = func() {}
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		f.SetOutput(os.Stdout)
		usage()
		return err
	case err != nil:
		return Usage(fmt.Errorf("%s (-h lists the flags)", explain(f, err)))
	}
	return nil
}

// Given returns the names of the flags that were given, ascending.
func Given(f *flag.FlagSet) (names []string) {
	f.Visit(func(one *flag.Flag) { names = append(names, one.Name) })
	return names
}

// explain says what a flag takes, where the error is that its value is none.
func explain(f *flag.FlagSet, err error) string {
	if refused.MatchString(err.Error()) {
		return refused.ReplaceAllString(err.Error(), "$2 is $1, $3")
	}
	text, bad := strings.CutSuffix(err.Error(), ": parse error")
	_, name, named := strings.Cut(text, " for flag -")
	if !bad || !named || f.Lookup(name) == nil {
		return err.Error()
	}
	value := f.Lookup(name).Value
	if r, ok := value.(*ranged); ok {
		value = r.Value
	}
	get, ok := value.(flag.Getter)
	if !ok {
		return err.Error()
	}
	switch get.Get().(type) {
	case time.Duration:
		return text + ": want a time such as 90s, 10m or 1h30m"
	case int, int64, uint, uint64:
		return text + ": want a whole number"
	case float64:
		return text + ": want a number"
	}
	return err.Error()
}

// Progress is a progress bar on standard error, where that is a terminal. Its
// methods may be called from any goroutine, and on a nil Progress.
type Progress struct{ bar *progressbar.ProgressBar }

// NewProgress starts a bar of total steps; -1 = unknown.
func NewProgress(what string, total int64) *Progress { return newProgress(what, total, false) }

// NewBytes starts a bar of so many bytes; 0 = unknown.
func NewBytes(what string, total int64) *Progress {
	if total <= 0 {
		total = -1
	}
	return newProgress(what, total, true)
}

func newProgress(what string, total int64, bytes bool) *Progress {
	if !terminal(os.Stderr) {
		return nil
	}
	return &Progress{progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(os.Stderr),
		progressbar.OptionSetDescription(fmt.Sprintf("%-22s", what)),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetWidth(30),
		progressbar.OptionShowCount(),
		progressbar.OptionShowBytes(bytes),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(),
	)}
}

func terminal(f *os.File) bool {
	s, err := f.Stat()
	return err == nil && s.Mode()&os.ModeCharDevice != 0
}

// Add makes n steps.
func (p *Progress) Add(n int64) {
	if p != nil {
		_ = p.bar.Add64(n) // a bar that cannot be drawn is no reason to stop
	}
}

// Write makes as many steps as there are bytes.
func (p *Progress) Write(b []byte) (int, error) {
	p.Add(int64(len(b)))
	return len(b), nil
}

// Total says how many steps there are, as soon as that is known.
func (p *Progress) Total(n int64) {
	if p != nil && n != p.bar.GetMax64() {
		p.bar.ChangeMax64(n)
	}
}

// Set says where things stand.
func (p *Progress) Set(n int64) {
	if p != nil {
		_ = p.bar.Set64(n)
	}
}

// Done takes the bar away.
func (p *Progress) Done() {
	if p != nil {
		_ = p.bar.Clear()
	}
}

// Files are the files that a command writes, by their paths. Each gets its name when it is
// complete. The path "" is that of a file that is not wanted.
type Files map[string]*Stream

// CreateAll begins files. It fails at once where one of them cannot be written to, before any
// long work.
func CreateAll(paths ...string) (Files, error) {
	files := Files{}
	for _, path := range paths {
		if path == "" {
			continue
		}
		f, err := CreateStream(path)
		if err != nil {
			files.Cleanup()
			return nil, err
		}
		files[path] = f
	}
	return files, nil
}

// Cleanup removes the files that are not finished.
func (f Files) Cleanup() {
	for _, one := range f {
		one.Cleanup()
	}
}

// JSON writes v, indented, and gives the file its name.
func (f Files) JSON(path string, v any) error {
	return f.Finish(path, func() ([]byte, error) {
		b, err := json.MarshalIndent(v, "", "  ")
		return append(b, '\n'), err
	})
}

// Page writes what write does, such as page.Atlas.Write or sinks.Write, and gives the file its name.
func (f Files) Page(path string, write func(io.Writer) error) error {
	return f.Finish(path, func() ([]byte, error) {
		var b bytes.Buffer
		err := write(&b)
		return b.Bytes(), err
	})
}

// Finish writes the content and gives the file its name. It calls content if the file is wanted.
func (f Files) Finish(path string, content func() ([]byte, error)) error {
	one := f[path]
	if one == nil {
		return nil
	}
	b, err := content()
	if err != nil {
		return err
	}
	if _, err := one.Write(b); err != nil {
		return err
	}
	return one.Finish()
}

// DataName is what the data of a path are called in a report: MUTAG for
// sets/MUTAG.zip, power for power.edges.gz.
func DataName(path string) string {
	name := filepath.Base(filepath.Clean(path))
	for _, end := range []string{".gz", ".zst", ".zip", ".txt", ".edges", ".csv", ".tsv", ".jsonl", ".parquet"} {
		name = strings.TrimSuffix(name, end)
	}
	return name
}
