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
// It is a package of its own, also known as sinks.IPC, so that who only writes
// files links no learning.
package ipc
