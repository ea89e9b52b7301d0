public import FoundationEssentials
internal import JSON

/// A response of an origin. `URLResponse` in Apple's URLSession. Each response of Ferry is an `HTTPFerryResponse`.
public class FerryResponse: @unchecked Sendable {
  // Unchecked: the class is not final, and its properties are constant.
  /// The URL after redirects.
  public let url: URL?
  /// The media type in lower case, without parameters.
  public let mimeType: String?
  /// The number of bytes of the body; `NSURLSessionTransferSizeUnknown` if it is unknown.
  public let expectedContentLength: Int64
  /// The charset in lower case.
  public let textEncodingName: String?
  /// A name for a file with the body.
  public let suggestedFilename: String?

  /// Creates a response, for example for tests of a delegate.
  public init(url: URL, mimeType: String?, expectedContentLength: Int, textEncodingName: String?) {
    self.url = url
    self.mimeType = mimeType
    self.expectedContentLength = Int64(expectedContentLength)
    self.textEncodingName = textEncodingName
    suggestedFilename = url.lastPathComponent.isEmpty ? nil : url.lastPathComponent
  }

  init(_ json: JSONValue, url: URL? = nil) {
    self.url = url ?? json["url"]?.string.flatMap { URL(string: $0) }
    mimeType = json["mimeType"]?.string
    expectedContentLength = json["expectedContentLength"]?.integer ?? NSURLSessionTransferSizeUnknown
    textEncodingName = json["textEncodingName"]?.string
    suggestedFilename = json["suggestedFilename"]?.string
  }
}

/// A response over HTTP. `HTTPURLResponse` in Apple's URLSession.
public final class HTTPFerryResponse: FerryResponse, @unchecked Sendable {
  /// The status, such as 200.
  public let statusCode: Int
  /// The header fields. `value(forHTTPHeaderField:)` ignores the case of names.
  public let allHeaderFields: [String: String]
  /// The version of HTTP, such as `HTTP/2`.
  public let httpVersion: String?
  /// Whether the response comes from the session's cache.
  public let isFromCache: Bool

  /// Creates a response, for example for tests of a delegate.
  public init?(url: URL, statusCode: Int, httpVersion: String?, headerFields: [String: String]?) {
    self.statusCode = statusCode
    self.httpVersion = httpVersion
    allHeaderFields = headerFields ?? [:]
    isFromCache = false
    let type = headerFields?.field("Content-Type")?.value.split(separator: ";").first.map { $0.lowercased() }
    super.init(
      url: url, mimeType: type,
      expectedContentLength: headerFields?.field("Content-Length").flatMap { Int($0.value) } ?? -1,
      textEncodingName: nil)
  }

  /// Returns the reason phrase of a status, such as `not found`.
  public static func localizedString(forStatusCode statusCode: Int) -> String {
    HTTPStatusText.phrase(statusCode)?.lowercased() ?? "status \(statusCode)"
  }

  override init(_ json: JSONValue, url: URL? = nil) {
    statusCode = json["status"]?.integer.map { Int($0) } ?? 0
    allHeaderFields = json["headers"]?.stringMembers ?? [:]
    httpVersion = json["httpVersion"]?.string
    isFromCache = json["fromCache"]?.bool ?? false
    super.init(json, url: url)
  }

  /// Returns the value of a header field. The case of the name does not matter.
  public func value(forHTTPHeaderField field: String) -> String? {
    allHeaderFields.field(field)?.value
  }
}

/// The size of a body whose size is unknown.
public let NSURLSessionTransferSizeUnknown: Int64 = -1

/// A response that a session may store. `CachedURLResponse` in Apple's URLSession.
public final class CachedFerryResponse: Sendable {
  /// The place in the cache. `URLCache.StoragePolicy`.
  public enum StoragePolicy: String, Sendable, CaseIterable {
    case allowed, allowedInMemoryOnly, notAllowed
  }
  /// The response.
  public let response: FerryResponse
  /// The place in the cache.
  public let storagePolicy: StoragePolicy
  /// The header fields to store; `nil` to store those of the response.
  public let storedHeaderFields: [String: String]?

  /// Creates a response to store.
  public init(
    response: FerryResponse, storagePolicy: StoragePolicy = .allowed,
    storedHeaderFields: [String: String]? = nil
  ) {
    self.response = response
    self.storagePolicy = storagePolicy
    self.storedHeaderFields = storedHeaderFields
  }
}
