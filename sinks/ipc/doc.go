// Package ipc writes records as Arrow IPC, for readers of Arrow and Feather.
// sources.IPC and sources.Mapped read the same records back.
//
//	err := flow.From(src).
//		Via(operators.Select{W: 18}).
//		Via(operators.Assemble{K: 10}).
//		Via(operators.Normalize{}).
//		To(ipc.Sink{Dir: "fields"}).
//		Run(ctx)
//
// Package sinks has it as sinks.IPC. A program that imports package ipc instead does not link
// package nn.
package ipc
