package main

import "github.com/sanflow/sanflow/flow/graph"

// The karate club: 34 members and the 78 pairs that met outside the club
// (Zachary, An Information Flow Model for Conflict and Fission in Small Groups,
// Journal of Anthropological Research 33, 1977). A line is a member and those of
// higher number that he met; members are numbered from 0.
var karate = [][]int32{
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31},
	{1, 2, 3, 7, 13, 17, 19, 21, 30},
	{2, 3, 7, 8, 9, 13, 27, 28, 32},
	{3, 7, 12, 13},
	{4, 6, 10},
	{5, 6, 10, 16},
	{6, 16},
	{8, 30, 32, 33},
	{9, 33},
	{13, 33},
	{14, 32, 33},
	{15, 32, 33},
	{18, 32, 33},
	{19, 33},
	{20, 32, 33},
	{22, 32, 33},
	{23, 25, 27, 29, 32, 33},
	{24, 25, 27, 31},
	{25, 31},
	{26, 29, 33},
	{27, 33},
	{28, 31, 33},
	{29, 32, 33},
	{30, 32, 33},
	{31, 32, 33},
	{32, 33},
}

func karateClub() (*graph.Graph, error) {
	var edges []graph.Edge
	for _, line := range karate {
		for _, v := range line[1:] {
			edges = append(edges, graph.Edge{U: line[0], V: v})
		}
	}
	return graph.New(34, false, edges)
}
