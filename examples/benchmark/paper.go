package main

// figure is a figure of the paper: the mean accuracy and its deviation, or a note why there is none.
type figure struct {
	value, std float64
	note       string
}

// paperNames are the names of the collections in the paper.
var paperNames = map[string]string{
	"MUTAG": "MUTAG", "PTC": "PTC", "NCI1": "NCI1", "PROTEINS": "PROTEINS", "DD": "D&D", "D&D": "D&D",
	"COLLAB": "COLLAB", "IMDB-BINARY": "IMDB-B", "IMDB-MULTI": "IMDB-M",
	"REDDIT-BINARY": "RE-B", "REDDIT-MULTI-5K": "RE-M5k", "REDDIT-MULTI-12K": "RE-M12k",
}

// tooLong is the mark of the paper for a method that had not ended.
var tooLong = figure{note: "> 3 days"}

// paper is tables 1 and 2 of Niepert, Ahmed and Kutzkov, 2016, by system. PTC is the export of the paper,
// which differs from PTC_MR.
var paper = map[string]map[string]figure{
	"k5": {"MUTAG": {91.58, 5.86, ""}, "PTC": {59.43, 3.14, ""}, "NCI1": {72.80, 2.06, ""}, "PROTEINS": {74.10, 1.72, ""}, "D&D": {74.58, 2.85, ""}},
	"k10": {
		"MUTAG": {88.95, 4.37, ""}, "PTC": {62.29, 5.68, ""}, "NCI1": {76.34, 1.68, ""}, "PROTEINS": {75.00, 2.51, ""}, "D&D": {76.27, 2.64, ""},
		"COLLAB": {72.60, 2.15, ""}, "IMDB-B": {71.00, 2.29, ""}, "IMDB-M": {45.23, 2.84, ""},
		"RE-B": {86.30, 1.58, ""}, "RE-M5k": {49.10, 0.70, ""}, "RE-M12k": {41.32, 0.42, ""},
	},
	"k10e": {"MUTAG": {92.63, 4.21, ""}, "PTC": {60.00, 4.82, ""}, "NCI1": {78.59, 1.89, ""}, "PROTEINS": {75.89, 2.76, ""}, "D&D": {77.12, 2.41, ""}},
	"pslr": {"MUTAG": {87.37, 7.88, ""}, "PTC": {58.57, 5.46, ""}, "NCI1": {70.00, 1.98, ""}, "PROTEINS": {71.79, 3.71, ""}, "D&D": {68.39, 5.56, ""}},
	"sp":   {"MUTAG": {85.79, 2.51, ""}, "PTC": {58.53, 2.55, ""}, "NCI1": {73.00, 0.51, ""}, "PROTEINS": {75.07, 0.54, ""}, "D&D": tooLong},
	"rw":   {"MUTAG": {83.68, 1.66, ""}, "PTC": {57.26, 1.30, ""}, "NCI1": tooLong, "PROTEINS": {74.22, 0.42, ""}, "D&D": tooLong},
	"gk": {
		"MUTAG": {81.58, 2.11, ""}, "PTC": {57.32, 1.13, ""}, "NCI1": {62.28, 0.29, ""}, "PROTEINS": {71.67, 0.55, ""}, "D&D": {78.45, 0.26, ""},
		"COLLAB": {72.84, 0.28, ""}, "IMDB-B": {65.87, 0.98, ""}, "IMDB-M": {43.89, 0.38, ""},
		"RE-B": {77.34, 0.18, ""}, "RE-M5k": {41.01, 0.17, ""}, "RE-M12k": {31.82, 0.08, ""},
	},
	"wl": {"MUTAG": {80.72, 3.00, ""}, "PTC": {56.97, 2.01, ""}, "NCI1": {80.22, 0.51, ""}, "PROTEINS": {72.92, 0.56, ""}, "D&D": {77.95, 0.70, ""}},
	"dgk": {
		"COLLAB": {73.09, 0.25, ""}, "IMDB-B": {66.96, 0.56, ""}, "IMDB-M": {44.55, 0.52, ""},
		"RE-B": {78.04, 0.39, ""}, "RE-M5k": {41.27, 0.18, ""}, "RE-M12k": {32.22, 0.10, ""},
	},
}
