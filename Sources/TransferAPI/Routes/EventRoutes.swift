internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import TransferModel
internal import TransferService

extension TransferAPI {
  static var eventRoutes: [Route] {
    [
      Route("GET", "/v1/events", isOfAnyType: true) { api, context in
        let view = try api.view(context)
        return try await api.events(context) {
          try await view.events($0)
        } page: {
          try await view.events($0, limit: $1, waiting: context.preferredWait)
        }
      },
      Route("GET", "/v1/sessions/{session}/events", isOfAnyType: true) { api, context in
        let (view, id) = (try api.view(context), try context.sessionID())
        return try await api.events(context) {
          try await view.events(ofSession: id, $0)
        } page: {
          try await view.events(ofSession: id, $0, limit: $1, waiting: context.preferredWait)
        }
      },
      Route("GET", "/v1/tasks/{task}/events", isOfAnyType: true) { api, context in
        let (view, id) = (try api.view(context), try context.taskID())
        return try await api.events(context, isOfTask: true) {
          try await view.events(ofTask: id, $0)
        } page: {
          try await view.events(ofTask: id, $0, limit: $1, waiting: context.preferredWait)
        }
      },
    ]
  }

  private func events(
    _ context: RequestContext, isOfTask: Bool = false,
    stream subscribe: (EventFilter) async throws -> EventSubscription,
    page: (EventFilter, _ limit: Int) async throws -> EventPage
  ) async throws -> ServerResponse {
    // All events of a task have its group and its labels.
    let tags = isOfTask ? [] : TaskFilterPayload.tagNames
    try context.allowQuery(
      ["after", "types", "progress", "data", "limit"] + tags, repeatable: TaskFilterPayload.repeatableNames)
    if let data = context.value("data"), data != "inline" {
      throw RequestContext.invalid("data", "must be inline, not '\(data)'")
    }
    let filter = EventFilter(
      after: try Self.cursor(context), types: try Self.types(context),
      wantsProgress: try context.flag("progress") ?? true, wantsData: context.value("data") != nil,
      tags: try TaskFilterPayload.tags(context))
    if ContentNegotiation.prefersPage(context) {
      guard !filter.wantsData else {
        throw RequestContext.invalid("data", "must be left out of a page; send Accept: text/event-stream")
      }
      return Self.reply(try await page(filter, Pagination.limit(context)), context)
    }
    guard context.value("limit") == nil else {
      throw RequestContext.invalid("limit", "must be left out of a stream; send Accept: application/json")
    }
    return Self.stream(try await subscribe(filter))
  }

  private static func reply(_ page: EventPage, _ context: RequestContext) -> ServerResponse {
    var writer = JSONWriter(capacity: 1024)
    writer.object { writer in
      writer.key("items")
      writer.array { writer in
        for item in page.items {
          writer.element()
          writer.raw(item)
        }
      }
      writer.field("nextAfter", "\(page.nextAfter)")
    }
    var fields = HTTPFields()
    if let seconds = context.preferredWait {
      fields[.preferenceApplied] = "wait=\(Int(seconds.rounded(.up)))"
    }
    return ReplyBuilder.resource(writer.bytes, for: context, fields: fields)
  }

  private static func stream(_ subscription: EventSubscription) -> ServerResponse {
    var fields = HTTPFields()
    fields[.contentType] = "text/event-stream"
    fields[.cacheControl] = "no-store"
    fields[HTTPField.Name("X-Accel-Buffering")!] = "no"
    return ServerResponse(
      status: .ok, fields: fields, body: .source(EventStreamSource(subscription), length: nil))
  }

  /// Last-Event-ID takes precedence over `after`, because a client that reconnects repeats its first URL.
  private static func cursor(_ context: RequestContext) throws(Problem) -> Int64? {
    let after = try context.value("after").map { text throws(Problem) in
      guard let id = eventID(text) else {
        throw RequestContext.invalid("after", "must be the id of an event, not '\(text)'")
      }
      return id
    }
    guard let text = context.field(.lastEventID), !text.isEmpty else { return after }
    guard let id = eventID(text) else {
      throw RequestContext.invalid(.lastEventID, "must be the id of an event, not '\(text)'")
    }
    return id
  }

  private static func eventID(_ text: String) -> Int64? { Int64(text).flatMap { $0 >= 0 ? $0 : nil } }

  private static func types(_ context: RequestContext) throws(Problem) -> Set<EventType>? {
    guard let text = context.value("types") else { return nil }
    var types: Set<EventType> = []
    for name in text.split(separator: ",") {
      guard let type = EventType(rawValue: String(name)) else {
        throw RequestContext.invalid("types", "unknown event type '\(name)'; /openapi.yaml lists the types")
      }
      types.insert(type)
    }
    return types
  }
}

/// An event stream as the body of a reply.
final class EventStreamSource: ResponseSource {
  private let subscription: EventSubscription
  init(_ subscription: EventSubscription) { self.subscription = subscription }

  var isEndless: Bool { true }
  func attach(_ waker: ResponseWaker) { subscription.start { waker.wake() } }
  func read(maximum: Int) -> ResponseChunk { subscription.read(maximum: maximum).map { .bytes($0) } ?? .wait }
  func close() { subscription.close() }
}
