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
// With unbalanced classes the accuracy is a weak measure, because the largest class alone classifies most rows
// correctly. Compare models by ROC or Precision, which depend on the order of rows alone, or by Balanced. Choose
// epochs and models by the same measure (sinks.Fit.Measure, choose.Choice.Measure). sinks.Prior predicts as if
// classes were equally frequent (choose.Choice.Balance, sanflow train -balance): it moves the threshold, without
// another training. On validation parts of Tox21_AHR, where the second class has 12 % of the rows, nn.Best with
// epochs by the held-out loss has a balanced accuracy of 75.7 %, and 84.2 % with Prior (three seeds). The accuracy
// falls from 93.1 to 86.5 %. Use the accuracy, without Prior, if each row counts the same; ROC or Precision if rows
// are ranked; Balanced and Prior if each class counts the same.
//
// Losses have no class weights. Repeating the rows of a rare class, which is equivalent, was not better than Prior
// on three collections (Tox21_AHR 83.6 %, Prior 84.2 %; a generated one with 5 % of a class 96.3 and 99.8 %), and
// makes an epoch up to twice as long. Both together are worse than Prior alone.
//
// The same Seed gives the same splits in every release of Go. Command benchmark has nested
// cross-validations by them.
//
// Sources: Nadeau and Bengio, "Inference for the generalization error", Machine
// Learning 52, 2003.
package validation
