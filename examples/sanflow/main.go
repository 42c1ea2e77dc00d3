// Command sanflow trains models on your own graphs, nodes, links or rows, and serves them:
//
//	sanflow init people.csv payments.csv
//	sanflow train -data MUTAG -budget 30s -out mutag.model
//	sanflow serve -model mutag.model -listen localhost:8080
//
// sanflow help lists the commands, and sanflow help COMMAND its flags, with examples.
//
// train deals the rows whose class is known into two thirds to learn from, a sixth to
// choose by and a sixth to test on, or takes the parts of -part. It tries the systems of
// its list in order, as long as -budget lasts, and keeps the model that is best on the
// rows to choose by. -systems with those that were tried repeats the model byte for byte.
//
// A train that was killed is resumed by the same command: FILE.train beside -out holds the
// progress.
//
// The exit code is 0 on success, 1 on failure, 2 for an invalid command line and 130 after
// an interrupt.
package main

import "github.com/sanflow/sanflow/examples/sanflow/command"

func main() { command.Main() }
