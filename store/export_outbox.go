package store

import (
	"context"
	"slices"
	"strconv"
	"time"
)

// WebhookKeys is the name under which the keys that sign webhooks are kept. Of
// all that is kept they alone are exported: receivers have been told the public
// ones, and refuse what is signed with others.
const WebhookKeys = "webhook-keys"

var exportedNames = []string{WebhookKeys}

// kept writes what is kept.
func (x *exporter) kept(ctx context.Context) error {
	all, err := x.src.Kept(ctx)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(slices.Values(exportedNames)) {
		if b, ok := all[name]; ok {
			line := appendJSON([]byte(`{"kept":{"name":`), text(name))
			line = appendBytes(append(line, ','), "value", b)
			if err := x.write(append(line, "}}\n"...)); err != nil {
				return err
			}
			x.count.Kept++
		}
	}
	return nil
}

// outbox returns the push configs of a task and their dead letters as they
// stand in the export. It must be called before the task's record is read: then
// none is ahead of that, however fast the task goes on, and what is delivered
// meanwhile is delivered again where the export is imported. Configs are read
// before letters: what is given up meanwhile is in at least one of them.
func (x *exporter) outbox(ctx context.Context, src Source, k Key) (lines []byte, cursor int64, err error) {
	const page = 100
	for after := ""; ; {
		configs, err := src.Pushes(ctx, k, after, page)
		if err != nil {
			return nil, 0, err
		}
		for i := range configs {
			p := &configs[i]
			lines = appendPush(lines, p)
			cursor = max(cursor, p.Cursor)
			if lines, err = x.letters(ctx, src, lines, p.PushID()); err != nil {
				return nil, 0, err
			}
			after = p.ID
		}
		if len(configs) < page {
			return lines, cursor, nil
		}
	}
}

func (x *exporter) letters(ctx context.Context, src Source, dst []byte, id PushID) ([]byte, error) {
	q := LetterQuery{Of: &id, Limit: 1000}
	for {
		dead, err := src.DeadLetters(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range dead {
			dst = appendLetter(dst, &dead[i])
			q.After = &dead[i]
		}
		if len(dead) < q.Limit {
			return dst, nil
		}
	}
}

func appendPush(dst []byte, p *PushConfig) []byte {
	dst = append(dst, `{"push":{"id":`...)
	dst = appendJSON(dst, text(p.ID))
	dst = append(dst, `,"host":`...)
	dst = appendJSON(dst, text(p.Host))
	dst = append(dst, `,"created":`...)
	dst = appendJSON(dst, p.Created)
	dst = append(dst, `,"live":`...)
	dst = strconv.AppendBool(dst, p.Live)
	dst = append(dst, `,"cursor":`...)
	dst = strconv.AppendInt(dst, p.Cursor, 10)
	dst = append(dst, `,"tries":`...)
	dst = strconv.AppendInt(dst, int64(p.Tries), 10)
	for _, t := range []struct {
		name string
		at   time.Time
	}{{`,"since":`, p.Since}, {`,"due":`, p.Due}} {
		if !t.at.IsZero() {
			dst = appendJSON(append(dst, t.name...), t.at)
		}
	}
	dst = append(dst, `,"reason":`...)
	dst = append(appendJSON(dst, text(p.Reason)), ',')
	return append(appendBytes(dst, "body", p.Body), "}}\n"...)
}

func appendLetter(dst []byte, l *DeadLetter) []byte {
	dst = append(dst, `{"letter":{"push":`...)
	dst = appendJSON(dst, text(l.ID))
	dst = append(dst, `,"seq":`...)
	dst = strconv.AppendInt(dst, l.Seq, 10)
	dst = append(dst, `,"time":`...)
	dst = appendJSON(dst, l.Time)
	dst = append(dst, `,"tries":`...)
	dst = strconv.AppendInt(dst, int64(l.Tries), 10)
	dst = append(dst, `,"again":`...)
	dst = strconv.AppendBool(dst, l.Again)
	dst = append(dst, `,"reason":`...)
	return append(appendJSON(dst, text(l.Reason)), "}}\n"...)
}
