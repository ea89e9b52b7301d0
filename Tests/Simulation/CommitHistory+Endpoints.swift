internal import Ledger
internal import TransferModel

/// The webhook endpoints and their messages, as committed.
extension CommitHistory {
  struct EndpointStory {
    var endpoint: WebhookEndpoint
    var isDeleted = false
    /// The state that the last reply has shown; `nil` while a client changes it.
    var acknowledged: WebhookEndpoint?
    /// The time of the first reply; `nil` if the clock was set.
    var knownSince: Timestamp?
  }

  var presentEndpoints: [EndpointStory] {
    endpointOrder.compactMap { endpoints[$0] }.filter { !$0.isDeleted }
  }

  /// The deliveries of existing sessions, in the order of their commits.
  var knownDeliveries: [(DeliveryID, SessionID)] {
    deliveryOrder.compactMap { id in
      guard let known = deliveries[id], sessions[known.session]?.isBeingDeleted != true else { return nil }
      return (id, known.session)
    }
  }

  /// - Parameter time: the present; `nil` if the clock was set.
  func acknowledge(_ endpoint: WebhookEndpoint, at time: Timestamp?) {
    guard endpoints[endpoint.id] != nil else {
      return violate(.toldBehindTheCommit, "a reply shows an endpoint that is not committed")
    }
    endpoints[endpoint.id]?.acknowledged = endpoint
    if endpoints[endpoint.id]?.knownSince == nil { endpoints[endpoint.id]?.knownSince = time }
  }

  /// Notes that a client is about to change an endpoint.
  func willChange(_ id: EndpointID) { endpoints[id]?.acknowledged = nil }

  func take(endpoints change: LedgerChange) {
    for endpoint in change.endpoints {
      if endpoints[endpoint.id] == nil {
        endpointOrder.append(endpoint.id)
        endpoints[endpoint.id] = EndpointStory(endpoint: endpoint)
      }
      if endpoints[endpoint.id]?.endpoint.isEnabled != endpoint.isEnabled { willChange(endpoint.id) }
      endpoints[endpoint.id]?.endpoint = endpoint
    }
    for id in change.deletedEndpoints { endpoints[id]?.isDeleted = true }
  }

  /// Checks the messages to endpoints in a commit: one for each event to which an endpoint subscribes.
  func check(messagesToEndpoints change: LedgerChange) {
    var messages = change.newDeliveries.filter { $0.endpointID != nil }
    for event in change.events where !event.type.isProgress {
      guard let tenant = event.tenant ?? sessions[event.sessionID]?.session.tenant else { continue }
      for story in endpointOrder.compactMap({ endpoints[$0] })
      where story.endpoint.tenant == tenant && story.endpoint.subscribes(to: event.type) {
        let place = messages.firstIndex {
          $0.endpointID == story.endpoint.id && $0.type == event.type && $0.taskID == event.taskID
        }
        if let place {
          messages.remove(at: place)
        } else if let since = story.knownSince, event.time > since, !story.isDeleted, !hasBeenShared {
          violate(.messagesAreWanted, "\(event.type.rawValue) has no message to an endpoint")
        }
      }
    }
    if let message = messages.first {
      violate(.messagesAreWanted, "a message about \(message.type.rawValue) was not wanted by its endpoint")
    }
  }

  /// Checks a message that a service begins to send. Other services may not know yet that an endpoint is disabled.
  func check(sending id: DeliveryID) {
    awaited[id] = nil
    guard let endpoint = deliveries[id]?.endpoint, let known = endpoints[endpoint]?.acknowledged,
      !known.isEnabled, !hasBeenShared
    else { return }
    violate(.disabledEndpointsWait, "a message was sent to an endpoint that a client had disabled")
  }
}
