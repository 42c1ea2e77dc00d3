// Package parquet reads records of graphs or of fields from Parquet files of package sinks/parquet,
// with the original schema and metadata, and of DuckDB, Polars, pandas and others.
//
//	err := flow.From(parquet.Source{Path: "graphs.parquet"}).
//		Via(operators.Select{W: 18}).
//		…
//
// Table is a table for [sources.Tables]: edges or nodes with columns of numbers and
// strings. [sources.EdgeList] takes its first two columns as the ends of edges.
//
// It is a package of its own, so that only programs that import it link Parquet.
//
// Read are numbers, lists of them, and lists of lists, without nulls, in the
// encodings PLAIN, dictionary, DELTA_BINARY_PACKED and BYTE_STREAM_SPLIT, in
// pages of either version, plain or compressed by Snappy, Zstandard, gzip or
// LZ4_RAW.
//
// # Why not a library
//
// Because files come from strangers, and no library survives all of them. Three
// files, each damaged 3000 times, read within 4 GiB of address space:
//
//	                                        processes killed  panics  over 64 MiB allocated
//	this package                            0                 0       0
//	parquet-go v0.32.0                      1                 1       10, up to 2.1 GB
//	arrow-go v18.8, its table reader        6                 3       2
//	arrow-go v18.8, its column readers *    0                 12      0
//	Arrow v15, its table reader             2339              569     2
//
//	*: in the goroutine of the caller, under recover
//
// They take lengths in a file at their word, and read in goroutines of their own, where the caller
// cannot recover from a panic. This package reads column by column in the goroutine of the caller.
// It compares each length with the available bytes and with a budget before use. Of 93 MB it reads
// in 0.41 to 0.59 s; parquet-go takes 0.17 to 0.26 s, with values unchecked, arrow-go 0.7 to 1.1 s.
//
// # What is compared
//
// Rows are counted by the footer, its row groups, and the levels and values of
// each column, and all have to agree; a column names the encodings of its pages;
// pages fill its bytes; if a page has a checksum, it is compared. So a file
// that is read without an error has the rows that were written, unless values
// themselves were damaged in pages without a checksum.
package parquet
