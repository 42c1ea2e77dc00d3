// Command sanflow trains models on your own graphs, nodes or links, and serves them:
//
//	sanflow train -task graphs -data MUTAG -budget 30s -out mutag.model -json train.json
//	sanflow evaluate -model mutag.model -data MUTAG
//	sanflow predict -model mutag.model -data MUTAG -out scores.csv
//	sanflow explain -model mutag.model -data MUTAG -graph 17 -html why.html
//	sanflow atlas -model mutag.model -data MUTAG -html atlas.html
//	sanflow serve -model mutag.model -listen localhost:8080
//	sanflow export -data MUTAG -k 10 -out mutag
//	sanflow inspect mutag.model
//
//	sanflow train -task nodes -edges payments.parquet -source from -target to -type type \
//		-nodes people.csv -id name -class role -out people.model
//	sanflow predict -model people.model -edges … -nodes … -out scores.parquet
//	sanflow explain -model people.model -edges … -nodes … -of alice -html why.html
//
// train deals the rows whose class is known into two thirds to learn from, a sixth to
// choose by and a sixth to test on, or takes the parts of -part. It tries the systems of
// its list in order, as long as -budget lasts, and keeps the model that is best on the
// rows to choose by. -systems with those that were tried repeats the model byte for byte.
// If classes are unbalanced, -score auc, ap or balanced chooses by that in place of the
// accuracy, which the largest class alone makes high. Of two classes auc and ap are about the
// rarer one, or that of -positive. -balance keeps the shares of the classes
// in the model, and answers are then as if classes were equally frequent: more of each class is
// right on average, less of all rows. The AUC of two classes stays. Use it if an error in a
// rare class costs more; leave it if each row counts the same or rows are ranked.
//
// A train that was killed is resumed by the same command: FILE.train beside -out holds the
// progress.
//
// The exit code is 0 on success, 1 on failure, 2 for an invalid command line and 130 after
// an interrupt.
package main

import "github.com/sanflow/sanflow/examples/sanflow/command"

func main() { command.Main() }
