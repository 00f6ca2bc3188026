package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"time"
)

// file is scenario (i): a file of 1 MiB goes in, and comes back as an artifact.
type file struct{}

const fileSize = 1 << 20

func (file) about() about {
	return about{
		key: "i", title: "A file of 1 MiB in, and out again", unit: "files/s", done: "file",
		bars: []bar{against("64 connections", "bare", 0.5)},
	}
}

func (file) cases(p *plan) []setting { return byConns(p.conns) }

func (file) open(ctx context.Context, b *bench, of *contender, k setting) (bout, error) {
	return b.underLoad(ctx, of, func(srv *server) *load {
		return b.load(k, func(ctx context.Context, i int, until time.Time) (worker, error) {
			c, err := dial(ctx, srv.addr, wide, until)
			if err != nil {
				return nil, err
			}
			content := make([]byte, fileSize)
			_, _ = rand.Read(content) // it does not fail
			text := base64.StdEncoding.EncodeToString(content)
			return &filer{c: c, d: of.dialect, ids: newIDs(i), file: text, same: []byte(text)}, nil
		})
	})
}

// filer sends its file again and again.
type filer struct {
	c    *conn
	d    *dialect
	ids  ids
	q    call
	file string
	same []byte // as file
}

func (f *filer) do(context.Context, int) (int, error) {
	id := f.ids.next()
	f.d.sending(&f.q, id, &message{text: "file", file: f.file, noHistory: true})
	answer, err := f.c.do(&f.q)
	if err != nil {
		return 0, err
	}
	if !has(answer, `"id":"`, id, `"`) || !has(answer, f.d.completed) || !bytes.Contains(answer, f.same) {
		return 0, fmt.Errorf("the answer to %s is not a completed task with the file: %.400q", id, answer)
	}
	return 1, nil
}

func (f *filer) close() { f.c.close() }
