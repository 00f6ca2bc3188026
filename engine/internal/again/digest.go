package again

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/parley-a2a/parley/a2a"
)

// Digest sums up what a request asks for.
type Digest [sha256.Size]byte

// DigestOf sums up what a request asks for: the message without its id, the metadata, and the
// accepted output modes. The id is left out because it may be a new one if a key names the
// request. How to wait for the answer is not part of it, nor is the tenant, which every look-up
// has.
//
// The same message over another binding has the same digest. So JSON counts by its value: white
// space, the order of members and the spelling of a number do not matter. Numbers are float64,
// as in protocol buffers. An empty value is the same as an absent one.
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

// digestWithheld is DigestOf for a message whose content is not kept. It sums up only the
// message's address, so it does not tell whether a guess of the content is right.
func digestWithheld(to address) Digest {
	s := &summary{h: sha256.New()}
	s.text(digestForm + " withheld")
	s.text(to.task)
	s.text(to.context)
	return Digest(s.h.Sum(nil))
}

// address is the task and the context that a message names.
type address struct{ task, context string }

func addressOf(req *a2a.SendMessageRequest) address {
	return address{req.Message.TaskID, req.Message.ContextID}
}

// digestForm changes when the content or the form of a summary changes.
const digestForm = "2"

// summary hashes values so that no two lists of them look alike: each text follows its length,
// and each list its count. In JSON, where the count is not known, an end mark follows the list.
// See json.go.
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
