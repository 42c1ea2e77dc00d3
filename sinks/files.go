package sinks

import (
	"github.com/sanflow/sanflow/sinks/collect"
	"github.com/sanflow/sanflow/sinks/ipc"
)

// IPC writes records as Arrow IPC files and streams.
type IPC = ipc.Sink

// Collect keeps the stream in memory. Its methods Records() and Rows() return the records and the
// number of rows; Release() releases the records, which are invalid afterwards.
type Collect = collect.Sink
