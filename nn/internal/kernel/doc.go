// Package kernel holds the float32 loops that training and inference spend
// their time in.
//
// Every kernel is a Go loop that is always compiled. Most have assembly: on amd64 for AVX2 with FMA and
// for AVX-512, which a program chooses once at its start, and on arm64 for NEON. On arm64 the
// functions, offsets, optimizers and random draws are Go loops. The tag noasm and other architectures
// leave the assembly out. The variants agree up to rounding. One variant gives the same bytes for the
// same input.
//
// # Measured
//
// GFLOP/s on one core, from left to right: plain Go, AVX2, AVX-512, and gonum's
// Sgemm in the same run:
//
//	                     Gemm               GemmTN             GemmNT             512, % of peak
//	M×K×N                Go 256 512 gonum   Go 256 512 gonum   Go 256 512 gonum   Gemm  TN  NT
//	21×160×8 conv         3 105 192     4    6 100 170     4    6  84 136     4     72  64  51
//	275×160×8 conv        3 113 213     4    6 113 210     4    6 112 209     3     80  79  79
//	4096×160×8 conv       3 113 212     4    6 114 212     4    6 116 204     3     80  80  77
//	4096×70×16            4 120 210     7    7 119 187     7    6 110 171     6     79  71  65
//	32×72×128             4 117 252    20    6 119 240    14    5 107 161    23     95  91  61
//	32×168×128            4 116 252    20    6 120 239    15    5 108 186    23     95  90  70
//	32×2200×128           4 115 228    20    6 117 214    15    5 106 201    17     86  81  76
//	128×2200×128          4 118 252    16    6 114 236    15    5 115 238    17     95  89  90
//	32×128×2              1  27  48     1    3  15  45     1    3  32  39     1     18  17  15
//	32×128×11             3  80 143     5    6  72  91     5    6  96 165     5     54  34  62
//	10×81×100             4 112 221    19    7 106 183    12    6  82 128    21     83  69  48
//	100×81×100            4 115 224    14    8 115 220    14    6 107 202    15     85  83  76
//	512×512×512           4 114 249    14    7 103 248    14    4 119 241    16     94  94  91
//
// "conv" has overlapping rows, of A or of C (gonum: copied beforehand).
// The multipliers alone reach 122 (AVX2) and 265 (AVX-512), BenchmarkPeak; the
// last three columns are shares of that, which the benchmarks report as %peak.
//
// Millions of values a second, plain Go, AVX2, AVX-512:
//
//	BiasReLU rows=21,c=8               2129  15739
//	BiasReLU rows=8800,c=8             2653  27366
//	BiasReLU rows=960,c=16             2810  21211
//	BiasReLU rows=32,c=128             3029  18428
//	AddBiasGrad rows=21,c=8            2187  20657
//	AddBiasGrad rows=8800,c=8          2317  43304
//	AddBiasGrad rows=960,c=16          3124  23869
//	AddBiasGrad rows=32,c=128          4025  41875
//	ReLUGrad n=168                     3290  17320
//	ReLUGrad n=4096                    3509  21609
//	ReLUGrad n=70400                    279  16771
//	Axpy n=128                         3570  14549
//	Axpy n=4096                        3702  21721
//	Dot n=128                          3039  15600  16971
//	Dot n=4096                         2096  21729  29142
//	RowOffsets w=30,n=10               1263   7461
//	GatherFields w=30,n=10,c=16        2544  13608  25702
//	GatherFields w=30,n=10,c=128       3594  12045  21343
//	ScatterFields w=30,n=10,c=16       2552  10829  20147
//	ScatterFields w=30,n=10,c=128      3538  10870  18372
//	RMSprop n=12000                     556   4462
//	RMSprop n=300000                    560   4303
//	Adam n=12000                        516   4155
//	Exp n=4096                          158   3129
//	Sigmoid n=4096                      136   2414
//	Tanh n=4096                          70   1691
//	Bernoulli n=8100                    123   5341
//	SoftmaxCE rows=32,c=2               104    285
//	SoftmaxCE rows=32,c=11              126    512
//	AddRows c=20                       1730  13390
//	AddToRows c=20                     1041   5235
//	AdaGradRows c=20                    240    761
//
// Measured on a virtual machine with two loaded cores of an AMD EPYC of family 26 (Zen 5): the best of
// 12 runs (10 in the second table, 8 in its last three lines, which were measured later) of
//
//	go test -run '^$' -bench . -benchtime 4ms -count 12 -cpu 1 ./nn/internal/kernel
//
// with Go 1.26.8. AVX-512 uses the loops of AVX2 where the third figure is missing, and for fields of
// up to eight columns (see wide). Its products of up to eight columns hold a pair of terms in a register.
//
// NEON was not measured, because no such processor was available. Its tests run under qemu.
package kernel
