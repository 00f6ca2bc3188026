package again

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/parley-a2a/parley/a2a"
)

// Digest sums up what a request asks for.
type Digest [sha256.Size]byte

// DigestOf sums up what a request asks for: the message but for its id, which may
// be a new one where a key names the request, the metadata, and the accepted
// output modes. How to wait for the answer is not part of it, nor is the tenant,
// which every look-up has.
//
// The same message over another binding has the same digest. So JSON counts by
// its value: white space and the order of members do not matter, nor how a
// number is spelt, and numbers are what protocol buffers make of them, float64;
// what is empty is the same as what is absent.
func DigestOf(req *a2a.SendMessageRequest) Digest {
	s := &summary{h: sha256.New()}
	m := req.Message
	s.text(digestForm)
	s.text(m.TaskID)
	s.text(m.ContextID)
	s.number(uint64(m.Role))
	s.object(m.Metadata)
	s.texts(m.Extensions)
	s.texts(m.ReferenceTaskIDs)
	s.number(uint64(len(m.Parts)))
	for _, p := range m.Parts {
		s.part(p)
	}
	s.object(req.Metadata)
	var modes []string
	if c := req.Configuration; c != nil {
		modes = c.AcceptedOutputModes
	}
	s.texts(modes)
	return Digest(s.h.Sum(nil))
}

// digestWithheld is DigestOf for a message whose content is not kept, and nothing
// that would tell whether a guess is right: it sums up what it is for.
func digestWithheld(to address) Digest {
	s := &summary{h: sha256.New()}
	s.text(digestForm + " withheld")
	s.text(to.task)
	s.text(to.context)
	return Digest(s.h.Sum(nil))
}

// address is what a message names besides itself.
type address struct{ task, context string }

func addressOf(req *a2a.SendMessageRequest) address {
	return address{req.Message.TaskID, req.Message.ContextID}
}

// digestForm changes with what is summed up, and how.
const digestForm = "2"

// summary hashes values so that no two lists of them look alike: each text
// comes behind its length, each list behind its count, and in JSON, where that is
// not known, before its end. See json.go.
type summary struct {
	h   hash.Hash
	buf [9]byte
}

func (s *summary) number(n uint64) {
	binary.BigEndian.PutUint64(s.buf[:8], n)
	s.h.Write(s.buf[:8])
}

func (s *summary) bytes(b []byte) {
	s.number(uint64(len(b)))
	s.h.Write(b)
}

func (s *summary) text(t string) { s.bytes([]byte(t)) }

func (s *summary) texts(list []string) {
	s.number(uint64(len(list)))
	for _, t := range list {
		s.text(t)
	}
}

func (s *summary) part(p *a2a.Part) {
	s.number(uint64(p.Kind))
	switch p.Kind {
	case a2a.PartText:
		s.text(p.Text)
	case a2a.PartRaw:
		s.bytes(p.Raw)
	case a2a.PartURL:
		s.text(p.URL)
	case a2a.PartData:
		s.json(p.Data)
	}
	s.object(p.Metadata)
	s.text(p.Filename)
	s.text(p.MediaType)
}

// object is json for metadata, which may be absent.
func (s *summary) object(j a2a.JSON) {
	if len(j) == 0 {
		j = a2a.JSON("{}")
	}
	s.json(j)
}
