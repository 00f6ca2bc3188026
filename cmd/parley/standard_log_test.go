package main

import (
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// safeBuffer may be written to and read at the same time.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// What a service sends beyond the length that it said is in no log.
func TestTheStandardLogQuotesNoAnswers(t *testing.T) {
	var all safeBuffer
	log.SetOutput(standardLog{&all})
	defer log.SetOutput(os.Stderr)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = conn.Read(make([]byte, 4096))
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and a secret")
		_, _ = conn.Read(make([]byte, 1)) // until it is closed
	}()
	client := &http.Client{Transport: &http.Transport{}}
	res, err := client.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadAll(res.Body)
	res.Body.Close()
	for end := time.Now().Add(10 * time.Second); !strings.Contains(all.String(), "Unsolicited"); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("net/http says nothing any more")
		}
	}
	if got := all.String(); strings.Contains(got, "secret") || !strings.HasSuffix(got, "\n") {
		t.Errorf("logged %q", got)
	}

	log.Print("anything else starting with x")
	if !strings.HasSuffix(all.String(), "anything else starting with x\n") {
		t.Errorf("logged %q", all.String())
	}
}
