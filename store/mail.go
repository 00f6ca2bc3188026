package store

import (
	"bytes"
	"context"
	"sync"
	"time"
)

// MailKept is how long a message waits for its node to read it.
const MailKept = 5 * time.Minute

// Mail is a message from one process to another that shares the store.
type Mail struct {
	Node string // recipient
	Body []byte
}

// Mailbox holds the messages of a store that only one process uses.
type Mailbox struct {
	mu    sync.Mutex // protects the field below
	boxes map[string][]letterbox
}

type letterbox struct {
	body []byte
	due  time.Time // dropped after this
}

// Post implements Store.Post.
func (m *Mailbox) Post(ctx context.Context, all []Mail) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	for node, box := range m.boxes {
		for len(box) > 0 && box[0].due.Before(now) {
			box = box[1:]
		}
		if m.boxes[node] = box; len(box) == 0 {
			delete(m.boxes, node)
		}
	}
	if m.boxes == nil {
		m.boxes = map[string][]letterbox{}
	}
	for _, l := range all {
		m.boxes[l.Node] = append(m.boxes[l.Node], letterbox{bytes.Clone(l.Body), now.Add(MailKept)})
	}
	return nil
}

// Take implements Store.Mail.
func (m *Mailbox) Take(ctx context.Context, node string, limit int) ([]Mail, error) {
	if err := CheckLimit(limit); err != nil {
		return nil, err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	box := m.boxes[node]
	n := min(limit, len(box))
	var taken []Mail
	for _, l := range box[:n] {
		taken = append(taken, Mail{node, l.body})
	}
	switch {
	case n == 0:
	case n == len(box):
		delete(m.boxes, node)
	default:
		m.boxes[node] = box[n:]
	}
	return taken, nil
}
