// Package part divides a large piece of work into parts: one part of the input becomes one file of
// the output.
//
// A [Plan] lists the parts. [Job.Do] makes one of them: it runs a pipeline over a part of the input
// and publishes one file, named by its number. A part is absent or whole, and a part that is made
// twice has the same bytes. So any program can do the work, on any number of machines, in any
// order, and a retry is harmless:
//
//	job := part.Job{
//		Plan: part.Plan{Recipe: fmt.Sprint(recipe), Input: digest, Parts: part.Cut(rows, 64)},
//		Out:  file.Dir{Path: "fields"},
//		Pipeline: func(in part.Input) flow.Pipeline {
//			return recipe.Onto(flow.From(part.Rows{Source: src, Input: in}))
//		},
//		Sink: func(w io.Writer) flow.Sink { return parquet.Sink{W: w} },
//	}
//	err := job.Run(ctx, part.Shard{}, nil) // all parts; Shard{I: 3, N: 8} is one of eight array jobs
//
// # Files
//
// The output is a [file.Bucket], such as a directory:
//
//	_plan.json          the plan; the first run writes it
//	part-00007.parquet  a part, when it is whole
//	_done-00007.json    its rows, bytes and SHA-256, written after the part
//	manifest.json       all parts (package manifest), written by the run that finds all of them
//
// A part without its _done file is absent: the next run makes it again. A bucket that has a
// manifest is complete, and is read like the output of any sink.
//
// # Promises
//
//   - The bytes of the output do not depend on which process makes which part, on kills, on repeats, or on the
//     order. TestKilled TestTwoRuns
//   - A part that is cut or changed is noticed by its digest, and the next run makes only that
//     part. TestDamage
//   - A plan of another version, recipe or input is refused in one line, and nothing is overwritten.
//     TestOtherPlan
//   - [Source] reads the parts in the order of their numbers, each once it is there, so a model that
//     learns from them has the bytes of one process. TestSource
package part
