internal import Limits

/// The events of a service. The sequence opens the stream again after each interruption, and continues after the last event.
package struct ServiceEvents: AsyncSequence, Sendable {
  package enum Element: Sendable, Equatable {
    /// The stream is open. Progress that was reported in the meantime is lost.
    case connected
    /// The stream is interrupted; it is opened again after a pause.
    case disconnected(ServiceError)
    /// Events after the last one were deleted before they could be sent. Read the resources again.
    case didReset
    case event(ServerSentEvent)
  }
  package typealias Failure = ServiceError

  private let connection: ServiceConnection
  private let request: ServiceRequest
  private let lastEventID: String?
  private let sleep: @Sendable (Duration) async throws -> Void

  /// - Parameters:
  ///   - request: the `GET` of an event stream.
  ///   - lastEventID: the event after which the stream begins; `nil` for new events only.
  init(
    _ connection: ServiceConnection, _ request: ServiceRequest, after lastEventID: String?,
    sleep: @escaping @Sendable (Duration) async throws -> Void
  ) {
    self.connection = connection
    self.request = request
    self.lastEventID = lastEventID
    self.sleep = sleep
  }

  package func makeAsyncIterator() -> Iterator {
    Iterator(connection: connection, request: request, sleep: sleep, lastEventID: lastEventID)
  }

  package struct Iterator: AsyncIteratorProtocol {
    private static let firstPause = Duration.milliseconds(250)

    let connection: ServiceConnection
    let request: ServiceRequest
    let sleep: @Sendable (Duration) async throws -> Void
    var lastEventID: String?
    private var stream: ServiceStream?
    private var parser = EventStreamParser()
    private var waiting: ArraySlice<ServerSentEvent> = []
    private var pause: Duration?
    private var hasFailed = false

    init(
      connection: ServiceConnection, request: ServiceRequest,
      sleep: @escaping @Sendable (Duration) async throws -> Void, lastEventID: String?
    ) {
      self.connection = connection
      self.request = request
      self.sleep = sleep
      self.lastEventID = lastEventID
    }

    /// Returns the next element. Throws if the service refuses the stream for good, or if the task is cancelled.
    package mutating func next() async throws(ServiceError) -> ServiceEvents.Element? {
      while true {
        if let event = waiting.popFirst() {
          return event.type == "events.didReset" ? .didReset : .event(event)
        }
        guard let stream else {
          if hasFailed { try await wait() }
          do throws(ServiceError) {
            try await open()
            return .connected
          } catch {
            return .disconnected(try judge(error))
          }
        }
        do throws(ServiceError) {
          guard let bytes = try await stream.next() else {
            throw .unreachable("the service has ended the stream")
          }
          do throws(EventStreamParser.TooLong) { waiting = try parser.parse(bytes)[...] } catch {
            throw .invalidReply("an event exceeds \(ClientLimits.eventLineBytes.value) bytes")
          }
          lastEventID = parser.lastEventID
          if !waiting.isEmpty { pause = nil }
        } catch {
          self.stream = nil
          return .disconnected(try judge(error))
        }
      }
    }

    package mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(ServiceError) -> ServiceEvents.Element? { try await next() }

    private mutating func open() async throws(ServiceError) {
      var request = request
      request.silence = .seconds(ClientLimits.eventSilenceSeconds.value)
      request.fields.append(("Accept", "text/event-stream"))
      if let lastEventID { request.fields.append(("Last-Event-ID", lastEventID)) }
      stream = try await connection.stream(request)
      parser = EventStreamParser(lastEventID: lastEventID)
      hasFailed = false
    }

    /// Throws an error that another connection would not avoid.
    private mutating func judge(_ error: ServiceError) throws(ServiceError) -> ServiceError {
      hasFailed = true
      switch error {
      case .cancelled, .invalidReply, .unreadableBody: throw error
      case .problem(let problem) where problem.status < 500 && problem.status != 429: throw error
      case .problem, .unreachable, .timedOut: return error
      }
    }

    private mutating func wait() async throws(ServiceError) {
      let limits = Self.firstPause...Duration.seconds(ClientLimits.reconnectSeconds.value)
      let next = pause.map { Swift.min($0 * 2, limits.upperBound) } ?? limits.lowerBound
      pause = next
      let asked = parser.retry.map { Swift.min(Duration.milliseconds($0), limits.upperBound) }
      do { try await sleep(Swift.max(next, asked ?? .zero)) } catch { throw .cancelled }
    }
  }
}

extension ServiceConnection {
  /// Returns the events of an event stream, such as `GET /v1/events`.
  /// - Parameters:
  ///   - lastEventID: the event after which the stream begins; `nil` for new events only.
  ///   - sleep: waits before the stream is opened again; `nil` for a timer of the connection.
  package func events(
    _ request: ServiceRequest, after lastEventID: String? = nil,
    sleep: (@Sendable (Duration) async throws -> Void)? = nil
  ) -> ServiceEvents {
    ServiceEvents(self, request, after: lastEventID, sleep: sleep ?? { [self] in try await pause($0) })
  }
}
