internal import CMicroHTTPD
internal import HTTPTypes

/// A request's head, with a strict check of what libmicrohttpd's lenient parser accepts.
struct RequestHead {
  /// The parts of a request in libmicrohttpd's memory.
  struct Parts {
    let connection: OpaquePointer
    let method: UnsafePointer<CChar>
    let url: UnsafePointer<CChar>
    let version: UnsafePointer<CChar>
    /// The target, exactly as the client sent it.
    let target: String
  }
  var head: HTTPRequest
  var path: String
  var query: String
  var contentLength: Int?
  var hasBody = false
  /// The reason for refusing the request without reading its body; `nil` for a valid request.
  var fault: RequestFault?

  static func read(_ parts: Parts, _ limits: HTTPServer.Limits) -> RequestHead {
    let (method, target) = (String(cString: parts.method), parts.target)
    let fields = Fields()
    MHD_get_connection_values_n(
      parts.connection, .HEADER_KIND, onField, Unmanaged.passUnretained(fields).toOpaque())
    let origin = originForm(target)
    let split = origin.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    var head = HTTPRequest(
      method: HTTPRequest.Method(rawValue: method) ?? .get, scheme: "http",
      authority: fields.values[.host], path: target)
    head.headerFields = fields.values
    var parsed = RequestHead(
      head: head, path: split.first.map(String.init) ?? "/",
      query: split.count > 1 ? String(split[1]) : "")
    let framing = parsed.framingFault(isOld: String(cString: parts.version) == "HTTP/1.0")
    let syntax = syntaxFault(parts, method, fields)
    let excess = excess(parts, fields, limits)
    parsed.fault = (fields.fault ?? syntax ?? framing).map(RequestFault.malformed) ?? excess
    return parsed
  }

  /// Returns the path and query of a target. A request to a proxy names the whole URI (RFC 9112 §3.2.2).
  private static func originForm(_ target: String) -> Substring {
    guard let scheme = ["http://", "https://"].first(where: { target.lowercased().hasPrefix($0) }) else {
      return target[...]
    }
    let rest = target.dropFirst(scheme.count)
    guard let end = rest.firstIndex(where: { $0 == "/" || $0 == "?" }) else { return "/" }
    return rest[end] == "?" ? "/" + rest[end...] : rest[end...]
  }

  /// Returns the first violation of the HTTP/1.1 syntax (RFC 9112 §2.2, §3, §5).
  private static func syntaxFault(_ parts: Parts, _ method: String, _ fields: Fields) -> String? {
    if HTTPRequest.Method(rawValue: method) == nil { return "malformed method" }
    if parts.target.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }) {
      return "a blank or a control character in the target"
    }
    guard cmhd_is_lenient() != 0 else { return nil }
    return RawHead(parts.connection, method: parts.method)
      .fault(
        methodCount: method.utf8.count, target: parts.url, version: parts.version, fields: fields.places)
  }

  private static func excess(_ parts: Parts, _ fields: Fields, _ limits: HTTPServer.Limits) -> RequestFault? {
    if parts.target.utf8.count > limits.targetBytes { return .targetTooLong(limit: limits.targetBytes) }
    if fields.places.count > limits.fields {
      return .headTooLarge("the limit is \(limits.fields) header fields; send fewer")
    }
    if cmhd_head_size(parts.connection) > limits.headerBytes {
      return .headTooLarge(
        "the limit for request line and header fields is \(limits.headerBytes) bytes; shorten them")
    }
    return nil
  }

  /// Reads how the body is framed (RFC 9112 §6.3).
  private mutating func framingFault(isOld: Bool) -> String? {
    let lengths = head.headerFields[values: .contentLength]
    let encodings = head.headerFields[values: .transferEncoding]
    var fault: String?
    if encodings.count > 1 || encodings.contains(where: { $0.lowercased() != "chunked" }) {
      fault = "unsupported Transfer-Encoding"
    } else if !encodings.isEmpty, !lengths.isEmpty {
      fault = "both Content-Length and Transfer-Encoding"
    } else if !encodings.isEmpty, isOld {
      fault = "Transfer-Encoding in HTTP/1.0"
    } else if lengths.count > 1 {
      fault = "more than one Content-Length"
    } else if let text = lengths.first {
      contentLength = text.utf8.allSatisfy { $0 &- 48 < 10 } ? Int(text) : nil
      if contentLength == nil { fault = "malformed Content-Length" }
    }
    // If the length is ambiguous, there may be a body, and the reply must not wait for its end.
    hasBody = !encodings.isEmpty || (!lengths.isEmpty && contentLength != 0)
    let hosts = head.headerFields[values: .host].count
    if hosts > 1 { return "more than one Host" }
    return fault ?? (hosts == 0 && !isOld ? "no Host" : nil)
  }
}

/// Collects the fields from libmicrohttpd's iterator.
private final class Fields {
  var values = HTTPFields()
  var places: [RawHead.FieldLocation] = []
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
  let (nameBytes, valueBytes) = (
    UnsafeRawBufferPointer(start: name, count: nameCount),
    UnsafeRawBufferPointer(start: value, count: valueCount)
  )
  guard let nameStart = nameBytes.baseAddress, let valueStart = valueBytes.baseAddress,
    let name = HTTPField.Name(String(decoding: nameBytes, as: UTF8.self))
  else {
    fields.fault = "malformed field name"
    return .YES
  }
  fields.places.append(
    RawHead.FieldLocation(name: nameStart, nameCount: nameCount, value: valueStart, valueCount: valueCount))
  if valueBytes.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) {
    fields.fault = "a control character in a field"
  }
  fields.values.append(HTTPField(name: name, value: String(decoding: valueBytes, as: UTF8.self)))
  return .YES
}
