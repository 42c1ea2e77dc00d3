package flow

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// errExit is what runtime.Goexit in a stage becomes; t.FailNow calls it too.
var errExit = errors.New("the stage has ended its goroutine by runtime.Goexit")

// guard calls f, which is code of a stage, and returns its panic as an error.
// If f ends the goroutine, nothing can be returned: exit is told, and what
// the caller has to do all the same it does in deferred functions.
func guard(f func() error, exit func(error)) (err error) {
	returned := false
	faults := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(faults)
		if v := recover(); v != nil {
			err = &PanicError{Value: explain(v), line: panicLine(), Stack: debug.Stack()}
		} else if !returned {
			exit(errExit)
		}
	}()
	err = f()
	returned = true
	return err
}

// explain says what a fault at an address means: the runtime calls it a nil pointer.
func explain(v any) any {
	fault, ok := v.(interface {
		error
		Addr() uintptr
	})
	if !ok {
		return v
	}
	return fmt.Errorf("the stage uses memory of a record after its release, or of a mapped file that has become shorter (%w at %#x)", fault, fault.Addr())
}

// attend calls f on a goroutine of its own and waits for its end, so that
// the caller goes on where code of a stage ends that goroutine.
func attend(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// PanicError is the error of a panic inside a stage.
type PanicError struct {
	Value any
	Stack []byte

	line   string // where it happened, like "operators/select.go:120"
	graphs string // those of the current record, if the failing graph is unknown
}

// Error is one line, like "panic: index out of range [5] with length 3
// (operators/select.go:120)".
func (e *PanicError) Error() string {
	text := "panic: " + strings.Join(strings.Fields(fmt.Sprint(e.Value)), " ")
	where := slices.DeleteFunc([]string{e.line, e.graphs}, func(s string) bool { return s == "" })
	if len(where) > 0 {
		text += " (" + strings.Join(where, ", ") + ")"
	}
	return text
}

// Unwrap returns the value of the panic where that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// panicLine returns the folder, file and line of the panic that a deferred
// function has recovered from: the first frame behind those of the runtime.
func panicLine() string {
	var pc [64]uintptr
	frames := runtime.CallersFrames(pc[:runtime.Callers(2, pc[:])])
	panicked := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			panicked = true
		case panicked && !strings.HasPrefix(f.Function, "runtime."):
			return fmt.Sprintf("%s:%d", path.Join(path.Base(path.Dir(f.File)), path.Base(f.File)), f.Line)
		}
		if !more {
			return ""
		}
	}
}
