package a2a

// AppendJSON appends the ProtoJSON form.
func (r *SendMessageRequest) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = optText(b, "tenant", r.Tenant)
	b = optObject(b, "message", r.Message)
	b = optObject(b, "configuration", r.Configuration)
	b = optRaw(b, "metadata", r.Metadata)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (r SendMessageRequest) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form, within the limits for requests.
func (r *SendMessageRequest) UnmarshalJSON(doc []byte) error { return unmarshalRequest(doc, r) }

func (r *SendMessageRequest) decode(d *decoder) *fault {
	*r = SendMessageRequest{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "tenant":
			return d.string(&r.Tenant)
		case "message":
			return pointer(d, &r.Message)
		case "configuration":
			return pointer(d, &r.Configuration)
		case "metadata":
			return d.free(&r.Metadata)
		}
		return d.ignore()
	})
}

// AppendJSON appends the ProtoJSON form.
func (c *SendMessageConfiguration) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = optTexts(b, "acceptedOutputModes", c.AcceptedOutputModes)
	b = optObject(b, "taskPushNotificationConfig", c.TaskPushNotificationConfig)
	b = optIntegerPointer(b, "historyLength", c.HistoryLength)
	b = optBool(b, "returnImmediately", c.ReturnImmediately)
	b = optInt64Pointer(b, "ifGenerationMatch", c.IfGenerationMatch)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (c SendMessageConfiguration) MarshalJSON() ([]byte, error) { return c.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (c *SendMessageConfiguration) UnmarshalJSON(doc []byte) error { return unmarshal(doc, c) }

func (c *SendMessageConfiguration) decode(d *decoder) *fault {
	*c = SendMessageConfiguration{}
	var immediately, blocking *bool
	var push *TaskPushNotificationConfig
	f := d.object(func(name []byte) *fault {
		switch string(name) {
		case "acceptedOutputModes", "accepted_output_modes":
			return d.strings(&c.AcceptedOutputModes)
		case "taskPushNotificationConfig", "task_push_notification_config":
			return pointer(d, &c.TaskPushNotificationConfig)
		case "historyLength", "history_length":
			return d.int32Pointer(&c.HistoryLength)
		case "returnImmediately", "return_immediately":
			return d.boolPointer(&immediately)
		case "ifGenerationMatch", "if_generation_match":
			return d.int64Pointer(&c.IfGenerationMatch)
		// What the drafts of 1.0 and version 0.3 called the two.
		case "blocking":
			return d.boolPointer(&blocking)
		case "pushNotificationConfig", "push_notification_config":
			return pointer(d, &push)
		}
		return d.ignore()
	})
	switch {
	case immediately != nil:
		c.ReturnImmediately = *immediately
	case blocking != nil:
		c.ReturnImmediately = !*blocking
	}
	if c.TaskPushNotificationConfig == nil {
		c.TaskPushNotificationConfig = push
	}
	return f
}

// AppendJSON appends the ProtoJSON form.
func (r *SendMessageResponse) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = optObject(b, "task", r.Task)
	b = optObject(b, "message", r.Message)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (r SendMessageResponse) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (r *SendMessageResponse) UnmarshalJSON(doc []byte) error { return unmarshal(doc, r) }

func (r *SendMessageResponse) decode(d *decoder) *fault {
	*r = SendMessageResponse{}
	f := d.object(func(name []byte) *fault {
		switch string(name) {
		case "task":
			return pointer(d, &r.Task)
		case "message":
			return pointer(d, &r.Message)
		}
		return d.ignore()
	})
	if f != nil {
		return f
	}
	return atMostOne(choice{"task", r.Task != nil}, choice{"message", r.Message != nil})
}

// AppendJSON appends the ProtoJSON form.
func (r *GetTaskRequest) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = optText(b, "tenant", r.Tenant)
	b = text(b, "id", r.ID)
	b = optIntegerPointer(b, "historyLength", r.HistoryLength)
	b = optInt64Pointer(b, "currentGeneration", r.CurrentGeneration)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (r GetTaskRequest) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (r *GetTaskRequest) UnmarshalJSON(doc []byte) error { return unmarshalRequest(doc, r) }

func (r *GetTaskRequest) decode(d *decoder) *fault {
	*r = GetTaskRequest{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "tenant":
			return d.string(&r.Tenant)
		case "id":
			return d.string(&r.ID)
		case "historyLength", "history_length":
			return d.int32Pointer(&r.HistoryLength)
		case "currentGeneration", "current_generation":
			return d.int64Pointer(&r.CurrentGeneration)
		}
		return d.ignore()
	})
}

