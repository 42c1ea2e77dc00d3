// Package flightsql has no code. Its tests make graphs of the answers of a Flight SQL
// server: that of arrow-go, which asks SQLite, over gRPC on this machine. Its example is
// what a program writes. See sources.Tables and arrow18.Rows.
//
// It is a module of its own, since the server needs modernc.org/sqlite, which nobody
// who reads records of arrow-go v18 should find in a go.sum.
package flightsql
