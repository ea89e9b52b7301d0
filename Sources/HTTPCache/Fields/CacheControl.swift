package import HTTPFields
internal import Limits

/// The cache directives of a request or a response (RFC 9111 §5.2, RFC 5861, RFC 8246). Of conflicting directives the most restrictive
/// one counts. An invalid number of seconds makes a response stale (§4.2.1).
package struct CacheControl: Sendable, Equatable {
  package var noStore = false
  /// Whether `no-cache` has no argument, so that the directive covers the whole response.
  package var noCache = false
  /// The fields that `no-cache="…"` names, in lower case.
  package var noCacheFields: [String] = []
  package var mustRevalidate = false
  package var mustUnderstand = false
  package var isPublic = false
  package var isPrivate = false
  package var immutable = false
  package var onlyIfCached = false
  package var maxAge: Int64?
  package var minFresh: Int64?
  /// The seconds of `max-stale`; the greatest number if the directive has no argument.
  package var maxStale: Int64?
  package var staleWhileRevalidate: Int64?
  package var staleIfError: Int64?

  package init() {}

  /// Reads the directives of a request. `Pragma: no-cache` counts if the request has no Cache-Control (§5.4).
  package init(request headers: HTTPHeaders) {
    self.init(headers)
    guard !headers.contains("Cache-Control"), let pragma = headers["Pragma"] else { return }
    noCache = FieldList.has("no-cache", in: pragma)
  }

  /// Reads the directives of a response.
  package init(response headers: HTTPHeaders) { self.init(headers) }

  private init(_ headers: HTTPHeaders) {
    let fields = headers.all("Cache-Control")
    // No real message has this many directives. Treat the field as `no-store, no-cache` without parsing it.
    guard !FieldList.hasMore(than: Limits.cacheDirectives.value, in: fields) else {
      (noStore, noCache) = (true, true)
      return
    }
    for field in fields {
      let bytes = Array(field.utf8)
      let (directives, isMalformed) = FieldList.parts(of: bytes)
      for directive in directives { add(bytes[directive]) }
      if isMalformed { maxAge = 0 }
    }
  }

  /// The longest name of a known directive, in bytes. A directive with a longer name is ignored.
  private static let longestName = "stale-while-revalidate".utf8.count

  private mutating func add(_ directive: ArraySlice<UInt8>) {
    let equals = Self.equals(in: directive.span).map { $0 + directive.startIndex }
    let text = directive[..<(equals ?? directive.endIndex)]
    let trimmed = text.trimmingBlanks
    guard trimmed.count <= Self.longestName else { return }
    let name = String(decoding: trimmed, as: UTF8.self).lowercasedASCII
    // Blanks around "=" are invalid, so the argument is ignored.
    let isClean = trimmed.count == text.count
    let value = equals.map { String(decoding: directive[($0 + 1)...], as: UTF8.self) }
    let argument = isClean ? value.flatMap { FieldList.unquoted($0) } : nil
    switch name {
    case "no-store": noStore = true
    case "no-cache": addNoCache(argument)
    case "must-revalidate": mustRevalidate = true
    case "must-understand": mustUnderstand = true
    case "public": isPublic = true
    case "private": isPrivate = true
    case "immutable": immutable = true
    case "only-if-cached": onlyIfCached = true
    case "max-age": Self.lower(&maxAge, to: Self.seconds(argument))
    case "min-fresh": minFresh = max(minFresh ?? 0, argument.flatMap(FieldList.seconds) ?? .max)
    case "max-stale":
      Self.lower(&maxStale, to: equals == nil ? FieldList.maximumSeconds : Self.seconds(argument))
    case "stale-while-revalidate": Self.lower(&staleWhileRevalidate, to: Self.seconds(argument))
    case "stale-if-error": Self.lower(&staleIfError, to: Self.seconds(argument))
    default: break
    }
  }

  private static func equals(in directive: borrowing Span<UInt8>) -> Int? {
    for place in directive.indices where directive[place] == UInt8(ascii: "=") { return place }
    return nil
  }

  private mutating func addNoCache(_ argument: String?) {
    let fields = argument.map { FieldList.elements(of: $0.lowercasedASCII).elements } ?? []
    noCacheFields += fields
    // A cache cannot work without some fields. If the directive names one of those, it covers the whole response.
    if fields.isEmpty || fields.contains(where: StoredFields.required.contains) { noCache = true }
  }

  private static func seconds(_ argument: String?) -> Int64 { argument.flatMap(FieldList.seconds) ?? 0 }

  private static func lower(_ value: inout Int64?, to other: Int64) { value = min(value ?? other, other) }
}
