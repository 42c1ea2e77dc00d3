package flow

import (
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/sanflow/sanflow/flow/record"
	"github.com/sanflow/sanflow/internal/pool"
)

// Options are the settings of a run. The zero value has good defaults.
type Options struct {
	// Workers is the number of goroutines for each stretch of stages that can be forked. The
	// results do not depend on it. The default is GOMAXPROCS; the maximum is 64 or GOMAXPROCS,
	// whichever is larger.
	Workers int
	// Buffer is the number of records that may wait between two stretches of stages. The default is 2, the
	// maximum 65536.
	Buffer int
	// Refused is the policy for rows that a stage refuses. The default is Stop.
	Refused Policy
	// DeadLetters receives the rows that were refused, one call at a time,
	// if Refused is Keep. An error ends the run, as an *Error of the stage "dead letters".
	DeadLetters func(Letter) error
	// Allocator allocates the records. The default is a record.Recycler for each run, which reuses
	// the memory of released records. With SANFLOW_MEM=poison in the environment the default is a
	// record.Poison, which ends the run at a stage that uses released memory.
	Allocator memory.Allocator
}

const mostBuffer = 1 << 16

// deadLetters is the Stage of an Error of Options.DeadLetters.
const deadLetters = "dead letters"

// poisonEnv is the environment variable for the default of Allocator.
const poisonEnv = "SANFLOW_MEM"

func (o Options) withDefaults() Options {
	o.Workers = pool.Workers(o.Workers, math.MaxInt)
	if o.Buffer == 0 {
		o.Buffer = 2
	}
	if o.Allocator == nil && os.Getenv(poisonEnv) == "poison" {
		o.Allocator = record.Poison{}
	}
	if o.Allocator == nil {
		o.Allocator = &record.Recycler{}
	}
	return o
}

func (o Options) check() error {
	switch {
	case o.Workers < 0:
		return fmt.Errorf("option Workers is %d, want 0 or more", o.Workers)
	case o.Buffer < 0 || o.Buffer > mostBuffer:
		return fmt.Errorf("option Buffer is %d, want 0 to %d", o.Buffer, mostBuffer)
	case o.Refused < Stop || o.Refused > Keep:
		return fmt.Errorf("option Refused is %v, want Stop, Skip or Keep", o.Refused)
	case o.Refused == Keep && o.DeadLetters == nil:
		return errors.New("option Refused is Keep, but DeadLetters is nil")
	}
	if v := os.Getenv(poisonEnv); v != "" && v != "poison" {
		return fmt.Errorf("the environment says %s=%s, want poison or nothing", poisonEnv, v)
	}
	return nil
}
