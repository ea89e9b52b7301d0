internal import CMicroHTTPD
internal import HTTPTypes

/// A request's head, and what libmicrohttpd's lenient parser should not have let through.
struct RequestHead {
  var head: HTTPRequest
  var path: String
  var query: String
  var contentLength: Int?
  var hasBody = false
  /// Why the request is refused unread (RFC 9112 §6.3, request smuggling).
  var fault: String?

  static func read(_ connection: OpaquePointer, method: String, target: String) -> RequestHead {
    let fields = Fields()
    MHD_get_connection_values_n(
      connection, .HEADER_KIND, onField, Unmanaged.passUnretained(fields).toOpaque())
    let origin = originForm(target)
    let split = origin.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    var head = HTTPRequest(
      method: HTTPRequest.Method(rawValue: method) ?? .get, scheme: "http",
      authority: fields.values[.host], path: target)
    head.headerFields = fields.values
    var parsed = RequestHead(
      head: head, path: split.first.map(String.init) ?? "/",
      query: split.count > 1 ? String(split[1]) : "", fault: fields.fault)
    parsed.checkFraming()
    if HTTPRequest.Method(rawValue: method) == nil { parsed.fault = "malformed method" }
    return parsed
  }

  /// The target of a request that names the whole URI, as one to a proxy does (RFC 9112 §3.2.2).
  private static func originForm(_ target: String) -> Substring {
    guard let scheme = ["http://", "https://"].first(where: { target.lowercased().hasPrefix($0) }) else {
      return target[...]
    }
    let rest = target.dropFirst(scheme.count)
    guard let end = rest.firstIndex(where: { $0 == "/" || $0 == "?" }) else { return "/" }
    return rest[end] == "?" ? "/" + rest[end...] : rest[end...]
  }

  private mutating func checkFraming() {
    let lengths = head.headerFields[values: .contentLength]
    let encodings = head.headerFields[values: .transferEncoding]
    if encodings.count > 1 || encodings.contains(where: { $0.lowercased() != "chunked" }) {
      fault = "unsupported Transfer-Encoding"
    } else if !encodings.isEmpty, !lengths.isEmpty {
      fault = "both Content-Length and Transfer-Encoding"
    } else if lengths.count > 1 {
      fault = "more than one Content-Length"
    } else if let text = lengths.first {
      contentLength = text.utf8.allSatisfy { $0 &- 48 < 10 } ? Int(text) : nil
      if contentLength == nil { fault = "malformed Content-Length" }
    }
    // Where the length is in doubt there may be a body: the reply must not wait for its end.
    hasBody = !encodings.isEmpty || (!lengths.isEmpty && contentLength != 0)
    if head.headerFields[values: .init("Host")!].count > 1 { fault = "more than one Host" }
  }
}

/// Gathers fields from libmicrohttpd's iterator.
private final class Fields {
  var values = HTTPFields()
  var fault: String?
}

extension HTTPField.Name {
  static let host = HTTPField.Name("Host")!
}

@c private func onField(
  _ context: UnsafeMutableRawPointer?, _ kind: MHD_ValueKind, _ name: UnsafePointer<CChar>?, _ nameCount: Int,
  _ value: UnsafePointer<CChar>?, _ valueCount: Int
) -> MHD_Result {
  let fields = Unmanaged<Fields>.fromOpaque(context!).takeUnretainedValue()
  let nameText = String(decoding: UnsafeRawBufferPointer(start: name, count: nameCount), as: UTF8.self)
  guard let name = HTTPField.Name(nameText) else {
    fields.fault = "malformed field name"
    return .YES
  }
  let text = String(decoding: UnsafeRawBufferPointer(start: value, count: valueCount), as: UTF8.self)
  fields.values.append(HTTPField(name: name, value: text))
  return .YES
}
