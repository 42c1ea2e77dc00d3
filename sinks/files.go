package sinks

import (
	"github.com/sanflow/sanflow/sinks/collect"
	"github.com/sanflow/sanflow/sinks/ipc"
)

// IPC writes records as Arrow IPC files and streams.
type IPC = ipc.Sink

// Collect keeps the stream in memory: Records are its records until Release.
type Collect = collect.Sink
