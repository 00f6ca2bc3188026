package dialect

import "github.com/parley-a2a/parley/a2a"

// Subject says what a request is about.
type Subject struct {
	Tenant *string // the request's field, which may be replaced; nil if it has none
	Task   string
	Config string // of a push configuration
}

// SubjectOf returns what a request of an operation is about.
func SubjectOf(req any) Subject {
	tenant, id, task := fieldsOf(req)
	s := Subject{Tenant: tenant}
	if m, ok := req.(*a2a.SendMessageRequest); ok && m.Message != nil {
		s.Task = m.Message.TaskID
	}
	if task == nil {
		task, id = id, nil
	}
	if task != nil {
		s.Task = *task
	}
	if id != nil {
		s.Config = *id
	}
	return s
}
