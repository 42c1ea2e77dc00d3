// Command connect is the command sanflow with NATS, Kafka and object stores: -data reads, and -out of export and
// predict writes
//
//	nats://broker:4222/STREAM?subject=S&durable=NAME&idle=5s
//	kafka://broker:9092/TOPIC?group=NAME&idle=5s
//	s3://BUCKET/FOLDER/FILE?region=R, gs://…, azblob://…, file:///PATH?create_dir=true, mem://NAME/FOLDER
//
// The messages of a stream or a topic are records of graphs, as -out writes them. idle ends a stream on which
// nothing came for so long; without it the stream has no end. A sink needs producer=NAME: one name a stream of
// messages, so that a repeated run stores nothing twice. create_dir makes a folder that is not there. inspect and
// -model read files of this machine alone. -events of serve
// reads nats://broker:4222/STREAM?subject=S and kafka://broker:9092/TOPIC: a message has events, one a line. The store has the
// positions, so each message is accepted once and in its order, over any kills, and no durable or group is named. The schemes s3, gs and azblob need an import of their driver:
//
//	import _ "gocloud.dev/blob/s3blob"
//
// and take credentials as that says. Build a program of these lines with the drivers and formats that you need:
//
//	go run . export -graph file:///data/graphs/power.edges.gz -k 10 -out s3://company/fields/?region=eu-central-1
//	go run . export -data MUTAG -graphs -out 'nats://localhost:4222/graphs?producer=mutag'
//	go run . predict -model mutag.model -data 'nats://localhost:4222/graphs?durable=predict&idle=5s'
package main

import "github.com/sanflow/sanflow/examples/sanflow/command"

func main() {
	command.More = `
-data and -graph read, and -out of export and predict writes URLs:

  nats://broker:4222/STREAM?subject=S&durable=NAME&idle=5s
  kafka://broker:9092/TOPIC?group=NAME&idle=5s
  s3://BUCKET/FOLDER/FILE?region=R, gs://…, azblob://…, file:///PATH, mem://NAME/FOLDER

A reader of a stream needs durable or group, its name for the broker, and idle ends the stream when no message came
for so long. -events of serve reads them without durable, group and idle: the store has the positions. A writer to a stream needs producer=NAME. file:///PATH?create_dir=true makes the folder.
`
	command.Main()
}
