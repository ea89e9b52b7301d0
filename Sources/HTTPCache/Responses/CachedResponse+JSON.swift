internal import HTTPFields
package import JSON
internal import TransferModel

/// The JSON format of metadata on disk.
extension CachedResponse: JSONEncodable {
  private static let version = 1

  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("version", Self.version)
      writer.field("body", id)
      writer.field("url", url)
      writer.field("status", status)
      writer.field("httpVersion", httpVersion)
      // The header fields are an array because names may repeat.
      writer.arrayField("headers", headers.fields) { writer, field in
        Self.pair(&writer, field.name, field.value)
      }
      writer.arrayField("vary", vary) { writer, field in Self.pair(&writer, field.name, field.value) }
      writer.field("requestTime", requestTime.microseconds)
      writer.field("responseTime", responseTime.microseconds)
      writer.field("size", size)
      writer.field("sha256", sha256)
      guard let part else { return }
      writer.field("first", part.first)
      if let total = part.total { writer.field("total", total) }
    }
  }

  private static func pair(_ writer: inout JSONWriter, _ name: String, _ value: String?) {
    writer.array { writer in
      writer.element()
      writer.value(name)
      writer.element()
      if let value { writer.value(value) } else { writer.null() }
    }
  }

  /// Parses metadata; `nil` if `encode(into:)` did not write them.
  package init?(json bytes: [UInt8]) {
    guard let json = try? JSONParser.parse(bytes), json["version"]?.integer == Int64(Self.version),
      let id = json["body"]?.string, CachedResponse.isID(id), let url = json["url"]?.string,
      let status = json["status"]?.integer, let httpVersion = json["httpVersion"]?.string,
      let headers = Self.pairs(json["headers"]), let vary = Self.pairs(json["vary"]),
      let requestTime = json["requestTime"]?.integer, let responseTime = json["responseTime"]?.integer,
      let size = json["size"]?.integer, let sha256 = json["sha256"]?.string
    else { return nil }
    // Larger or negative numbers are corrupt, and would overflow later.
    let numbers = [status, size, requestTime, responseTime, json["first"]?.integer, json["total"]?.integer]
    guard numbers.allSatisfy({ (0...ByteRange.maximum).contains($0 ?? 0) }) else { return nil }
    let part = json["first"]?.integer.map { first in
      ByteRange(first: first, last: first + size - 1, total: json["total"]?.integer)
    }
    self.init(
      id: id, url: url, status: Int(status), httpVersion: httpVersion,
      headers: HTTPHeaders(headers.map { .init(name: $0.0, value: $0.1 ?? "") }),
      vary: vary.map { VaryField(name: $0.0, value: $0.1) },
      requestTime: Timestamp(microseconds: requestTime), responseTime: Timestamp(microseconds: responseTime),
      size: size, sha256: sha256, part: part)
  }

  private static func pairs(_ json: JSONValue?) -> [(String, String?)]? {
    guard let elements = json?.elements else { return nil }
    let pairs = elements.compactMap { element -> (String, String?)? in
      guard let pair = element.elements, pair.count == 2, let name = pair[0].string else { return nil }
      return (name, pair[1].string)
    }
    return pairs.count == elements.count ? pairs : nil
  }
}
