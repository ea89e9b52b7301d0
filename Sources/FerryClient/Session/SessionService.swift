internal import FoundationEssentials
internal import JSON
internal import Synchronization

/// The requests of one session to the service.
struct SessionService: Sendable {
  /// The identifier of the session in the service.
  let id: String
  let connection: ServiceConnection

  func get(_ path: String, query: [(name: String, value: String)] = []) async throws(FerryError) -> JSONValue
  {
    try await json(ServiceRequest("GET", path, query: query))
  }

  func post(
    _ path: String, _ members: (inout JSONWriter) -> Void = { _ in }
  ) async throws(FerryError) -> JSONValue {
    var writer = JSONWriter()
    writer.object(members)
    return try await json(ServiceRequest("POST", path, json: writer.bytes))
  }

  func delete(_ path: String) async throws(FerryError) { _ = try await reply(ServiceRequest("DELETE", path)) }

  /// Creates a resource. A repeated request has the same key, so that it creates only one.
  func create(
    _ path: String, _ members: (inout JSONWriter) -> Void
  ) async throws(FerryError) -> JSONValue {
    var writer = JSONWriter()
    writer.object(members)
    var request = ServiceRequest("POST", path, json: writer.bytes)
    request.fields.append(("Idempotency-Key", UUID().uuidString))
    do throws(FerryError) { return try await json(request) } catch {
      guard error.code == .serviceUnreachable else { throw error }
      return try await json(request)
    }
  }

  /// Stores a body and returns the identifier of the file.
  func store(_ body: ServiceRequest.Body) async throws(FerryError) -> String {
    var request = ServiceRequest(
      "POST", "/v1/files", fields: [("Content-Type", "application/octet-stream")], body: body)
    request.timeout = nil
    guard let id = try await json(request)["id"]?.string else {
      throw FerryError(.serviceUnreachable, message: "the reply has no file")
    }
    return id
  }

  /// Sends the body of a streamed upload.
  func send(_ body: ServiceRequest.Body, to path: String) async throws(FerryError) {
    var request = ServiceRequest(
      "PUT", path, fields: [("Content-Type", "application/octet-stream")], body: body)
    request.timeout = nil
    _ = try await reply(request)
  }

  /// Opens the body of a response, from this byte.
  func body(of task: String, from offset: Int64) async throws(FerryError) -> ResponseBody {
    var request = ServiceRequest("GET", "/v1/tasks/\(task)/body")
    if offset > 0 { request.fields.append(("Range", "bytes=\(offset)-")) }
    do throws(ServiceError) {
      let stream = try await connection.stream(request)
      return ResponseBody(stream, skipping: stream.head.status == 206 ? 0 : offset)
    } catch { throw FerryError(error) }
  }

  func json(_ request: ServiceRequest) async throws(FerryError) -> JSONValue {
    let reply = try await reply(request)
    guard !reply.bytes.isEmpty else { return .null }
    do throws(ServiceError) { return try reply.json() } catch { throw FerryError(error) }
  }

  private func reply(_ request: ServiceRequest) async throws(FerryError) -> ServiceReply {
    do throws(ServiceError) { return try await connection.send(request) } catch { throw FerryError(error) }
  }
}

/// The body of a response, while the service sends it.
final class ResponseBody: Sendable {
  private let stream: ServiceStream
  private let skipped: Mutex<Int64>

  init(_ stream: ServiceStream, skipping count: Int64) {
    self.stream = stream
    skipped = Mutex(count)
  }

  /// Returns the next bytes; `nil` at the end.
  func next() async throws(FerryError) -> Data? {
    while true {
      let bytes: [UInt8]
      do throws(ServiceError) {
        guard let next = try await stream.next() else { return nil }
        bytes = next
      } catch { throw FerryError(error) }
      let count = skipped.withLock { skipped in
        let count = min(skipped, Int64(bytes.count))
        skipped -= count
        return Int(count)
      }
      if count < bytes.count { return Data(bytes[count...]) }
    }
  }
}
