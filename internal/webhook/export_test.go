package webhook

import "time"

// SetLinger sets how long Notify reads the rest of an answer.
func (s *Sender) SetLinger(d time.Duration) { s.linger = d }
