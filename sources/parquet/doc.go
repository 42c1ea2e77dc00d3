// Package parquet reads records of graphs, or of fields, from Parquet files:
// those of package sinks/parquet, with their schema and metadata as they were,
// and those of DuckDB, Polars, pandas and others.
//
//	err := flow.From(parquet.Source{Path: "graphs.parquet"}).
//		Via(operators.Select{W: 18}).
//		…
//
// It is a package of its own so that only those who use it link it.
//
// Read are numbers, lists of them, and lists of lists, without nulls, in the
// encodings PLAIN, dictionary, DELTA_BINARY_PACKED and BYTE_STREAM_SPLIT, in
// pages of either version, plain or compressed by Snappy, Zstandard, gzip or
// LZ4_RAW.
//
// Arrow's own reader takes lengths in a file at their word, and so a damaged
// file can make it allocate without bound, or end the process from one of its
// goroutines. This one reads column by column in the goroutine of the caller,
// and compares each length with the bytes that there are, and with a budget,
// before it is used.
package parquet
