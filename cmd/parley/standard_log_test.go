package main

import (
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/test/fixtures"
)

// No log has the bytes that a service sends beyond the length that it
// announced.
func TestTheStandardLogQuotesNoAnswers(t *testing.T) {
	var all fixtures.Buffer
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
