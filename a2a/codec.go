package a2a

import "github.com/parley-a2a/parley/internal/json"

//go:generate go run ../internal/json/methods codec.go codec_methods.go

// The codecs of types that are written and read by themselves: their tags define the
// JSON form, and each has methods in codec_methods.go.
var (
	agentCardJSON                               = json.For[AgentCard]()
	agentProviderJSON                           = json.For[AgentProvider]()
	agentCapabilitiesJSON                       = json.For[AgentCapabilities]()
	agentExtensionJSON                          = json.For[AgentExtension]()
	agentSkillJSON                              = json.For[AgentSkill]()
	agentInterfaceJSON                          = json.For[AgentInterface]()
	agentCardSignatureJSON                      = json.For[AgentCardSignature]()
	securitySchemeJSON                          = json.For[SecurityScheme]()
	apiKeySecuritySchemeJSON                    = json.For[APIKeySecurityScheme]()
	httpAuthSecuritySchemeJSON                  = json.For[HTTPAuthSecurityScheme]()
	oauth2SecuritySchemeJSON                    = json.For[OAuth2SecurityScheme]()
	openIDConnectSecuritySchemeJSON             = json.For[OpenIDConnectSecurityScheme]()
	mutualTLSSecuritySchemeJSON                 = json.For[MutualTLSSecurityScheme]()
	oauthFlowsJSON                              = json.For[OAuthFlows](json.Hooks[OAuthFlows]{Append: appendFlows})
	oauthFlowJSON                               = json.For[OAuthFlow]()
	messageJSON                                 = json.For[Message]()
	partJSON                                    = json.For[Part](json.Hooks[Part]{After: whichContent})
	taskJSON                                    = json.For[Task](json.Hooks[Task]{Append: appendEncoded})
	elicitationJSON                             = json.For[Elicitation]()
	timelineEntryJSON                           = json.For[TimelineEntry]()
	taskStatusJSON                              = json.For[TaskStatus]()
	artifactJSON                                = json.For[Artifact]()
	taskStatusUpdateEventJSON                   = json.For[TaskStatusUpdateEvent]()
	taskArtifactUpdateEventJSON                 = json.For[TaskArtifactUpdateEvent]()
	taskMessageUpdateEventJSON                  = json.For[TaskMessageUpdateEvent]()
	streamResponseJSON                          = json.For[StreamResponse]()
	sendMessageRequestJSON                      = json.For[SendMessageRequest]()
	sendMessageConfigurationJSON                = json.For[SendMessageConfiguration](json.Hooks[SendMessageConfiguration]{Read: readConfiguration})
	sendMessageResponseJSON                     = json.For[SendMessageResponse]()
	getTaskRequestJSON                          = json.For[GetTaskRequest]()
	listTasksRequestJSON                        = json.For[ListTasksRequest]()
	listTasksResponseJSON                       = json.For[ListTasksResponse]()
	cancelTaskRequestJSON                       = json.For[CancelTaskRequest]()
	subscribeToTaskRequestJSON                  = json.For[SubscribeToTaskRequest]()
	getExtendedAgentCardRequestJSON             = json.For[GetExtendedAgentCardRequest]()
	taskPushNotificationConfigJSON              = json.For[TaskPushNotificationConfig](json.Hooks[TaskPushNotificationConfig]{Read: readWebhook})
	authenticationInfoJSON                      = json.For[AuthenticationInfo](json.Hooks[AuthenticationInfo]{Read: readAuthentication})
	getTaskPushNotificationConfigRequestJSON    = json.For[GetTaskPushNotificationConfigRequest]()
	deleteTaskPushNotificationConfigRequestJSON = json.For[DeleteTaskPushNotificationConfigRequest]()
	listTaskPushNotificationConfigsRequestJSON  = json.For[ListTaskPushNotificationConfigsRequest]()
	listTaskPushNotificationConfigsResponseJSON = json.For[ListTaskPushNotificationConfigsResponse]()
)

// The codecs of types that occur inside the types above, or in a log.
var (
	_                       = json.For(json.Hooks[Role]{Names: roles.names, Read: roles.read})
	_                       = json.For(json.Hooks[ElicitationState]{Names: elicitationStates.names, Read: elicitationStates.read})
	_                       = json.For(json.Hooks[TaskState]{Names: taskStates.names, Read: taskStates.read})
	securityRequirementJSON = json.For(json.Hooks[SecurityRequirement]{Read: readRequirement})
	_                       = json.For(json.Hooks[[]SecurityRequirement]{Append: appendRequirements, Read: readRequirements, Empty: hasNone})
	_                       = json.For(json.Hooks[map[string]*SecurityScheme]{Append: appendSchemes, Read: readSchemes, Empty: hasNoSchemes})

	entryJSON           = json.For[Entry]()
	createdJSON         = json.For[Created]()
	stepJSON            = json.For[Step]()
	cancelRequestedJSON = json.For[CancelRequested]()
)

// unmarshal reads a document of any size: an answer or something stored. What v held
// before is lost; on an error its content is undefined.
func unmarshal[T any](doc []byte, c json.Codec[T], v *T) error {
	if err := check(doc, storedDepth); err != nil {
		return err
	}
	return read(json.Read(doc), c, v)
}

// UnmarshalAnswer decodes a server's answer: a *Task, a *SendMessageResponse, a
// *ListTasksResponse, a *StreamResponse, an *AgentCard, webhooks, or anything else with
// UnmarshalJSON. Unlike UnmarshalJSON, it keeps what a later version of the protocol may
// have added: unknown members in Unknown, and unknown parts as PartUnknown. An unknown
// state or role is the unspecified one, with its member in Unknown.
func UnmarshalAnswer(doc []byte, v interface{ UnmarshalJSON([]byte) error }) error {
	switch v := v.(type) {
	case *Task:
		return unmarshalKeeping(doc, taskJSON, v)
	case *SendMessageResponse:
		return unmarshalKeeping(doc, sendMessageResponseJSON, v)
	case *ListTasksResponse:
		return unmarshalKeeping(doc, listTasksResponseJSON, v)
	case *StreamResponse:
		return unmarshalKeeping(doc, streamResponseJSON, v)
	case *AgentCard:
		return unmarshalKeeping(doc, agentCardJSON, v)
	case *TaskPushNotificationConfig:
		return unmarshalKeeping(doc, taskPushNotificationConfigJSON, v)
	case *ListTaskPushNotificationConfigsResponse:
		return unmarshalKeeping(doc, listTaskPushNotificationConfigsResponseJSON, v)
	}
	return v.UnmarshalJSON(doc)
}

func unmarshalKeeping[T any](doc []byte, c json.Codec[T], v *T) error {
	if err := check(doc, storedDepth); err != nil {
		return err
	}
	r := json.Read(doc)
	r.Keep = true
	return read(r, c, v)
}

var partsOfRequest = json.Bound{Elements: MaxParts, TooMany: tooManyParts}

// unmarshalRequest reads a client's document, whose limits are enforced while reading,
// before they cost memory.
func unmarshalRequest[T any](doc []byte, c json.Codec[T], v *T) error {
	if err := check(doc, MaxDepth); err != nil {
		return err
	}
	r := json.Read(doc)
	r.Bound = &partsOfRequest
	return read(r, c, v)
}

func read[T any](r *json.Reader, c json.Codec[T], v *T) error {
	var empty T
	*v = empty
	switch f := c.Read(r, v); {
	case f == nil:
		return nil
	case f.Path == "":
		return Errorf(CodeInvalidParams, "%s", f.Text)
	default:
		return Invalid(f.Path, "%s", f.Text)
	}
}
