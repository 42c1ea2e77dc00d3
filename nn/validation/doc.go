// Package validation measures how well a method predicts rows that it has not
// learned from, and whether one way is better than another.
//
//	Folds             splits of rows, each row tested once, classes spread evenly
//	Corrected         the mean of differences and its corrected standard error
//	ReadSplits        splits that others have published
//	Measure           ten scores of Answers, by name: accuracy, AUC, log loss, RMSE …
//	AUC               the area under the ROC curve of scores; AveragePrecision; Rank
//
// Rows are numbered from 0; class[r] is the class of row r. A [Split] has the rows to
// learn from and the rows to test on, both ascending if the rows are. Accuracy and
// differences are in percentage points. Slices of a caller are borrowed during a call;
// results belong to the caller.
//
// If classes are unbalanced the accuracy says little, since the largest class alone has
// most rows right. Compare by ROC or Precision, which look at the order of rows alone, or by
// Balanced; choose epochs and models by the same, sinks.Fit.Measure and choose.Choice.Measure; and let sinks.Prior answer as if classes were equally frequent
// (choose.Choice.Balance, sanflow train -balance). That moves the threshold and needs no other
// training. On validation parts of Tox21_AHR, of which 12 % are of the second class, nn.Best
// with its epochs by the held-out loss has a balanced accuracy of 75.7 %, with Prior 84.2 %
// (three seeds); the accuracy falls
// from 93.1 to 86.5 %. Use the accuracy, and no Prior, where each row counts the same; ROC or
// Precision where rows are ranked; Balanced and Prior where each class counts the same.
//
// There are no weights of classes in a loss: repeating the rows of a rare class as often as
// those of the largest one, which is the same, was not better than Prior on any of three
// collections (Tox21_AHR 83.6 %, and 84.2 by Prior; a generated one with 5 % of a class 96.3,
// and 99.8), and makes an epoch up to twice as long. Both together are worse than Prior alone.
//
// The same Seed gives the same splits in every release of Go. Command benchmark has nested
// cross-validations by them.
//
// Sources: Nadeau and Bengio, "Inference for the generalization error", Machine
// Learning 52, 2003.
package validation
