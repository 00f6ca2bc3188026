package task

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/place"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/store"
)

// Bodies share arrays; the next body must never overwrite one, whatever their sizes.
func TestBodiesDoNotOverlap(t *testing.T) {
	o := &Owner{all: &Owners{Needs: Needs{Nodes: &place.Alone{}}}, key: store.Key{ID: "t"}, contextID: "c", draft: newDraft()}
	r := rand.New(rand.NewPCG(1, 2))
	var records []record
	for i := range 2000 {
		var en *a2a.Entry
		text := strings.Repeat(fmt.Sprint(i%10)+`"<é`, r.IntN(40)*r.IntN(20))
		switch r.IntN(3) {
		case 0:
			en = o.status(a2a.TaskStateWorking, words(text))
		case 1:
			en = &a2a.Entry{Kind: a2a.EntryStep, Step: &a2a.Step{Name: text, Result: a2a.JSON("1")}}
		case 2:
			en = &a2a.Entry{Kind: a2a.EntryMessage, Message: &a2a.Message{MessageID: stored.NewID(), Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(text)}}}
		}
		records = append(records, o.newRecordLocked(en))
	}
	for i, rec := range records {
		if want := rec.entry.AppendBody(nil); !bytes.Equal(rec.body, want) {
			t.Fatalf("the body of record %d is\n%s, want\n%s", i, rec.body, want)
		}
		if cap(rec.body) != len(rec.body) {
			t.Fatalf("who appends to the body of record %d writes over the next one", i)
		}
	}
}

// The artifacts of a draft are a map that has its first element apart.
func TestArtifactsAreAMap(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		var a artifacts
		want := map[string]artifact{}
		for range 40 {
			id := fmt.Sprint(r.IntN(6))
			if r.IntN(2) == 0 {
				id = "" // which agents may use, too
			}
			is := artifact{open: r.IntN(2) == 0, size: r.Int64N(100)}
			if r.IntN(3) > 0 {
				before := a.clone()
				a.set(id, is)
				if got, _ := before.get(id); got != want[id] {
					t.Fatal("a clone changed")
				}
				want[id] = is
			}
			for k := range 7 {
				id := fmt.Sprint(k)
				if k == 6 {
					id = ""
				}
				got, known := a.get(id)
				if has, ok := want[id]; got != has || known != ok {
					t.Fatalf("%q is %v, %v, want %v, %v", id, got, known, has, ok)
				}
			}
		}
	}
}

// A large body gets an array of its own, so the shared array does not grow.
func TestLargeBodiesAreNotShared(t *testing.T) {
	o := &Owner{}
	m := &a2a.Message{MessageID: stored.NewID(), Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("x")}}
	m.Extensions = []string{strings.Repeat("e", 100<<10)}
	o.encodeLocked(&a2a.Entry{Kind: a2a.EntryMessage, Message: m})
	if n := cap(o.out.bodies); n > bodyRoom {
		t.Errorf("%d bytes stay", n)
	}
}
