import HTTPCache
import HTTPFields
import TransferModel

/// Sample requests and stored responses. Times count from `CacheSamples.start`.
enum CacheSamples {
  static let start = Timestamp(microseconds: 1_000_000_000_000)
  static let url = "http://a.test/x"

  static func at(_ seconds: Double) -> Timestamp { start.adding(seconds: seconds) }

  static func headers(_ fields: [(String, String)]) -> HTTPHeaders {
    HTTPHeaders(fields.map { .init(name: $0.0, value: $0.1) })
  }

  static func request(
    _ fields: [(String, String)] = [], url: String = url, policy: CachePolicy = .useProtocolCachePolicy
  ) -> CacheRequest {
    CacheRequest(url: url, headers: headers(fields), policy: policy)
  }

  static func head(_ status: Int, _ fields: [(String, String)] = []) -> CacheResponseHead {
    CacheResponseHead(status: status, headers: headers(fields), requestTime: start, responseTime: start)
  }

  /// - Parameter size: The number of stored bytes; the whole body has ten.
  static func stored(_ fields: [(String, String)], size: Int64 = 10) -> CachedResponse {
    CachedResponse(
      answering: request(), head(200, [("ETag", "\"v1\""), ("Content-Length", "10")] + fields), size: size,
      sha256: "", isComplete: size == 10)
  }

  static let fresh = stored([("Cache-Control", "max-age=60")])
  static let stale = stored([("Cache-Control", "max-age=0")])
  static let staleIfError = stored([("Cache-Control", "max-age=0, stale-if-error=60")])
  static let staleMeanwhile = stored([("Cache-Control", "max-age=0, stale-while-revalidate=60")])
  static let part = stored([("Cache-Control", "max-age=60"), ("Accept-Ranges", "bytes")], size: 4)
}
