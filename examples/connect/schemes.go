package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"gocloud.dev/blob/memblob"

	"github.com/sanflow/sanflow/flow"
	"github.com/sanflow/sanflow/flow/bucket"
	"github.com/sanflow/sanflow/flow/file"
	"github.com/sanflow/sanflow/flow/kafka"
	"github.com/sanflow/sanflow/flow/message"
	"github.com/sanflow/sanflow/flow/nats"
	"github.com/sanflow/sanflow/sources"
)

func init() {
	broker("nats", "durable", func(u *url.URL, q url.Values) message.Topic {
		return nats.Topic{URL: (&url.URL{Scheme: "nats", User: u.User, Host: u.Host}).String(), Stream: strings.Trim(u.Path, "/"), Subject: q.Get("subject"), Durable: q.Get("durable")}
	})
	broker("kafka", "group", func(u *url.URL, q url.Values) message.Topic {
		return kafka.Topic{Seeds: strings.Split(u.Host, ","), Name: strings.Trim(u.Path, "/"), Group: q.Get("group")}
	})
	sources.Register(sources.Format{Name: "bucket", Schemes: []string{"s3", "gs", "azblob", "file"}, Bucket: openBucket})
	sources.Register(sources.Format{Name: "mem", Schemes: []string{"mem"}, Bucket: inMemory})
}

// broker registers the topics of a broker as sources and sinks of records. reader is the parameter that names a reader.
func broker(scheme, reader string, topic func(*url.URL, url.Values) message.Topic) {
	sources.Register(sources.Format{
		Name: scheme, Schemes: []string{scheme},
		Graphs: func(_ context.Context, text string, _ sources.Options) (flow.Source, error) {
			u, err := url.Parse(text)
			if err != nil {
				return nil, err
			}
			if u.Query().Get(reader) == "" {
				return nil, fmt.Errorf("%s: want ?%s=NAME, by which the broker knows what this reader has had", scheme, reader)
			}
			s := message.Source{Topic: topic(u, u.Query())}
			if idle := u.Query().Get("idle"); idle != "" {
				if s.Idle, err = time.ParseDuration(idle); err != nil {
					return nil, fmt.Errorf("%s: idle: %w", scheme, err)
				}
			}
			return s, nil
		},
		Topic: func(_ context.Context, text string) (message.Topic, error) {
			u, err := url.Parse(text)
			if err != nil {
				return nil, errors.New("the URL cannot be read")
			}
			for _, name := range []string{reader, "idle", "producer"} {
				if u.Query().Has(name) {
					return nil, fmt.Errorf("leave out %s: the store of -store has what was read, and events have no end", name)
				}
			}
			return topic(u, u.Query()), nil
		},
		Sink: func(_ context.Context, text string) (flow.Sink, error) {
			u, err := url.Parse(text)
			if err != nil {
				return nil, err
			}
			producer := u.Query().Get("producer")
			if producer == "" {
				return nil, errors.New("want ?producer=NAME, the name of this run and of its repetitions: a run of other rows wants another name, or its messages are left out as repeated ones")
			}
			return message.Sink{Topic: topic(u, u.Query()), Producer: producer}, nil
		},
	})
}

// openBucket opens a folder of a bucket.
func openBucket(ctx context.Context, text string) (file.Bucket, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	if folder := strings.Trim(u.Path, "/"); u.Scheme != "file" && folder != "" {
		q := u.Query()
		q.Set("prefix", q.Get("prefix")+folder+"/")
		u.Path, u.RawQuery = "", q.Encode()
	}
	return bucket.Open(ctx, u.String())
}

var memory sync.Map // buckets of this process, by the place

// inMemory opens a folder in the memory of this process.
func inMemory(_ context.Context, text string) (file.Bucket, error) {
	place := strings.TrimRight(text, "/")
	b, ok := memory.Load(place)
	if !ok {
		b, _ = memory.LoadOrStore(place, bucket.Of(memblob.OpenBucket(nil), place))
	}
	return b.(file.Bucket), nil
}
