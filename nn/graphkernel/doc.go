// Package graphkernel has graph kernels and a support vector machine, the baselines of the
// PATCHY-SAN paper.
//
// A kernel makes a [Gram] matrix of n·n similarities of float64, row-major and
// symmetric: [GramOf] compares counts of substructures by products, cosines or minima. An [SVM] learns
// from some rows of a matrix. [SVM.Path] fits one for each cost on a split of package validation, and scores it.
//
// Counts are borrowed during a call. A method that lends its result documents it.
//
// Numbers that are not finite, counts whose similarity to themselves is not, and
// matrices that are not symmetric are errors, which name the row.
//
// Results do not depend on the number of workers.
//
// Sources: Cortes and Vapnik, "Support-vector networks", 1995; Fan, Chen and Lin,
// "Working set selection using second order information", 2005.
package graphkernel
