// Package kernel holds the float32 loops that training and inference spend
// their time in.
//
// Every kernel is a Go loop that is always compiled. Most have assembly: on amd64 for AVX2 with FMA, which a
// program uses where the processor has both, and on arm64 for NEON. On arm64 Sigmoid, Tanh, offsets,
// optimizers and the loops over rows of a table are Go loops. The tag noasm and other architectures leave the
// assembly out. The variants agree up to rounding. One variant gives the same bytes for the same input.
//
// # Measured
//
// GFLOP/s on one core, from left to right: plain Go, AVX2, and gonum's
// Sgemm in the same run:
//
//	                    Gemm               GemmTN             GemmNT
//	M×K×N               Go  AVX2  gonum    Go  AVX2  gonum    Go  AVX2  gonum
//	21×160×8 conv        3   105      4     6   100      4     6    84      4
//	275×160×8 conv       3   113      4     6   113      4     6   112      3
//	4096×160×8 conv      3   113      4     6   114      4     6   116      3
//	4096×70×16           4   120      7     7   119      7     6   110      6
//	32×72×128            4   117     20     6   119     14     5   107     23
//	32×168×128           4   116     20     6   120     15     5   108     23
//	32×2200×128          4   115     20     6   117     15     5   106     17
//	128×2200×128         4   118     16     6   114     15     5   115     17
//	32×128×2             1    27      1     3    15      1     3    32      1
//	32×128×11            3    80      5     6    72      5     6    96      5
//	10×81×100            4   112     19     7   106     12     6    82     21
//	100×81×100           4   115     14     8   115     14     6   107     15
//	512×512×512          4   114     14     7   103     14     4   119     16
//
// "conv" has overlapping rows, of A or of C (gonum: copied beforehand).
// The multipliers alone reach 122, BenchmarkPeak; the benchmarks report shares of
// that as %peak.
//
// Millions of values a second, plain Go and AVX2:
//
//	BiasReLU rows=21,c=8               2129  15739
//	BiasReLU rows=8800,c=8             2653  27366
//	BiasReLU rows=960,c=16             2810  21211
//	BiasReLU rows=32,c=128             3029  18428
//	AddBiasGrad rows=21,c=8            2287   4898
//	AddBiasGrad rows=8800,c=8          2431   7644
//	AddBiasGrad rows=960,c=16          2297  14887
//	AddBiasGrad rows=32,c=128          3446  14593
//	ReLUGrad n=168                     3290  17320
//	ReLUGrad n=4096                    3509  21609
//	ReLUGrad n=70400                    279  16771
//	Axpy n=128                         3570  14549
//	Axpy n=4096                        3702  21721
//	Dot n=128                          3039  15600
//	Dot n=4096                         2096  21729
//	RowOffsets w=30,n=10               1263   7461
//	GatherFields w=30,n=10,c=16        2544  13608
//	GatherFields w=30,n=10,c=128       3594  12045
//	ScatterFields w=30,n=10,c=16       2552  10829
//	ScatterFields w=30,n=10,c=128      3538  10870
//	RMSprop n=12000                     556   4462
//	RMSprop n=300000                    560   4303
//	Adam n=12000                        516   4155
//	Sigmoid n=4096                      136   2414
//	Tanh n=4096                          70   1691
//	AddRows c=20                       1730  13390
//	AddToRows c=20                     1041   5235
//	AdaGradRows c=20                    240    761
//
// Measured on a virtual machine with two loaded cores of an AMD EPYC of family 26 (Zen 5): the best of
// 12 runs (10 in the second table, 8 in its last three lines and 12 in those of AddBiasGrad,
// which were measured later) of
//
//	go test -run '^$' -bench . -benchtime 4ms -count 12 -cpu 1 ./nn/internal/kernel
//
// with Go 1.26.8.
//
// # Left out
//
// Assembly stays if it is worth 15 % per 100 lines in the benchmarks that reach it. Lines are those of the generators that
// wrote the assembly at the time. This was taken out, with the
// time of a training step without it, or of the step of an encoder (minimum of processor time, in turn):
//
//	AVX-512                      1.07, 500 lines
//	draws of an encoder          1.09, 170 lines
//	transposition                1.04, 48 lines
//	sums of columns, as a loop   1.01, 54 lines; now a product with a row of ones
//	exp in SoftmaxCE             1.01, 25 lines
//
// This stays: offsets 1.09 for 52 lines, RMSprop 1.3 for 42, Adam 1.26 for 49, Sigmoid 1.8 to 2.8 for 90 and
// Tanh 1.2 to 2.0 for 25 in the models that have them, loops over rows 1.7 to 2.8 for 250, Axpy 1.07 for 26,
// ScatterFields 1.16 for 45; Dot, ReLUGrad, BiasReLU and GatherFields more.
//
// NEON was not measured, because no such processor was available. Its tests run under qemu.
package kernel
