/// One event of an event stream (WHATWG HTML, "Server-sent events").
package struct ServerSentEvent: Sendable, Equatable {
  /// The identifier that the event itself carries; `nil` if it has none.
  package let id: String?
  package let type: String
  package let data: [UInt8]

  package init(id: String?, type: String, data: [UInt8]) {
    self.id = id
    self.type = type
    self.data = data
  }
}
