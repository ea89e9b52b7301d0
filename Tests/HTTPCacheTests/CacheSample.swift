import Crypto
import HTTPDates
import HTTPFields
import Testing
import TransferModel

@testable import HTTPCache

/// Shorthand for requests and responses. Time counts from `Sample.start`, which is also the default `Date`.
enum Sample {
  static let start = Timestamp("2026-11-21T12:00:00Z")!
  static let url = "http://a.example/x?y=1"

  static func at(_ seconds: Double) -> Timestamp { start.adding(seconds: seconds) }
  static func date(_ seconds: Double) -> String { HTTPDate.text(at(seconds)) }

  static func headers(_ fields: [(String, String)]) -> HTTPHeaders {
    HTTPHeaders(fields.map { .init(name: $0.0, value: $0.1) })
  }

  static func request(
    _ fields: [(String, String)] = [], method: String = "GET", url: String = url,
    policy: CachePolicy = .useProtocolCachePolicy
  ) -> CacheRequest {
    CacheRequest(url: url, method: method, headers: headers(fields), policy: policy)
  }

  static func head(
    _ status: Int = 200, _ fields: [(String, String)], at seconds: Double = 0, delay: Double = 0
  ) -> CacheResponseHead {
    var headers = headers(fields)
    if !headers.contains("Date") { headers.append("Date", date(seconds)) }
    return CacheResponseHead(
      status: status, headers: headers, requestTime: at(seconds - delay), responseTime: at(seconds))
  }

  static func stored(
    _ fields: [(String, String)], to request: CacheRequest = request(), at seconds: Double = 0,
    delay: Double = 0, status: Int = 200, size: Int64 = 100, isComplete: Bool = true
  ) -> CachedResponse {
    CachedResponse(
      answering: request, head(status, fields, at: seconds, delay: delay), size: size, sha256: "",
      isComplete: isComplete)
  }

  static func digest(_ bytes: [UInt8]) -> String { Hexadecimal.text(Array(SHA256.hash(data: bytes))) }
}
