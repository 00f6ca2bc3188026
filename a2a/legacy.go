package a2a

// Legacy is what versions before 1.0 allow or expect of an operation beyond its 1.0
// form. A server sets it for a request that came in such a version; nil means the rules
// of 1.0. It is not part of any JSON form: a client can ask for it only by speaking the
// version.
type Legacy struct {
	// Version is the one the call came in. A task or a webhook that the call makes
	// keeps it: see Task.Version.
	Version Version

	// CreateByID lets Message.TaskID name a task that does not exist yet: it is created
	// with that id and Message.ContextID, if given, as its context. In version 0.1 the
	// client chooses the id. Ids of different callers never meet, so that no caller
	// learns of another's tasks.
	CreateByID bool

	// Reopen lets a message go to a finished task, which continues with its id, history
	// and artifacts (0.1 only). It also applies to a task that ends before its agent
	// received the message. A task that was not created in version 0.1 stays finished
	// all the same.
	Reopen bool

	// TaskOnly makes a task of a direct answer: completed, with the answer as
	// its status message. Version 0.1 has no other result.
	TaskOnly bool

	// CanceledToo refuses to cancel a task that is canceled already, as it refuses
	// any other finished task. In 1.0 it is canceled again, with the same answer.
	CanceledToo bool

	// FinishedToo lets SubscribeToTask name a finished task: the stream is the Task and
	// ends; in 1.0 that is an error.
	FinishedToo bool
}
