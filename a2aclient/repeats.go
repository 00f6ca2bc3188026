package a2aclient

import "time"

// Repeats returns for how long the agent knows a message of this client's when it
// comes again, so that it may be sent again, the same to the byte and with the
// same id, and is done once: by the retry extension on its card
// (docs/extensions/retry-v1.md). It is 0 if the agent does not say so, not for
// this client, or only for what Options.Token returns. SendMessage does that by itself; this is for programs that may
// have sent a message before they were restarted.
func (c *Client) Repeats() time.Duration { return c.knows(c.creds.any()) }
