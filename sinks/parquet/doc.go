// Package parquet writes records as Parquet, for DuckDB, Polars, pandas and
// other readers. Package sources/parquet reads the same records back.
//
//	err := flow.From(src).
//		Via(operators.Select{W: 18}).
//		Via(operators.Assemble{K: 10}).
//		Via(operators.Normalize{}).
//		To(parquet.Sink{Dir: "fields"}).
//		Run(ctx)
//
// It is a package of its own, so that only programs that import it link Parquet.
//
// What columns become, of which no value is null; a missing number is NaN:
//
//	int32, int64            required int32, int64
//	float32, float64        required float, double
//	uint8, uint64           required int32 (UINT_8), int64 (UINT_64)
//	list<T>                 required LIST of optional T
//	list<list<T>>           required LIST of optional LIST of optional T
//	fixed_size_list<T>[n]   LIST as above, every row of n values
//	utf8, list<utf8>        required BYTE_ARRAY (STRING), LIST of these
//
// The Arrow schema, with the widths of fixed-size lists, shapes, channel and
// class names, is kept under the key ARROW:schema, as Arrow's own libraries do. The shapes
// of tensors are under the key shapes too, as JSON: {"members":[18,10],…}, of one row.
//
// Pages have a CRC-32 each, which many readers compare.
//
// The writer is part of this package, because plain columns of numbers need little of the format. For 40 000 rows of 630
// floats (101 MB) parquet-go v0.32 takes 1.7 s of processor time with a type of package reflect, 1.2 to 1.4 s with
// WriteRows, and 0.2 s with a struct type, which a schema known at run time does not have. This writer takes 0.01 s. The
// writers of Arrow lose fixed-size lists, or v15's does not link beside v18's.
package parquet
