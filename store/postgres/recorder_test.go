package postgres

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// recorder stands between programs and a server, and records the texts of all statements. So
// a test's statements are known, however they are sent.
type recorder struct {
	mu   sync.Mutex // protects seen
	seen map[string]bool
}

// to returns the address of a database through r.
func (r *recorder) to(t testing.TB, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	server, name := cluster.Socket(), filepath.Base(cluster.Socket())
	dir, err := os.MkdirTemp("", "pg") // short: a socket's path has to fit in 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		work.Wait()
		os.RemoveAll(dir)
	})
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() { r.pass(c, server) })
		}
	})
	q.Set("host", dir)
	u.RawQuery = q.Encode()
	return u.String()
}

// pass connects a program with the server until one of them ends.
func (r *recorder) pass(c net.Conn, server string) {
	defer c.Close()
	s, err := net.Dial("unix", server)
	if err != nil {
		return
	}
	defer s.Close()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(c, s)
		c.Close()
	})
	defer back.Wait()
	defer s.Close()
	m := messages{statement: r.note}
	_, _ = io.Copy(io.MultiWriter(s, &m), c)
}

func (r *recorder) note(sql string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	r.seen[sql] = true
}

// all returns the statements.
func (r *recorder) all() (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for sql := range r.seen {
		all = append(all, sql)
	}
	return all
}

// messages splits what a program sends into messages. The first message has no type. Only
// texts of statements are kept, because arguments may have megabytes.
type messages struct {
	statement func(sql string)
	begun     bool
	buf       []byte // the beginning of a message
	skip      int    // bytes of one that is passed over
}

func (m *messages) Write(p []byte) (int, error) {
	n := len(p)
	for {
		over := min(m.skip, len(p))
		m.skip, p = m.skip-over, p[over:]
		m.buf = append(m.buf, p...)
		p = nil
		head := 1
		if !m.begun {
			head = 0
		}
		if len(m.buf) < head+4 {
			return n, nil
		}
		end := head + int(binary.BigEndian.Uint32(m.buf[head:]))
		if !m.begun || m.buf[0] != 'P' {
			m.begun = true
			p = m.buf
			m.buf, m.skip = nil, end
			continue
		}
		if len(m.buf) < end {
			return n, nil
		}
		// Parse: a name, then the text
		_, body, _ := bytes.Cut(m.buf[head+4:end], []byte{0})
		sql, _, _ := bytes.Cut(body, []byte{0})
		m.statement(string(sql))
		m.buf = m.buf[end:]
	}
}
