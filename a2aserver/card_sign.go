package a2aserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// CardKeysPath is the path of Options.CardKeys, below the agent's URL. Webhooks are not
// verified with that set: their keys are in the database, and a stolen database must
// not be able to sign cards.
const CardKeysPath = "/.well-known/agent-card-keys.json"

// maxSigned is how many documents a signer remembers.
const maxSigned = 256

// signer remembers the signatures of documents. Signing costs more than the rest of an
// answer, and ECDSA makes a new signature each time, which caches take for a new
// document.
type signer struct {
	mu   sync.Mutex // protects the field below
	made map[[sha256.Size]byte][]*a2a.AgentCardSignature
}

// signatures returns the signatures of doc. It calls sign if they are not known.
func (s *signer) signatures(doc []byte, sign func([]byte) ([]*a2a.AgentCardSignature, error)) ([]*a2a.AgentCardSignature, error) {
	sum := sha256.Sum256(doc)
	s.mu.Lock()
	made, ok := s.made[sum]
	s.mu.Unlock()
	if ok {
		return made, nil
	}
	made, err := sign(doc)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if first, ok := s.made[sum]; ok {
		return first, nil // all callers get the same signatures
	}
	if s.made == nil || len(s.made) >= maxSigned {
		s.made = map[[sha256.Size]byte][]*a2a.AgentCardSignature{}
	}
	s.made[sum] = made
	return made, nil
}

// signed returns a card with the signatures of its document added after those it has.
// The card must list its interfaces.
func (s *Server) signed(by *signer, card *a2a.AgentCard, document func(*a2a.AgentCard) []byte) (*a2a.AgentCard, error) {
	if s.opts.Sign == nil {
		return card, nil
	}
	c := *card
	c.Signatures = nil
	made, err := by.signatures(document(&c), s.opts.Sign)
	if err != nil {
		return nil, err
	}
	c.Signatures = append(slices.Clip(card.Signatures), made...)
	return &c, nil
}

// serveCardKeys answers with the keys that the cards' signatures are verified
// with.
func (s *Server) serveCardKeys(w http.ResponseWriter, r *http.Request) {
	if !s.only(w, r, readers) {
		return
	}
	serveKeySet(w, r, s.opts.CardKeys)
}

// serveKeySet answers with a JSON Web Key Set; with 404 if it is nil.
func serveKeySet(w http.ResponseWriter, r *http.Request, doc []byte) {
	if doc == nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	sum := sha256.Sum256(doc)
	h.Set("Content-Type", "application/jwk-set+json")
	h.Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
	// A client asks again when it meets an unknown key, and a withdrawn key must not
	// stay in use: a cache in between must not answer with an older set.
	h.Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(doc))
}