// AppendJSON appends the ProtoJSON form.
func (r *ListTasksRequest) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = optText(b, "tenant", r.Tenant)
	b = optText(b, "contextId", r.ContextID)
	if r.Status != TaskStateUnspecified {
		b = text(b, "status", r.Status.String())
	}
	b = optIntegerPointer(b, "pageSize", r.PageSize)
	b = optText(b, "pageToken", r.PageToken)
	b = optIntegerPointer(b, "historyLength", r.HistoryLength)
	b = optTime(b, "statusTimestampAfter", r.StatusTimestampAfter)
	b = optBool(b, "includeArtifacts", r.IncludeArtifacts)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (r ListTasksRequest) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (r *ListTasksRequest) UnmarshalJSON(doc []byte) error { return unmarshalRequest(doc, r) }

func (r *ListTasksRequest) decode(d *decoder) *fault {
	*r = ListTasksRequest{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "tenant":
			return d.string(&r.Tenant)
		case "contextId", "context_id":
			return d.string(&r.ContextID)
		case "status":
			return r.Status.decode(d)
		case "pageSize", "page_size":
			return d.int32Pointer(&r.PageSize)
		case "pageToken", "page_token":
			return d.string(&r.PageToken)
		case "historyLength", "history_length":
			return d.int32Pointer(&r.HistoryLength)
		case "statusTimestampAfter", "status_timestamp_after":
			return d.time(&r.StatusTimestampAfter)
		case "includeArtifacts", "include_artifacts":
			return d.bool(&r.IncludeArtifacts)
		}
		return d.ignore()
	})
}

// AppendJSON appends the ProtoJSON form.
func (r *ListTasksResponse) AppendJSON(b []byte) []byte {
	return r.appendRest(objects(append(b, '{'), "tasks", r.Tasks))
}

// AppendPlain appends the ProtoJSON form of version 1.0: see Task.AppendPlain.
func (r *ListTasksResponse) AppendPlain(b []byte) []byte {
	b = append(b, `{"tasks":[`...)
	for i, t := range r.Tasks {
		if i > 0 {
			b = append(b, ',')
		}
		if t == nil {
			t = new(Task) // as objects has it
		}
		b = t.AppendPlain(b)
	}
	return r.appendRest(append(b, ']'))
}

func (r *ListTasksResponse) appendRest(b []byte) []byte {
	b = text(b, "nextPageToken", r.NextPageToken)
	b = integer(b, "pageSize", r.PageSize)
	b = integer(b, "totalSize", r.TotalSize)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (r ListTasksResponse) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (r *ListTasksResponse) UnmarshalJSON(doc []byte) error { return unmarshal(doc, r) }

func (r *ListTasksResponse) decode(d *decoder) *fault {
	*r = ListTasksResponse{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "tasks":
			return list(d, &r.Tasks)
		case "nextPageToken", "next_page_token":
			return d.string(&r.NextPageToken)
		case "pageSize", "page_size":
			return d.int32(&r.PageSize)
		case "totalSize", "total_size":
			return d.int32(&r.TotalSize)
		}
		return d.ignore()
	})
}

// AppendJSON appends the ProtoJSON form.
func (r *CancelTaskRequest) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = optText(b, "tenant", r.Tenant)
	b = text(b, "id", r.ID)
	b = optRaw(b, "metadata", r.Metadata)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (r CancelTaskRequest) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (r *CancelTaskRequest) UnmarshalJSON(doc []byte) error { return unmarshalRequest(doc, r) }

func (r *CancelTaskRequest) decode(d *decoder) *fault {
	*r = CancelTaskRequest{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "tenant":
			return d.string(&r.Tenant)
		case "id":
			return d.string(&r.ID)
		case "metadata":
			return d.free(&r.Metadata)
		}
		return d.ignore()
	})
}

// AppendJSON appends the ProtoJSON form.
func (r *SubscribeToTaskRequest) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = optText(b, "tenant", r.Tenant)
	b = text(b, "id", r.ID)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (r SubscribeToTaskRequest) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (r *SubscribeToTaskRequest) UnmarshalJSON(doc []byte) error { return unmarshalRequest(doc, r) }

func (r *SubscribeToTaskRequest) decode(d *decoder) *fault {
	*r = SubscribeToTaskRequest{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "tenant":
			return d.string(&r.Tenant)
		case "id":
			return d.string(&r.ID)
		}
		return d.ignore()
	})
}

// AppendJSON appends the ProtoJSON form.
func (r *GetExtendedAgentCardRequest) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = optText(b, "tenant", r.Tenant)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (r GetExtendedAgentCardRequest) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (r *GetExtendedAgentCardRequest) UnmarshalJSON(doc []byte) error {
	return unmarshalRequest(doc, r)
}

func (r *GetExtendedAgentCardRequest) decode(d *decoder) *fault {
	*r = GetExtendedAgentCardRequest{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "tenant":
			return d.string(&r.Tenant)
		}
		return d.ignore()
	})
}
