package agent

import (
	"context"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// A chunk goes out as it is, and the author's value stays the author's.
func TestChunkIsPassedOn(t *testing.T) {
	h := newHost("x")
	turn := NewTurn(h)
	a := &a2a.Artifact{ArtifactID: "theirs", Name: "n", Description: "d", Parts: []*a2a.Part{a2a.TextPart("one")}}
	if err := turn.Chunk(a, false, false); err != nil {
		t.Fatal(err)
	}
	if err := turn.Chunk(a, true, true); err != nil {
		t.Fatal(err)
	}
	if err := turn.Chunk(a, true, false); err == nil {
		t.Error("a chunk went out behind the last")
	}
	if len(h.events) != 2 || h.events[0].artifact == a || h.events[0].artifact.ArtifactID != "theirs" ||
		h.events[0].append || !h.events[1].append || !h.events[1].last {
		t.Errorf("emitted %+v", h.events)
	}
}

// A need of any parts may be met by another way.
func TestAuthenticatePartsBy(t *testing.T) {
	h := newHost("x")
	m, err := NewTurn(h).AuthenticatePartsBy(t.Context(), func(context.Context) error { return nil }, a2a.DataPart(a2a.JSON(`{"url":"x"}`)))
	if m != nil || err != nil {
		t.Errorf("got %v, %v", m, err)
	}
}
